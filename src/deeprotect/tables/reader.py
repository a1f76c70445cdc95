"""The tolerant reader of check, prepare and init: interprets as many cells as possible and refuses none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.signals.recordings import MOST_RECORDINGS
from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import is_text, plain
from deeprotect.tables.numbers import Mask, NumberColumn, as_mask, matches
from deeprotect.tables.roles import Roles
from deeprotect.tables.source import Source
from deeprotect.tables.timestamps import Timeline

Indices = NDArray[np.int64]
UNNAMED, UNTRACKED = -1, -2


@dataclass(frozen=True)
class Seen:
    """Consecutive rows; samples, text and grouped are (row, channel).

    text: the cell is not empty and not a number. grouped: it has thousands separators; `time_grouped`, too.
    """

    first_row: int
    recording: Indices  # running numbers of names; all 0 without names
    time: Floats | None  # offsets in the column's unit, NaN if missing or unreadable
    stamped: Mask | None  # rows whose time cell is not empty
    time_grouped: Mask | None
    samples: Floats
    text: Mask
    grouped: Mask
    batch: pa.RecordBatch


class Reader:
    """One pass over a source; `by_person` distinguishes recordings by person, too, because their numbers often restart.

    `numbers` holds the findings of an earlier pass about number columns.
    """

    def __init__(
        self,
        source: Source,
        roles: Roles,
        *,
        by_person: bool = False,
        numbers: Mapping[str, NumberColumn] | None = None,
    ) -> None:
        self.roles, self._source, self._by_person = roles, source, by_person
        self.timeline = Timeline(roles.time, source.where) if roles.time else None
        self.recordings = NameIndex()
        self._looks = numbers is None
        written = (*roles.channels, *([roles.time] if roles.time else []))
        self.numbers = {name: NumberColumn() for name in written} if numbers is None else numbers

    def read(self) -> Iterator[Seen]:
        first_row = 0
        names = unique_names(self._source.schema.names)
        for batch in self._source.batches:
            if batch.num_rows:
                yield self._see(batch.rename_columns(names), first_row)
                first_row += batch.num_rows

    def _see(self, batch: pa.RecordBatch, first_row: int) -> Seen:
        cells = {name: plain(batch.column(name)) for name in self.numbers}
        if self._looks:
            self._find_marks(cells)
        time = stamped = time_grouped = None
        if self.timeline is not None:
            stamps, time_grouped = self._stamps(cells[self.timeline.name])
            time, stamped = self.timeline.read_some(stamps), _filled(stamps)
            place = batch.schema.get_field_index(self.timeline.name)
            batch = batch.set_column(place, self.timeline.name, stamps)
        samples = np.empty((batch.num_rows, len(self.roles.channels)))
        text, grouped = np.zeros((2, *samples.shape), dtype=bool)
        for place, name in enumerate(self.roles.channels):
            samples[:, place], text[:, place], grouped[:, place] = self.numbers[name].read(cells[name])
        return Seen(first_row, self._recording(batch), time, stamped, time_grouped, samples, text, grouped, batch)

    def _find_marks(self, cells: Mapping[str, pa.Array]) -> None:
        for name, numbers in self.numbers.items():
            numbers.look(cells[name])
        seen = [numbers.evidence for numbers in self.numbers.values()]
        for numbers in self.numbers.values():
            numbers.settle(seen)

    def _stamps(self, cells: pa.Array) -> tuple[pa.Array, Mask]:
        """Numbers with a decimal point and no other mark, and which had thousands separators; others unchanged."""
        if not is_text(cells.type):
            return cells, np.zeros(len(cells), dtype=bool)
        text, grouped = self.numbers[self.roles.time or ""].written(cells)
        return pc.coalesce(text, cells), as_mask(grouped)

    def _recording(self, batch: pa.RecordBatch) -> Indices:
        recording, person = self.roles.recording, self.roles.person if self._by_person else None
        if person is None:
            none = np.zeros(batch.num_rows, dtype=np.int64)
            return self.recordings.numbers(plain(batch.column(recording))) if recording else none
        who = pc.fill_null(_named(batch.column(person)), "")
        if recording is None:
            return self.recordings.numbers(who)
        named = _named(batch.column(recording))
        both = pc.binary_join_element_wise(who, named, pa.scalar("\n", pa.large_string()))
        return self.recordings.numbers(pc.if_else(pc.equal(named, ""), None, both))


@dataclass
class NameIndex:
    """Numbers for names, in order of first appearance, over the batches of a source.

    Rows without a name are UNNAMED. After MOST_RECORDINGS names no more are remembered: such rows are UNTRACKED.
    """

    is_full: bool = False
    _numbers: dict[object, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, column: pa.Array) -> Indices:
        encoded = column.dictionary_encode()
        known = np.array([self._number(name) for name in encoded.dictionary.to_pylist()] + [UNNAMED], dtype=np.int64)
        rows: Indices = encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
        return known[rows]

    def _number(self, name: object) -> int:
        if name is None or name != name or name == "":
            return UNNAMED
        if name not in self._numbers and len(self._numbers) == MOST_RECORDINGS:
            self.is_full = True
            return UNTRACKED
        return self._numbers.setdefault(name, len(self._numbers))


def unique_names(names: list[str]) -> list[str]:
    """Distinct names for columns, even if the table has one twice."""
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return [name if first[name] == place else f"{name} ({place + 1})" for place, name in enumerate(names)]


def _named(column: pa.Array) -> pa.Array:
    """Names as text; null for missing ones."""
    column = plain(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return column.cast(pa.large_string())


def _filled(cells: pa.Array) -> Mask:
    return as_mask(matches(cells, r"\S") if is_text(cells.type) else pc.is_valid(cells))
