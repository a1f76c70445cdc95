"""Rows against the clock, inside recordings: gaps, steps back, doubles, an uneven rate; recordings in pieces."""

from dataclasses import dataclass, field

import numpy as np

from deeprotect.signals.clock import GAP_STEPS, SLACK
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.report import Problem, ProblemCount
from deeprotect.tables.reader import UNNAMED, Indices, Mask, Seen

UNEVEN_STEP = 0.5  # of a sample away from one sample
UNEVEN_SHARE = 0.05
COARSE_SHARE = 0.2  # of rows that share their time with others: then the clock is too coarse to tell rows apart
WRITTEN = (
    "export them as 2026-01-31T12:00:00.125 (in a spreadsheet, the format yyyy-mm-ddThh:mm:ss.000) or as seconds, or "
    "say that there is none with `deeprotect prepare --map time=`"
)
ROUNDED = (
    "a spreadsheet or a logger has rounded it: export it again with milliseconds, or say that there is none with "
    "`deeprotect prepare --map time=`, and what one row after the other is with `deeprotect init --rate-hz`"
)
_PREPARE = "`deeprotect prepare`"


@dataclass
class OrderWatch:
    """Remembers the last row of every recording: as many rows as there are recordings, and no more."""

    period: float | None  # of a sample, in the time column's unit; None where it is not known
    steps: int = 0
    missing: ProblemCount = field(default_factory=ProblemCount)
    unread: ProblemCount = field(default_factory=ProblemCount)
    backward: ProblemCount = field(default_factory=ProblemCount)
    doubles: ProblemCount = field(default_factory=ProblemCount)
    repeated: ProblemCount = field(default_factory=ProblemCount)
    gaps: ProblemCount = field(default_factory=ProblemCount)
    uneven: ProblemCount = field(default_factory=ProblemCount)
    _last_time: Floats = field(default_factory=lambda: np.empty(0))
    _last_samples: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def see(self, seen: Seen) -> None:
        if seen.time is None or seen.stamped is None:
            return
        self.missing.add(~seen.stamped, seen.first_row)
        self.unread.add(seen.stamped & ~np.isfinite(seen.time), seen.first_row)
        rows = np.flatnonzero(np.isfinite(seen.time) & (seen.recording >= 0))
        if len(rows):
            self._count(rows[np.argsort(seen.recording[rows], kind="stable")], seen, seen.time)

    def _count(self, rows: Indices, seen: Seen, time: Floats) -> None:
        """`rows` are grouped by recording, in order inside."""
        names, samples = seen.recording[rows], seen.samples[rows]
        self._make_room(int(names.max()) + 1, samples.shape[1])
        begins = np.concatenate([[True], names[1:] != names[:-1]])
        before_time = np.where(begins, self._last_time[names], np.concatenate([[np.nan], time[rows][:-1]]))
        before = np.where(begins[:, None], self._last_samples[names], np.concatenate([samples[:1], samples[:-1]]))
        self._judge(time[rows] - before_time, _same(before, samples), rows, seen.first_row)
        ends = np.concatenate([begins[1:], [True]])
        self._last_time[names[ends]], self._last_samples[names[ends]] = time[rows][ends], samples[ends]

    def _judge(self, steps: Floats, same: Mask, rows: Indices, first_row: int) -> None:
        known = np.isfinite(steps)
        self.steps += int(np.count_nonzero(known))
        self.backward.add(rows[known & (steps < 0)], first_row)
        self.doubles.add(rows[known & (steps == 0) & same], first_row)
        self.repeated.add(rows[known & (steps == 0) & ~same], first_row)
        if self.period is None:
            return
        samples = steps / self.period
        self.gaps.add(rows[known & (samples > GAP_STEPS + SLACK)], first_row)
        forward = known & (steps > 0) & (samples <= GAP_STEPS + SLACK)
        self.uneven.add(rows[forward & (np.abs(samples - 1) > UNEVEN_STEP)], first_row)

    def _make_room(self, recordings: int, channels: int) -> None:
        more = recordings - len(self._last_time)
        if more > 0:
            self._last_time = np.concatenate([self._last_time, np.full(more, np.nan)])
            old = self._last_samples.reshape(-1, channels) if channels else np.empty((len(self._last_samples), 0))
            self._last_samples = np.concatenate([old, np.full((more, channels), np.nan)])

    @property
    def unsorted(self) -> bool:
        """Whether time does not always grow."""
        return bool(self.backward.count or self.doubles.count or self.repeated.count)

    def problems(self) -> list[Problem]:
        coarse = self.repeated.count > COARSE_SHARE * self.steps
        first = f"{_PREPARE} keeps the first"
        uneven = self.uneven if self.uneven.count > UNEVEN_SHARE * self.steps else ProblemCount()
        split, rate = f"{_PREPARE} splits recordings there", f"resample with {_PREPARE} --rate-hz"
        return [
            *self.missing.problem("time missing", "rows without a time", f"{_PREPARE} drops them"),
            *self.unread.problem("time not understood", "time stamps that are neither numbers nor ISO 8601", WRITTEN),
            *self.backward.problem("order", "rows earlier than the one before", f"{_PREPARE} sorts them"),
            *self.doubles.problem("duplicates", "rows that repeat the one before", f"{_PREPARE} drops them"),
            *self.repeated.problem(
                "repeated time", "other rows with the time of the one before", ROUNDED if coarse else first
            ),
            *self.gaps.problem("gaps", f"gaps of more than {GAP_STEPS:g} samples", split),
            *uneven.problem("uneven rate", "steps that are half a sample too long or short", rate),
        ]


@dataclass
class PieceWatch:
    """Rows without a recording, recordings in several pieces, and recordings too short for a window."""

    window: int | None
    missing: ProblemCount = field(default_factory=ProblemCount)
    interrupted: ProblemCount = field(default_factory=ProblemCount)
    _rows: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _current: int = UNNAMED - 10

    def see(self, seen: Seen) -> None:
        names = seen.recording
        self.missing.add(names == UNNAMED, seen.first_row)
        starts = np.flatnonzero(np.concatenate([[names[0] != self._current], names[1:] != names[:-1]]))
        named = starts[names[starts] >= 0]
        first_of_batch = np.unique(names[named], return_index=True)[1]
        begun = names[named] < len(self._rows)  # known from an earlier batch
        again = np.ones(len(named), dtype=bool)
        again[first_of_batch] = False
        self.interrupted.add(named[begun | again], seen.first_row)
        self._current = int(names[-1])
        self._add(names[names >= 0])

    def _add(self, names: Indices) -> None:
        counts = np.bincount(names, minlength=len(self._rows))
        counts[: len(self._rows)] += self._rows
        self._rows = counts.astype(np.int64)

    @property
    def recordings(self) -> int:
        return int(np.count_nonzero(self._rows))

    def notes(self) -> list[Problem]:
        short = ProblemCount(int(np.count_nonzero((self._rows > 0) & (self._rows < (self.window or 0)))))
        return short.problem("short", f"recordings shorter than a window of {self.window}", "take a shorter window")

    def problems(self) -> list[Problem]:
        again = "places where a recording goes on that other rows have interrupted"
        return [
            *self.missing.problem("recording missing", "rows without a recording", f"{_PREPARE} drops them"),
            *self.interrupted.problem("interleaved", again, f"{_PREPARE} sorts by recording"),
        ]


def _same(one: Floats, other: Floats) -> Mask:
    return np.asarray(np.all((one == other) | (np.isnan(one) & np.isnan(other)), axis=1))
