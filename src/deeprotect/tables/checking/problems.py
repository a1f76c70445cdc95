"""What a check found: a problem or a note, how often, where first, and what to do; never what a cell holds."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import printable

MOST_COLUMNS = 8  # named in one line


@dataclass(frozen=True)
class Problem:
    """`count` is None where there is nothing to count."""

    kind: str
    what: str
    count: int | None
    fix: str
    columns: tuple[str, ...] = ()
    first_row: int | None = None

    def __str__(self) -> str:
        more = len(self.columns) - MOST_COLUMNS
        names = ", ".join(map(printable, self.columns[:MOST_COLUMNS])) + (f" and {more} more" if more > 0 else "")
        count = f": {self.count}" if self.count is not None else ""
        place = f", first at row {self.first_row}" if self.first_row is not None else ""
        return f"{self.what}{f' ({names})' if names else ''}{count}{place}; {self.fix}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class ProblemCount:
    """Counts rows over the batches of a source, and remembers the first."""

    count: int = 0
    first_row: int | None = None  # as people count, from 1
    columns: dict[str, None] = field(default_factory=dict)

    def add(self, hits: NDArray[np.bool_] | NDArray[np.int64], first_row: int, column: str | None = None) -> None:
        """A mask over consecutive rows, or their numbers inside the batch; `first_row` is the batch's, from 0."""
        rows = np.flatnonzero(hits) if hits.dtype == bool else hits
        if not len(rows):
            return
        self.count += len(rows)
        row = first_row + int(rows.min()) + 1
        self.first_row = row if self.first_row is None else min(self.first_row, row)
        if column is not None:
            self.columns[column] = None

    def problem(self, kind: str, what: str, fix: str) -> list[Problem]:
        """None where nothing was counted."""
        found = Problem(kind, what, self.count, fix, tuple(self.columns), self.first_row)
        return [found] if self.count else []
