"""Mending one recording: doubles dropped, late rows sorted in, restarts and gaps made borders; and another rate."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deeprotect.errors import InputError, TableError
from deeprotect.signals.clock import GAP_STEPS, RATE_TOLERANCE, clock_runs
from deeprotect.signals.resampling import grid, interpolate, middles, slower
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.order import COARSE_SHARE
from deeprotect.tables.checking.report import problem
from deeprotect.tables.fields import plain
from deeprotect.tables.preparing.counts import Counts
from deeprotect.tables.preparing.grouping import Piece
from deeprotect.tables.reader import Indices

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
                    f"{self.where}: too many rows of a recording share their time; if there are several recordings in "
                    f"one, say --map recording=COLUMN; else {problem('coarse').fix}"
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


@dataclass(frozen=True)
class Rate:
    """The rate that is asked for, the one that the table has, and the units of its time column in a second."""

    wanted_hz: float
    found_hz: float
    per_second: float

    @property
    def period(self) -> float:
        """From one row to the next at the rate that is asked for, in the unit of the time column."""
        return self.per_second / self.wanted_hz

    def is_above(self, stretch: Piece) -> bool:
        """Whether this stretch has fewer rows in a second than are asked for: some would be made up."""
        span = float(stretch.time[-1] - stretch.time[0])
        return (len(stretch) - 1) * (1 + RATE_TOLERANCE) * self.period < span


def check_rate(wanted_hz: float, found_hz: float, where: str) -> None:
    """Only downwards: samples between samples would be made up."""
    if wanted_hz > (1 + RATE_TOLERANCE) * found_hz:
        raise InputError(
            f"{where}: --rate-hz {wanted_hz:g} is more than its about {found_hz:g} Hz; samples would be made up, so "
            f"give {found_hz:g} or less"
        )


def resample(stretch: Piece, rate: Rate) -> Piece:
    """One stretch without gaps: means over time for samples, the row in the middle for all else.

    Rows every 1/wanted_hz from the stretch's first; none where the last one would be cut short.
    """
    seconds = stretch.time / rate.per_second
    near = rate.wanted_hz > rate.found_hz / (1 + RATE_TOLERANCE)
    steady_hz = rate.wanted_hz if near else rate.found_hz
    at = grid(float(seconds[0]), float(seconds[-1]), steady_hz)
    samples = interpolate(seconds, stretch.samples, at)
    if not near:
        at, samples = at[middles(len(at), steady_hz, rate.wanted_hz)], slower(samples, steady_hz, rate.wanted_hz)
    along = stretch.take(_nearest(seconds, at))
    return Piece(
        along.key, (seconds[0] + np.arange(len(samples)) / rate.wanted_hz) * rate.per_second, samples, along.cells
    )


def _nearest(times: Floats, at: Floats) -> Indices:
    """For each time the row that is nearest to it; times grow."""
    if len(times) == 1:
        return np.zeros(len(at), dtype=np.int64)
    later = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    return np.asarray(later - (at - times[later - 1] < times[later] - at))
