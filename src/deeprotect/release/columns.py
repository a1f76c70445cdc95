"""Which columns of a table are channels, which travel beside them, and which must not leave."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.errors import TableError
from deeprotect.signals import Schema
from deeprotect.signals.schema import Floats

BESIDE = ("recording", "time")


@dataclass(frozen=True)
class Columns:
    """A table's columns as the policy names them; `channels` are column names in the order of the schema."""

    channels: tuple[str, ...]
    kept: tuple[str, ...]  # channels, recording and time, in the order of the table
    dropped: tuple[str, ...]
    where: str

    @classmethod
    def of(cls, table: pa.Schema, schema: Schema, *, mapping: dict[str, str], where: str) -> "Columns":
        """Find every channel, or say which is missing and what the table has instead."""
        names = tuple(table.names)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TableError(f"{where} has two columns named '{twice}'; rename one")
        channels = tuple(mapping.get(name, name) for name in schema.names)
        for channel, column in zip(schema.channels, channels, strict=True):
            if column not in names:
                raise TableError(
                    f"column '{column}' is missing from {where}; it has: {', '.join(names) or 'no columns'}. "
                    "Map it with [stream.columns]"
                )
            _check_field(table.field(column), channel.unit, where)
        kept = tuple(name for name in names if name in channels or name in BESIDE)
        return cls(channels, kept, tuple(name for name in names if name not in kept), where)

    def samples(self, batch: pa.RecordBatch) -> Floats:
        """Channel values (row, channel); missing values are NaN."""
        columns = [pc.cast(batch.column(name), pa.float64(), safe=False) for name in self.channels]
        return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])

    def recording(self, batch: pa.RecordBatch) -> NDArray[np.generic] | None:
        if "recording" not in self.kept:
            return None
        names: NDArray[np.generic] = batch.column("recording").to_numpy(zero_copy_only=False)
        return names

    def time(self, batch: pa.RecordBatch) -> Floats | None:
        """Time stamps as float64 in their own unit, or None where the table has none."""
        if "time" not in self.kept:
            return None
        return as_numbers(batch.column("time"), self.where)


def _check_field(field: pa.Field, unit: str, where: str) -> None:
    kind = field.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise TableError(f"{where}: column '{field.name}' is {kind}, a channel must be numbers; convert it")
    stated = (field.metadata or {}).get(b"unit", unit.encode()).decode()
    if stated != unit:
        raise TableError(
            f"{where}: column '{field.name}' is in {stated}, the policy says {unit}; "
            "convert the column or correct unit and range in the policy"
        )


def as_numbers(column: pa.Array, where: str) -> Floats:
    """Time stamps of any kind as float64, in their own unit."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = _parse(column, where)
        kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time(kind):
        column = pc.cast(column, pa.int64() if kind.bit_width == 64 else pa.int32())
    numbers: Floats = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers


def _parse(column: pa.Array, where: str) -> pa.Array:
    """Time written as text in a CSV file: a number, or an ISO 8601 stamp."""
    for kind in (pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", tz="UTC")):
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    raise TableError(f"{where}: column 'time' is neither numbers nor ISO 8601 time stamps; convert it")
