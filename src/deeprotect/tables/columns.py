"""Which columns of a table are channels, which travel beside them, and which must not leave."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.errors import TableError, printable
from deeprotect.policy.usual_names import RECORDING, TIME, FoundColumns
from deeprotect.signals import Schema
from deeprotect.signals.schema import Floats
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.fields import check_names, decoded, is_text, stated_unit, to_floats
from deeprotect.tables.timestamps import Timeline

MOST_LISTED = 300  # characters of column names in one message


@dataclass(frozen=True)
class Columns:
    """A table's columns as the policy names them; `channels` are column names in the order of the schema."""

    channels: tuple[str, ...]
    kept: tuple[str, ...]  # channels, recording and time, in the order of the table
    dropped: tuple[str, ...]
    where: str
    time_name: str | None = None  # the table's own names; None where it has no such column
    recording_name: str | None = None

    @classmethod
    def of(cls, table: pa.Schema, schema: Schema, *, mapping: Mapping[str, str], where: str) -> "Columns":
        """Find every channel, or say which is missing and what the table has instead."""
        check_names(table, where)
        mapping = ColumnMap.from_mapping(mapping)
        channels = tuple(mapping.get(name, name) for name in schema.names)
        for channel, column in zip(schema.channels, channels, strict=True):
            if column not in table.names:
                raise TableError(missing_column(column, table.names, where))
            _check_field(table.field(column), channel.unit, where)
        time, recording = beside_columns(table.names, mapping, channels=channels, where=where)
        if recording is not None:
            _check_recording(table.field(recording), where)
        wanted = {*channels, time, recording}
        kept = tuple(name for name in table.names if name in wanted)
        dropped = tuple(name for name in table.names if name not in wanted)
        return cls(channels, kept, dropped, where, time, recording)

    def samples(self, batch: pa.RecordBatch) -> Floats:
        """Channel values (row, channel); missing values are NaN. A channel's values lie together, as they came."""
        return np.stack([to_floats(batch.column(name)) for name in self.channels]).T

    def beside(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """What passes beside the pipe, in the order of the table, without anything that its cells do not show."""
        return [decoded(batch.column(name)) for name in self.kept if name not in self.channels]

    def recording(self, batch: pa.RecordBatch) -> NDArray[np.generic] | None:
        """Recording names, or None where the table has none."""
        return None if self.recording_name is None else names_of(batch.column(self.recording_name))

    def timeline(self) -> Timeline | None:
        """A reader of the time column, for the batches of one source; None where the table has none."""
        return None if self.time_name is None else Timeline(self.time_name, self.where)


def beside_columns(
    names: list[str], mapping: ColumnMap, *, channels: tuple[str, ...], where: str
) -> tuple[str | None, str | None]:
    """The columns of time and recording, neither of them a channel.

    To train on, time is also found under one of its usual names, for its cells must be time stamps. What leaves, and
    a recording, whose cells may be anything, is asked about where a column is only called so.
    """
    found = FoundColumns.among(names, but={*channels, *mapping.labels, *mapping.values()})
    time = _said(TIME, names, mapping, where)
    if time is None:
        if len(found.time) > (1 if mapping.guesses else 0):
            raise TableError(_ask(TIME, found.time, where))
        time = found.time[0] if found.time else ""
    recording = _said(RECORDING, names, mapping, where)
    if recording is None and found.recording:
        raise TableError(_ask(RECORDING, found.recording, where))
    for name, column in ((TIME, time), (RECORDING, recording)):
        if column in channels:
            raise TableError(f"{where}: column '{printable(column)}' is a channel, and cannot be the {name} as well")
    return time or None, recording or None


def names_of(column: pa.Array) -> NDArray[np.generic]:
    """A column of names as they compare with each other."""
    plain = decoded(column) if pa.types.is_dictionary(column.type) else column
    if is_text(plain.type):
        return _texts_of(plain.cast(pa.large_string()))
    names: NDArray[np.generic] = plain.to_numpy(zero_copy_only=False)
    return names


def _texts_of(column: pa.Array) -> NDArray[np.object_]:
    """One object for each text, however many rows have it; None where there is none."""
    encoded = column.dictionary_encode(null_encoding="encode")
    texts = np.array(encoded.dictionary.to_pylist(), dtype=object)
    return np.asarray(texts[np.from_dlpack(encoded.indices)])


def missing_column(column: str, names: list[str], where: str) -> str:
    """One line: what is missing, what is there, and the ways out."""
    return (
        f"column '{printable(column)}' is missing from {where}; it has: "
        f"{printable(', '.join(names), MOST_LISTED) or 'no columns'}. Map it with [stream.columns], or with --map"
    )


def _said(name: str, names: list[str], mapping: ColumnMap, where: str) -> str | None:
    """The column that the policy or the command line says, or the one of that very name; "" for none, None for open."""
    column = mapping.get(name)
    if column is not None and name in mapping.demanded:
        if column and column not in names:
            raise TableError(missing_column(column, names, where))
        return column
    return next((each for each in (column, name) if each in names), None)


def _ask(name: str, candidates: tuple[str, ...], where: str) -> str:
    many, first = " or ".join(f"'{printable(each)}'" for each in candidates[:3]), printable(candidates[0])
    return f"{where}: is {many} the {name}? Say so with --map {name}='{first}', or --map {name}= if there is none"


def _check_recording(field: pa.Field, where: str) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_nested(kind):
        raise TableError(
            f"{where}: column '{printable(field.name)}' is {printable(str(kind))}, a recording is a name or a number; "
            "convert it to text"
        )


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
