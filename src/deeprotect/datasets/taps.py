"""Digits typed on a phone (IOT-FALL-2025): accelerometer and gyroscope around each press."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from deeprotect.datasets.dataset import ACCELEROMETER_G, GYROSCOPE_RAD_S, STANDARD_GRAVITY, Recording, triaxial
from deeprotect.signals.resampling import forward_only, interpolate
from deeprotect.signals.schema import Floats

SENSORS = ("ACC", "GYRO")
CHANNELS = (
    *triaxial("acc", "m/s²", ACCELEROMETER_G * STANDARD_GRAVITY),
    *triaxial("gyro", "rad/s", GYROSCOPE_RAD_S),
)
LABELS = ("digit", "file")
NATIVE_HZ = 50.0  # requested from the phone; about 48 arrive
BEFORE_S = 0.2  # the hand moves before the digit is registered
LASTING_S = 1.0


def read(root: Path, *, rate_hz: float) -> Iterator[Recording]:
    """One recording per press: one second from 0.2 s before it. Split by `file`: some type 0 to 9 in order.

    The published label is the last digit pressed, so a digit pressed twice in a row appears once. Presses less than a
    second apart (2 in 100) share samples. A press too close to the end of its file is left out.
    """
    native_hz = max(rate_hz, NATIVE_HZ)
    for path in sorted(root.glob("password_training_*.csv")):
        table = _table(path)
        streams = [_stream(table, sensor) for sensor in SENSORS]
        last = min(times[-1] for times, _ in streams)
        for index, (pressed, digit) in enumerate(_presses(table)):
            at = pressed - BEFORE_S + np.arange(round(LASTING_S * native_hz)) / native_hz
            if at[0] < max(times[0] for times, _ in streams) or at[-1] > last:
                continue
            samples = np.concatenate([interpolate(times, rows, at) for times, rows in streams], axis=1)
            file = path.stem.removeprefix("password_training_")
            recording = Recording(f"{file}-{index:02d}", samples, {"digit": digit, "file": f"f{file}"})
            yield recording.slower(native_hz, rate_hz)


def _table(path: Path) -> pa.Table:
    kinds = {"nanoTime": pa.int64(), "type": pa.string(), "label": pa.string()}
    kinds |= dict.fromkeys(("x", "y", "z"), pa.float64())
    options = csv.ConvertOptions(column_types=kinds, include_columns=list(kinds), strings_can_be_null=False)
    return csv.read_csv(path, convert_options=options)


def _stream(table: pa.Table, sensor: str) -> tuple[Floats, Floats]:
    rows = table.filter(pc.equal(table["type"], sensor))
    times = _seconds(rows)
    kept = forward_only(times)
    return times[kept], np.stack([rows[axis].to_numpy() for axis in "xyz"], axis=1)[kept]


def _presses(table: pa.Table) -> Iterator[tuple[float, str]]:
    """The time of each press, which is where the label changes to a digit, and the digit."""
    labels: NDArray[np.object_] = table["label"].to_numpy()
    changed = np.concatenate([[True], labels[1:] != labels[:-1]])
    times = _seconds(table)
    for row in np.flatnonzero(changed & (labels != "")):
        yield float(times[row]), str(labels[row])


def _seconds(table: pa.Table) -> Floats:
    return np.asarray(table["nanoTime"].to_numpy() / 1e9)
