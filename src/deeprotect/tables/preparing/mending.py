"""Mending one recording: doubles dropped, late rows sorted in, a restarted clock and gaps made borders."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deeprotect.errors import TableError
from deeprotect.signals.clock import GAP_STEPS, RATE_TOLERANCE
from deeprotect.signals.ordering import clock_runs
from deeprotect.tables.cells import Indices, plain
from deeprotect.tables.preparing.counts import Counts
from deeprotect.tables.preparing.piece import Piece

COARSE_SHARE = 0.2  # of rows that share their time with others: then the clock is too coarse to tell rows apart
# Shorter than a gap by as much as a policy's rate may differ from the table's: no split table is refused for a gap.
SPLIT_STEPS = GAP_STEPS / (1 + RATE_TOLERANCE)


@dataclass
class Mender:
    """Whole recordings in, runs of strictly growing time out."""

    where: str
    counts: Counts

    def mend(self, recording: Piece) -> Iterator[Piece]:
        single = recording.take(_first_of_each(recording))
        self.counts.duplicates += len(recording) - len(single)
        runs = clock_runs(single.time)
        self.counts.restarts += len(runs) - 1
        for rows in runs:
            run = single.take(rows)
            self.counts.moved += int(np.count_nonzero(rows != np.sort(rows)))
            grows = np.concatenate([[True], np.diff(run.time) > 0])
            if np.count_nonzero(~grows) > COARSE_SHARE * len(run):
                raise TableError(
                    f"{self.where}: too many rows of a recording share their time; is the clock too coarse, or are "
                    "there several recordings in one? Say --map recording=COLUMN, or --map time= and mend without it"
                )
            self.counts.repeated_times += int(np.count_nonzero(~grows))
            yield run.take(np.flatnonzero(grows))


@dataclass
class GapSplitter:
    """Rows in order of recording and time in, parts out, each with whether a new recording begins with it."""

    period: float
    counts: Counts
    _key: int = -1
    _time: float = np.nan

    def begin(self) -> None:
        """The next row is of a new recording, whatever its time."""
        self._key = -1

    def split(self, piece: Piece) -> Iterator[tuple[Piece, bool]]:
        same = np.concatenate([[piece.key[0] == self._key], piece.key[1:] == piece.key[:-1]])
        steps = np.diff(piece.time, prepend=self._time)
        gaps = same & (steps > SPLIT_STEPS * self.period)
        self.counts.gaps += int(np.count_nonzero(gaps))
        begins = ~same | gaps
        borders = np.flatnonzero(begins)
        starts = borders if len(borders) and borders[0] == 0 else np.concatenate([[0], borders])
        for start, stop in zip(starts, [*starts[1:], len(piece)], strict=True):
            yield piece.part(int(start), int(stop)), bool(begins[start])
        self._key, self._time = int(piece.key[-1]), float(piece.time[-1])


def _first_of_each(recording: Piece) -> Indices:
    """Rows that are the first with their time, samples and cells, in the order in which they stand."""
    cells = [
        codes for name in recording.cells.column_names if (codes := _codes(recording.cells.column(name))) is not None
    ]
    facts = np.column_stack([recording.time, recording.samples, *cells])
    order = np.lexsort(facts.T[::-1])
    ordered = facts[order]
    other = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return np.sort(order[other])  # the sort is stable: of equal rows the first comes first


def _codes(column: pa.ChunkedArray) -> Indices | None:
    """Equal numbers for equal cells; None for a column that numbers the rows, and would make all of them differ."""
    if pa.types.is_nested(column.type):
        return None
    encoded = plain(column.combine_chunks()).dictionary_encode()
    codes: Indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes if len(encoded.dictionary) < len(column) else None
