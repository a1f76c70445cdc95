"""Names: of columns, and of recordings, which leave with a release if that is asked for."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from deeprotect.errors import printable
from deeprotect.policy.usual_names import is_telling
from deeprotect.tables.checking.problems import Problem
from deeprotect.tables.checking.seen import Seen

SHORTEST_LABEL = 2  # characters; a single digit stands in any name by chance
MOST_OF_THEM = 0.5


def name_problems(names: list[str]) -> list[Problem]:
    """Names that are there twice, do not print, or are missing."""
    twice = tuple(name for name, count in Counter(names).items() if count > 1)
    odd = tuple(name for name in names if not name.isprintable())
    empty = [place for place, name in enumerate(names) if not name and place > 0]
    return [
        *(_one("names", "column names that are there twice", twice, "rename one of each") if twice else []),
        *(_one("names", "column names with characters that do not print", odd, "rename them") if odd else []),
        *([Problem("names", "columns without a name", len(empty), "name them")] if empty else []),
    ]


def column_notes(names: list[str]) -> list[Problem]:
    telling = tuple(name for name in names if is_telling(name))
    fix = "no release carries them, but whoever holds the table does; drop what is not needed"
    return _one("telling", "columns named like what tells who somebody is", telling, fix) if telling else []


def _one(kind: str, what: str, names: tuple[str, ...], fix: str) -> list[Problem]:
    return [Problem(kind, what, len(names), fix, tuple(map(printable, names)))]


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
        told = tuple(
            label for label, count in self._told.items() if self._seen > 1 and count > MOST_OF_THEM * self._seen
        )
        fix = "recordings leave as 1, 2, …; do not let their names leave with --keep-names"
        return [Problem("telling", "columns that recordings are named after", len(told), fix, told)] if told else []


def labels_among(names: list[str], taken: set[str]) -> tuple[str, ...]:
    """Columns that are nothing else."""
    return tuple(name for name in names if name not in taken)
