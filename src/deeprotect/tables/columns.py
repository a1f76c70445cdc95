"""A table's columns by use: channels, columns released unchanged, and columns to drop."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.errors import MOST_LISTED, Argument, MissingColumnError, Placeholder, TableError, printable, quoted_all
from deeprotect.policy.known_sensors import PERSON, RECORDING, TIME
from deeprotect.signals import Channel, RecordingName, Schema
from deeprotect.signals.clock import Clock
from deeprotect.signals.recordings import RecordingWatch
from deeprotect.signals.schema import Floats, all_inside, check_finite, largely_outside, refuse_outside
from deeprotect.tables.fields import check_names, decoded, is_number, is_text, plain, stated_unit, to_floats
from deeprotect.tables.roles import ColumnMap, roles_of
from deeprotect.tables.sources import Source
from deeprotect.tables.timestamps import Timeline


@dataclass(frozen=True)
class Columns:
    """A table's columns as the policy names them; `channels` are column names in the order of the schema."""

    channels: tuple[str, ...]
    kept: tuple[str, ...]  # channels, recording and time, in the order of the table
    dropped: tuple[str, ...]
    where: str
    time_name: str | None = None  # the table's own names; None if it has no such column
    recording_name: str | None = None
    person_name: str | None = None  # if people are known; otherwise not read

    @classmethod
    def of(
        cls,
        table: pa.Schema,
        schema: Schema,
        *,
        mapping: Mapping[str, str],
        where: str,
        by_person: bool = False,
        labels: Sequence[str] = (),
    ) -> "Columns":
        """Find every channel, or name the missing one and the table's columns; `labels` are kept on request.

        For training, time is also found under its usual names, because its cells must be time stamps. Columns that only
        look like the recording (which may contain anything and is released) or the person (who is charged) need
        confirmation.
        """
        check_names(table, where)
        mapping = ColumnMap.from_mapping(mapping)
        channels = tuple(mapping.column_of(name, table.names) for name in schema.names)
        for channel, column in zip(schema.channels, channels, strict=True):
            if column not in table.names:
                raise MissingColumnError(where, column, table.names)
            _check_field(table.field(column), channel.unit, where)
        said = (*(() if mapping.guesses else (TIME,)), RECORDING, *((PERSON,) if by_person else ()))
        roles = roles_of(table.names, mapping, channels=channels, where=where).settled(where, said=said)
        _check_beside(table, roles.columns, channels, where)
        if labels and not {*labels} & {*table.names}:
            asked = f" asks for: {quoted_all(labels, ', ')}"
            raise TableError(f"{where}: it has none of the labels that ", Argument("labels", value=True), asked)
        wanted = {*channels, roles.time, roles.recording, *labels}
        kept = tuple(name for name in table.names if name in wanted)
        dropped = tuple(name for name in table.names if name not in wanted)
        person = roles.person if by_person else None
        return cls(channels, kept, dropped, where, roles.time, roles.recording, person)

    @property
    def read(self) -> tuple[str, ...]:
        """The columns to read: those to release, and the person."""
        return (*self.kept, *((self.person_name,) if self.person_name and self.person_name not in self.kept else ()))

    def samples(self, batch: pa.RecordBatch) -> Floats:
        """Channel values (row, channel); missing values are NaN. A channel's values are contiguous, as in the batch."""
        return np.stack([to_floats(batch.column(name)) for name in self.channels]).T

    def beside(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The columns released unchanged, in the order of the table, without anything that their cells do not show."""
        cells = {name: decoded(batch.column(name)) for name in self.kept if name not in self.channels}
        time = cells.get(self.time_name or "")
        if time is not None and is_text(time.type):  # samples are written with decimal points: one mark per file
            cells[self.time_name or ""] = pc.replace_substring(plain(time), ",", ".").cast(time.type)
        return list(cells.values())

    def recording(self, batch: pa.RecordBatch) -> NDArray[np.generic] | None:
        """Names of recordings, combined with those of people if known; None without a recording column."""
        own = None if self.recording_name is None else batch.column(self.recording_name)
        if self.person_name is None:
            return None if own is None else names_of(own)
        person = _as_text(batch.column(self.person_name))
        if pc.any(pc.match_substring_regex(pc.fill_null(person, ""), "^$|\\n")).as_py():
            raise TableError(
                f"{self.where}: rows without a person's name in '{printable(self.person_name)}', one printable line, "
                "have no person to charge; drop them, or charge all to one with ",
                Argument("person", Placeholder("NAME")),
            )
        return _pairs_of(person, None if own is None else _as_text(own))

    def timeline(self) -> Timeline | None:
        """A reader of the time column, for the batches of one source; None without one."""
        return None if self.time_name is None else Timeline(self.time_name, self.where)


def number_fields(table: pa.Schema, channels: Sequence[str], where: str) -> list[pa.Field]:
    """The fields of columns named like sensors; refuses one that is not numeric, which would be lost."""
    fields = [table.field(name) for name in channels]
    lost = [field.name for field in fields if not is_number(field.type)]
    if lost:
        raise TableError(not_plain(lost, where))
    return fields


def not_plain(channels: Sequence[str], where: str) -> str:
    """A message for channels whose cells are not all numbers."""
    return (
        f"{where}: not all cells of {printable(', '.join(channels), MOST_LISTED)} are plain numbers; see `deeprotect "
        "check`, and run `deeprotect prepare` first"
    )


def names_of(column: pa.Array) -> NDArray[np.generic]:
    """A column of names, comparable with each other."""
    cells = plain(column)
    if is_text(cells.type):
        return _texts_of(cells)
    names: NDArray[np.generic] = cells.to_numpy(zero_copy_only=False)
    return names


def _pairs_of(people: pa.Array, recordings: pa.Array | None) -> NDArray[np.object_]:
    """One shared object for each pair; None for a recording without a name."""
    persons = people.dictionary_encode()
    names = pa.nulls(len(people), pa.large_string()) if recordings is None else recordings
    names = names.dictionary_encode(null_encoding="encode")
    known, count = [persons.dictionary.to_pylist(), names.dictionary.to_pylist()], len(names.dictionary)
    codes, rows = np.unique(
        np.from_dlpack(persons.indices).astype(np.int64) * count + np.from_dlpack(names.indices), return_inverse=True
    )
    pairs = np.empty(len(codes), dtype=object)
    for place, code in enumerate(codes.tolist()):
        person, name = known[0][code // count], known[1][code % count]
        is_unnamed = name is None and recordings is not None
        pairs[place] = None if is_unnamed else RecordingName(person, name)
    return np.asarray(pairs[rows])


def _texts_of(column: pa.Array) -> NDArray[np.object_]:
    """One shared object for each text; None for a missing one."""
    encoded = column.dictionary_encode(null_encoding="encode")
    texts = np.array(encoded.dictionary.to_pylist(), dtype=object)
    return np.asarray(texts[np.from_dlpack(encoded.indices)])


def _as_text(column: pa.Array) -> pa.Array:
    return plain(column).cast(pa.large_string())


def _check_beside(table: pa.Schema, uses: dict[str, str], channels: tuple[str, ...], where: str) -> None:
    """Check that time and recording are not channels, and that names are text or numbers."""
    for name, column in uses.items():
        if column in channels:
            raise TableError(f"{where}: column '{printable(column)}' is a channel, and cannot be the {name} as well")
        if name == RECORDING:
            _check_recording(table.field(column), where)


def _check_recording(field: pa.Field, where: str) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_nested(kind):
        raise TableError(
            f"{where}: column '{printable(field.name)}' is {printable(str(kind))}, a recording is a name or a number; "
            "convert it to text"
        )


def _check_field(field: pa.Field, unit: str, where: str) -> None:
    name, kind = printable(field.name), field.type
    if not is_number(kind):
        raise TableError(f"{where}: column '{name}' is {printable(str(kind))}, a channel must be numbers; convert it")
    stated = stated_unit(field)
    if stated is not None and stated != unit:
        raise TableError(
            f"{where}: column '{name}' is in {printable(stated)}, the policy says {printable(unit)}; "
            "convert the column or correct unit and range in the policy"
        )


@dataclass(frozen=True)
class Rows:
    """Consecutive rows: samples (row, channel) in units, their recording names, and their batch."""

    samples: Floats
    recording: NDArray[np.generic] | None
    batch: pa.RecordBatch


def read_rows(
    source: Source, columns: Columns, schema: Schema, *, outside: Callable[[Channel, str], object] = refuse_outside
) -> Iterator[Rows]:
    """Read every row of the source, batch by batch; the first unusable row raises a TableError.

    `outside` is called with every channel that lies largely outside its public range in a batch.
    """
    clock = Clock(schema.rate_hz, source.where, column=columns.time_name or "time")
    watch, timeline, first_row = RecordingWatch(source.where, schema.window), columns.timeline(), 0
    for batch in source.batches:
        if not batch.num_rows:
            continue
        rows = Rows(columns.samples(batch), columns.recording(batch), batch)
        if not all_inside(rows.samples, schema):
            check_finite(rows.samples, schema, first_row=first_row, where=source.where)
            for channel in largely_outside(rows.samples, schema):
                outside(channel, source.where)
        if rows.recording is not None:
            watch.check(rows.recording, first_row=first_row)
        if timeline is not None:
            time = timeline.read(batch.column(timeline.name))
            clock.per_second = clock.per_second or timeline.per_second
            clock.check(time, rows.recording, first_row=first_row)
        first_row += batch.num_rows
        yield rows
    clock.finish()
