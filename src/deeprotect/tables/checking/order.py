"""Rows against the clock, inside recordings: gaps, steps back, doubles, an uneven rate; recordings in pieces."""

from dataclasses import dataclass, field

import numpy as np

from deeprotect.signals.clock import GAP_STEPS, RESTART_ROWS, SLACK
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.report import Problem, Tally, problem
from deeprotect.tables.numbers import Mask
from deeprotect.tables.reader import UNNAMED, Indices, Seen

UNEVEN_STEP = 0.5  # of a sample away from one sample
UNEVEN_SHARE = 0.05
COARSE_SHARE = 0.2  # of rows that share their time with others: then the clock is too coarse to tell rows apart


@dataclass
class OrderWatch:
    """Remembers the last row of every recording: as many rows as there are recordings, and no more."""

    period: float | None  # of a sample, in the time column's unit; None where it is not known
    named: bool  # whether a column names the recordings: without one, a clock that starts over may begin another
    tally: Tally
    steps: int = 0
    _last_time: Floats = field(default_factory=lambda: np.empty(0))
    _last_samples: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def see(self, seen: Seen) -> None:
        if seen.time is None or seen.stamped is None:
            return
        self.tally["time missing"].add(~seen.stamped, seen.first_row)
        self.tally["time not understood"].add(seen.stamped & ~np.isfinite(seen.time), seen.first_row)
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
        restarts = known & (steps < -RESTART_ROWS * (self.period or np.inf)) & (not self.named)
        found = {
            "restarts": restarts,
            "order": known & (steps < 0) & ~restarts,
            "duplicates": known & (steps == 0) & same,
            "repeated time": known & (steps == 0) & ~same,
        }
        if self.period is not None:
            samples = steps / self.period
            found["gaps"] = known & (samples > GAP_STEPS + SLACK)
            forward = known & (steps > 0) & (samples <= GAP_STEPS + SLACK)
            found["uneven rate"] = forward & (np.abs(samples - 1) > UNEVEN_STEP)
        for key, hits in found.items():
            self.tally[key].add(rows[hits], first_row)

    def _make_room(self, recordings: int, channels: int) -> None:
        more = recordings - len(self._last_time)
        if more > 0:
            self._last_time = np.concatenate([self._last_time, np.full(more, np.nan)])
            old = self._last_samples.reshape(-1, channels) if channels else np.empty((len(self._last_samples), 0))
            self._last_samples = np.concatenate([old, np.full((more, channels), np.nan)])

    @property
    def unsorted(self) -> bool:
        """Whether time does not always grow."""
        return any(self.tally[key].count for key in ("restarts", "order", "duplicates", "repeated time"))

    def problems(self) -> list[Problem]:
        coarse = self.tally["repeated time"].count > COARSE_SHARE * self.steps
        uneven = self.tally["uneven rate"].count > UNEVEN_SHARE * self.steps
        return [
            *self.tally.problems("time missing", "time not understood", "restarts", "order", "duplicates"),
            *self.tally.problems("repeated time", said="coarse" if coarse else None),
            *self.tally.problems("gaps", *(["uneven rate"] if uneven else []), samples=GAP_STEPS),
        ]


@dataclass
class PieceWatch:
    """Rows without a recording, recordings in several pieces, and recordings too short for a window."""

    window: int | None
    tally: Tally
    _rows: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _current: int = UNNAMED - 10

    def see(self, seen: Seen) -> None:
        names = seen.recording
        self.tally["recording missing"].add(names == UNNAMED, seen.first_row)
        starts = np.flatnonzero(np.concatenate([[names[0] != self._current], names[1:] != names[:-1]]))
        named = starts[names[starts] >= 0]
        first_of_batch = np.unique(names[named], return_index=True)[1]
        begun = names[named] < len(self._rows)  # known from an earlier batch
        again = np.ones(len(named), dtype=bool)
        again[first_of_batch] = False
        self.tally["interleaved"].add(named[begun | again], seen.first_row)
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
        short = int(np.count_nonzero((self._rows > 0) & (self._rows < (self.window or 0))))
        return [problem("short", count=short, window=self.window)] if short else []

    def problems(self) -> list[Problem]:
        return self.tally.problems("recording missing", "interleaved")


def _same(one: Floats, other: Floats) -> Mask:
    return np.asarray(np.all((one == other) | (np.isnan(one) & np.isnan(other)), axis=1))
