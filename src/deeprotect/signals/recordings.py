"""Checks that recordings are named and contiguous: each piece would be cut, and charged, separately."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import Argument, TableError

MOST_RECORDINGS = 1_000_000  # names that are remembered, about 100 MB
MOST_SINGLE_ROWS = 100  # consecutive recordings of one row, from which the column must be numbering rows


@dataclass
class RecordingWatch:
    """Refuses rows without a name and names that come back, which would silently become many padded windows.

    If a window is a single row, nothing is padded, and each row may be a recording.
    """

    where: str
    window: int = 2
    _seen: set[object] = field(default_factory=set)
    _current: object = field(default_factory=object)
    _started: int = -2
    _single_rows: int = 0

    def check(self, names: NDArray[np.generic], *, first_row: int) -> None:
        """Check the recording names of consecutive rows."""
        for row in starts(names):
            if is_missing(names[row]):
                raise TableError(
                    f"{self.where}: recording is missing at row {first_row + int(row) + 1}; name it, or drop such rows "
                    "with `deeprotect prepare`"
                )
            if names[row] != self._current:
                self._begin(names[row], first_row + int(row))

    def _begin(self, name: object, row: int) -> None:
        self._single_rows = self._single_rows + 1 if row == self._started + 1 else 0
        self._current, self._started = name, row
        if self._single_rows == MOST_SINGLE_ROWS and self.window > 1:
            raise TableError(
                f"{self.where}: {MOST_SINGLE_ROWS} recordings of a single row stand before row {row + 1}; does that "
                "column number rows? Map another one, or none with ",
                Argument("map", {"recording": ""}),
            )
        if name in self._seen:
            raise TableError(
                f"{self.where}: row {row + 1} goes on with a recording that other rows have interrupted; sort the "
                "table by recording with `deeprotect prepare`"
            )
        if len(self._seen) == MOST_RECORDINGS:
            raise TableError(
                f"{self.where}: more than {MOST_RECORDINGS} recordings; is that column something else? Map another "
                "one, or cut the table into files"
            )
        self._seen.add(name)


def starts(names: NDArray[np.generic]) -> NDArray[np.int64]:
    """Rows whose name differs from the previous row's; NaN always differs."""
    return np.concatenate([[0], np.flatnonzero(names[1:] != names[:-1]) + 1])[: len(names)].astype(np.int64)


def is_missing(name: object) -> bool:
    """Whether a name is missing: null, NaN, or empty text."""
    return name is None or bool(name != name) or name == ""
