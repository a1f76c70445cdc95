"""A data set as a tidy table: one row per sample, channels with units and public ranges, labels.

Files are written atomically.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.datasets.registry import DatasetEntry
from deeprotect.errors import DatasetError
from deeprotect.signals import Channel, Schema
from deeprotect.signals.resampling import middles, slower
from deeprotect.signals.schema import Floats
from deeprotect.tables.outputs import open_sink

Label = str | NDArray[np.object_] | None  # one for the recording, or one per row


@dataclass(frozen=True)
class Recording:
    """A contiguous piece at a regular rate; samples is (row, channel), labels one value or one per row."""

    name: str
    samples: Floats
    labels: Mapping[str, Label]

    def slower(self, rate_hz: float, new_rate_hz: float) -> "Recording":
        """The same recording at a lower rate; a new row gets the label in the middle of its time cell."""
        if new_rate_hz > rate_hz:
            raise DatasetError(f"rate_hz = {new_rate_hz:g} is above the recorded {rate_hz:g} Hz; choose a lower one")
        if new_rate_hz == rate_hz:
            return self
        kept = middles(len(self.samples), rate_hz, new_rate_hz)
        labels = {name: value[kept] if isinstance(value, np.ndarray) else value for name, value in self.labels.items()}
        return Recording(self.name, slower(self.samples, rate_hz, new_rate_hz), labels)


@dataclass(frozen=True)
class Dataset:
    """`table` has `recording`, `time` (seconds from the recording's start), the channels, then the labels."""

    name: str
    table: pa.Table
    channels: tuple[Channel, ...]
    labels: tuple[str, ...]
    rate_hz: float
    entry: DatasetEntry

    @property
    def schema(self) -> Schema:
        """The stream with the registry's default window length."""
        return Schema(self.channels, self.rate_hz, max(1, round(self.entry.window_s * self.rate_hz)))

    def samples(self) -> Floats:
        """The channels as (row, channel), in published units."""
        columns = [self.table[channel.name].to_numpy() for channel in self.channels]
        return np.stack(columns, axis=1)


def tidy(
    recordings: Iterable[Recording], channels: Sequence[Channel], *, labels: Sequence[str], rate_hz: float
) -> pa.Table:
    """Stack recordings into one table; channel columns carry their unit as Arrow field metadata."""
    schema = table_schema(channels, labels)
    batches = [_batch(recording, schema, rate_hz=rate_hz) for recording in recordings if len(recording.samples)]
    return pa.Table.from_batches(batches, schema=schema).combine_chunks()


def table_schema(channels: Sequence[Channel], labels: Sequence[str]) -> pa.Schema:
    return pa.schema(
        [
            pa.field("recording", pa.string(), nullable=False),
            pa.field("time", pa.float64(), nullable=False, metadata={"unit": "s"}),
            *(pa.field(c.name, pa.float64(), nullable=False, metadata={"unit": c.unit}) for c in channels),
            *(pa.field(label, pa.string()) for label in labels),
        ]
    )


def _batch(recording: Recording, schema: pa.Schema, *, rate_hz: float) -> pa.RecordBatch:
    count, width = recording.samples.shape
    labels = [_label_column(recording.labels[name], count) for name in schema.names[2 + width :]]
    columns = [
        _label_column(recording.name, count),
        pa.array(np.arange(count) / rate_hz),
        *(pa.array(np.ascontiguousarray(recording.samples[:, channel])) for channel in range(width)),
        *labels,
    ]
    return pa.record_batch(columns, schema=schema)


def _label_column(value: Label, count: int) -> pa.Array:
    if isinstance(value, np.ndarray):
        return pa.array(value, type=pa.string(), from_pandas=True)
    return pa.repeat(pa.scalar(value, type=pa.string()), count)


def save(dataset: Dataset, path: Path | str) -> Path:
    """Write the tidy table in the suffix's format; Parquet and Arrow keep units in the field metadata."""
    with open_sink(path, dataset.table.schema) as sink:
        sink.write(dataset.table)
    return Path(path)


STANDARD_GRAVITY = 9.80665  # m/s² in one g (CGPM 1901)
# Android Compatibility Definition: 7.3.1 an accelerometer must measure up to four times gravity on any axis;
# 7.3.4 a gyroscope must measure up to 1,000 degrees per second. Every compatible device covers these.
ACCELEROMETER_G = 4.0
GYROSCOPE_RAD_S = 1000 * pi / 180


def triaxial(name: str, unit: str, limit: float, *, resolution: float | None = None) -> tuple[Channel, ...]:
    """Three axes with the same symmetric range."""
    return tuple(Channel(f"{name}_{axis}", unit, -limit, limit, resolution) for axis in "xyz")
