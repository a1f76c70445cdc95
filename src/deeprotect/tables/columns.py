"""Which columns of a table are channels, which travel beside them, and which must not leave."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.errors import TableError, printable
from deeprotect.signals import Schema
from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import check_names, decoded, stated_unit

BESIDE = ("recording", "time")
MOST_LISTED = 300  # characters of column names in one message


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
        check_names(table, where)
        names = tuple(table.names)
        channels = tuple(mapping.get(name, name) for name in schema.names)
        for channel, column in zip(schema.channels, channels, strict=True):
            if column not in names:
                raise TableError(
                    f"column '{printable(column)}' is missing from {where}; it has: "
                    f"{printable(', '.join(names), MOST_LISTED) or 'no columns'}. Map it with [stream.columns]"
                )
            _check_field(table.field(column), channel.unit, where)
        kept = tuple(name for name in names if name in channels or name in BESIDE)
        return cls(channels, kept, tuple(name for name in names if name not in kept), where)

    def samples(self, batch: pa.RecordBatch) -> Floats:
        """Channel values (row, channel); missing values are NaN."""
        columns = [pc.cast(batch.column(name), pa.float64(), safe=False) for name in self.channels]
        return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])

    def beside(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """What passes beside the pipe, in the order of the table, without anything that its cells do not show."""
        return [decoded(batch.column(name)) for name in self.kept if name not in self.channels]

    def recording(self, batch: pa.RecordBatch) -> NDArray[np.generic] | None:
        if "recording" not in self.kept:
            return None
        column = batch.column("recording")
        names: NDArray[np.generic] = _plain(column).to_numpy(zero_copy_only=False)
        return names

    def time(self, batch: pa.RecordBatch) -> Floats | None:
        """Time stamps as float64 in their own unit, or None where the table has none."""
        if "time" not in self.kept:
            return None
        return as_numbers(batch.column("time"), self.where)


def _plain(column: pa.Array) -> pa.Array:
    return decoded(column) if pa.types.is_dictionary(column.type) else column


def _check_field(field: pa.Field, unit: str, where: str) -> None:
    name, kind = printable(field.name), field.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        raise TableError(f"{where}: column '{name}' is {printable(str(kind))}, a channel must be numbers; convert it")
    stated = stated_unit(field)
    if stated is not None and stated != unit:
        raise TableError(
            f"{where}: column '{name}' is in {printable(stated)}, the policy says {printable(unit)}; "
            "convert the column or correct unit and range in the policy"
        )


def as_numbers(column: pa.Array, where: str) -> Floats:
    """Time stamps of any kind as float64, in their own unit."""
    try:
        column = _as_integers(_parsed(_plain(column)))
        numbers: Floats = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow's message would quote the cell
        raise TableError(f"{where}: column 'time' is neither numbers nor ISO 8601 time stamps; convert it") from None
    return numbers


def _parsed(column: pa.Array) -> pa.Array:
    """Time written as text in a CSV file: a number, or an ISO 8601 stamp."""
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    for kind in (pa.float64(), pa.timestamp("ns")):
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    return pc.cast(column, pa.timestamp("ns", tz="UTC"))


def _as_integers(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return pc.cast(column, pa.int64() if kind.bit_width == 64 else pa.int32())
    return column
