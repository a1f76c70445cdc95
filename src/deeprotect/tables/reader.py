"""The tolerant reader of check, prepare and init: every cell as far as it can be understood, and nothing is refused."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.signals.recordings import MOST_RECORDINGS
from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import decoded, is_text
from deeprotect.tables.roles import Roles
from deeprotect.tables.source import Source
from deeprotect.tables.timestamps import Timeline, matches

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
UNNAMED, UNTRACKED = -1, -2
_NUMBER = r"^\s*([-+]?(\d+[.,]?\d*|[.,]\d+)([eE][-+]?\d+)?|[-+]?(?i:inf|infinity|nan))\s*$"
_NEVER = r"\x00"  # no text file holds one
_EXPONENT = r"([eE][-+]?\d+)?\s*$"
_BLANK = r"['’ \x{a0}\x{202f}]"


@dataclass(frozen=True)
class Seen:
    """Consecutive rows; samples, text and grouped are (row, channel).

    text: the cell holds something that is no number. grouped: it is one with thousands separators.
    """

    first_row: int
    recording: Indices  # running numbers of names; all 0 where the table has none
    time: Floats | None  # offsets in the column's unit, NaN where missing or not understood
    stamped: Mask | None  # rows whose time cell is not empty
    samples: Floats
    text: Mask
    grouped: Mask
    batch: pa.RecordBatch


class Reader:
    """One pass over a source; `by_person` tells recordings apart by person, too, whose numbers often start anew."""

    def __init__(self, source: Source, roles: Roles, *, by_person: bool = False) -> None:
        self.roles, self._source, self._by_person = roles, source, by_person
        self.timeline = Timeline(roles.time, source.where) if roles.time else None
        self.recordings = NameIndex()
        self._numbers = {name: NumberColumn() for name in roles.channels}

    def read(self) -> Iterator[Seen]:
        first_row = 0
        names = unique_names(self._source.schema.names)
        for batch in self._source.batches:
            if batch.num_rows:
                yield self._see(batch.rename_columns(names), first_row)
                first_row += batch.num_rows

    def _see(self, batch: pa.RecordBatch, first_row: int) -> Seen:
        time, stamped = None, None
        if self.timeline is not None:
            cells = plain(batch.column(self.timeline.name))
            time, stamped = self.timeline.read_some(cells), _filled(cells)
        samples = np.empty((batch.num_rows, len(self.roles.channels)))
        text, grouped = np.zeros((2, *samples.shape), dtype=bool)
        for place, (name, numbers) in enumerate(self._numbers.items()):
            samples[:, place], text[:, place], grouped[:, place] = numbers.read(batch.column(name))
        return Seen(first_row, self._recording(batch), time, stamped, samples, text, grouped, batch)

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
class NumberColumn:
    """Numbers of one column over the batches of a source; the decimal mark that some cells show holds for all."""

    _mark: str | None = None

    def read(self, column: pa.Array) -> tuple[Floats, Mask, Mask]:
        """Values as float64, NaN where there is none; which cells hold no number; which have thousands separators."""
        column, none = plain(column), np.zeros(len(column), dtype=bool)
        kind = column.type
        if is_text(kind):
            return self._in_text(column)
        if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return np.asarray(values, dtype=np.float64), none, none
        return np.full(len(column), np.nan), _as_mask(pc.is_valid(column)), none

    def _in_text(self, column: pa.Array) -> tuple[Floats, Mask, Mask]:
        self._mark = self._mark or _decimal_mark(column)
        other = {".": ",", ",": "."}.get(self._mark or "", "")
        grouped = matches(column, _grouped(self._mark, other) if self._mark else _NEVER)
        good = pc.or_(pc.and_not(matches(column, _NUMBER), matches(column, f"[{other}]" if other else _NEVER)), grouped)
        text = pc.utf8_trim_whitespace(pc.if_else(good, column, None))
        text = pc.if_else(grouped, pc.replace_substring_regex(text, f"{_BLANK}|[{other or ' '}]", ""), text)
        text = pc.replace_substring_regex(pc.replace_substring(text, ",", "."), r"^\+", "")
        values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
        bad = pc.and_not(matches(column, r"\S"), good)
        return values, _as_mask(bad), _as_mask(grouped)


def _decimal_mark(column: pa.Array) -> str | None:
    """The one shown by cells that can only be read in one way, 0,5 or 1.234,5 but not 1,234.

    None where most cells would then have thousands separators: one typing error is not to turn 9.812 into 9812.
    """
    found = {mark: _count(column, _telling(mark, other)) for mark, other in (".,", ",.")}
    mark, other = (".", ",") if found["."] >= found[","] else (",", ".")
    return mark if found[mark] and found[mark] >= _count(column, rf"^\s*[-+]?\d{{1,3}}[{other}]\d{{3}}\s*$") else None


def _telling(mark: str, other: str) -> str:
    grouped = rf"\d{{1,3}}([{other}]\d{{3}})+[{mark}]\d*"
    plain_ = rf"0?[{mark}]\d+|\d+[{mark}](\d{{1,2}}|\d{{4,}})|\d{{4,}}[{mark}]\d+"
    return rf"^\s*[-+]?({grouped}|{plain_}){_EXPONENT}"


def _grouped(mark: str, other: str) -> str:
    return rf"^\s*[-+]?\d{{1,3}}(([{other}]\d{{3}})+|({_BLANK}\d{{3}})+)([{mark}]\d*)?\s*$"


@dataclass
class NameIndex:
    """Numbers for names, in the order in which they first appear, over the batches of a source.

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


def plain(column: pa.Array) -> pa.Array:
    """A dictionary as its values, text as text that Arrow can compute with."""
    column = decoded(column) if pa.types.is_dictionary(column.type) else column
    return column.cast(pa.large_string()) if is_text(column.type) else column


def unique_names(names: list[str]) -> list[str]:
    """Names by which columns can be told apart, where a table has one twice."""
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return [name if first[name] == place else f"{name} ({place + 1})" for place, name in enumerate(names)]


def _named(column: pa.Array) -> pa.Array:
    """Names as text; null where there is none."""
    column = plain(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return column.cast(pa.large_string())


def _filled(cells: pa.Array) -> Mask:
    return _as_mask(matches(cells, r"\S") if is_text(cells.type) else pc.is_valid(cells))


def _count(column: pa.Array, pattern: str) -> int:
    return pc.sum(matches(column, pattern)).as_py() or 0


def _as_mask(column: pa.Array) -> Mask:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)
