"""Names: of columns, of labels, and of recordings, which leave with a release if that is asked for."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import printable
from deeprotect.policy.usual_names import is_telling
from deeprotect.tables.checking.report import Problem, problem, some
from deeprotect.tables.fields import is_text, plain
from deeprotect.tables.reader import Seen

SHORTEST_LABEL = 2  # characters; a single digit stands in any name by chance
MOST_OF_THEM = 0.5
MOST_LABELS = 1000  # a column with more distinct cells holds no labels


def name_problems(names: list[str]) -> list[Problem]:
    """Names that are there twice, do not print, or are missing."""
    twice = tuple(name for name, count in Counter(names).items() if count > 1)
    odd = tuple(name for name in names if not name.isprintable())
    empty = [place for place, name in enumerate(names) if not name and place > 0]
    return [
        *some("twice", map(printable, twice)),
        *some("unprintable", map(printable, odd)),
        *([problem("nameless", count=len(empty))] if empty else []),
    ]


def column_notes(names: list[str]) -> list[Problem]:
    return some("telling", (printable(name) for name in names if is_telling(name)))


@dataclass
class RecordingNames:
    """Whether recordings are named after their labels: p07-PEN-right tells person, exercise and side."""

    column: str | None
    labels: tuple[str, ...]
    _seen: int = 0
    _told: Counter[str] = field(default_factory=Counter)

    def see(self, seen: Seen) -> None:
        if self.column is None:
            return
        numbers, firsts = np.unique(seen.recording, return_index=True)
        for row in firsts[numbers >= self._seen]:
            self._look(seen.batch, int(row))
        self._seen = max(self._seen, int(numbers.max(initial=-1)) + 1)

    def _look(self, batch: pa.RecordBatch, row: int) -> None:
        name = str(batch.column(self.column)[row].as_py())
        for label in self.labels:
            value = str(batch.column(label)[row].as_py() or "")
            if len(value) >= SHORTEST_LABEL and value in name:
                self._told[label] += 1

    def notes(self) -> list[Problem]:
        told = (label for label, count in self._told.items() if self._seen > 1 and count > MOST_OF_THEM * self._seen)
        return some("told", told)


@dataclass
class Spellings:
    """Labels over the batches of a source: `Walk`, `walk ` and `WALK` are one class, and would be learnt as three."""

    _seen: dict[str, Counter[str] | None] = field(default_factory=dict)

    def see(self, name: str, column: pa.Array | pa.ChunkedArray) -> None:
        known = self._seen.setdefault(name, Counter())
        if known is None or not is_text(column.type):
            return
        for each in pc.value_counts(plain(column)).to_pylist():
            if each["values"] is not None:
                known[each["values"]] += each["counts"]
        if len(known) > MOST_LABELS:
            self._seen[name] = None

    def unusual(self) -> dict[str, dict[str, str]]:
        """By column: spellings that differ from the usual one only by case or blanks, and that one."""
        found = {name: _unusual(counts) for name, counts in self._seen.items() if counts}
        return {name: spellings for name, spellings in found.items() if spellings}


def respelt(column: pa.ChunkedArray, usual: dict[str, str]) -> pa.ChunkedArray:
    """The column with its usual spellings."""
    places = pc.index_in(column, pa.array(usual, column.type))
    return pc.coalesce(pc.take(pa.array(usual.values(), column.type), places), column)


def _unusual(counts: Counter[str]) -> dict[str, str]:
    usual: dict[str, str] = {}
    for text, _ in counts.most_common():
        usual.setdefault(_plain(text).casefold(), _plain(text))
    ways = Counter(_plain(text).casefold() for text in counts)
    return {text: usual[key] for text in counts if ways[key := _plain(text).casefold()] > 1 and text != usual[key]}


def _plain(text: str) -> str:
    return " ".join(text.split())
