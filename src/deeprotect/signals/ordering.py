"""Putting rows in order of time, where that is honest: late rows are sorted in, a clock that began anew is not."""

from bisect import bisect_right, insort
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.clock import GAP_STEPS
from deeprotect.signals.schema import Floats

Indices = NDArray[np.int64]
RESTART_ROWS = 20  # so many rows in order, over times that were there already, are another run of the clock
PROBES = 64


def clock_runs(time: Floats) -> list[Indices]:
    """Rows by run of the clock, each in order of time.

    Rows that come late belong between others, and are sorted in. But where a long run of rows covers times that
    earlier long runs cover already, the clock was set anew: what came before and after did not happen together.
    """
    if len(time) < 2 or (np.diff(time) >= 0).all():
        return [np.arange(len(time))]
    clocks = [_ClockRun()]
    for rows in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) < 0) + 1):
        if len(rows) >= RESTART_ROWS and clocks[-1].covers(time[rows]):
            clocks.append(_ClockRun())
        clocks[-1].add(rows, time[rows])
    runs = [np.concatenate(clock.rows) for clock in clocks]
    return [rows[np.argsort(time[rows], kind="stable")] for rows in runs]


@dataclass
class _ClockRun:
    """Rows of one run of the clock, and the times that its long stretches cover without gaps."""

    rows: list[Indices] = field(default_factory=list)
    _spans: list[tuple[float, float]] = field(default_factory=list)  # sorted

    def add(self, rows: Indices, time: Floats) -> None:
        self.rows.append(rows)
        steps = np.diff(time)
        forward = steps[steps > 0]
        if len(rows) < RESTART_ROWS or not len(forward):
            return
        for stretch in np.split(time, np.flatnonzero(steps > GAP_STEPS * np.median(forward)) + 1):
            insort(self._spans, (float(stretch[0]), float(stretch[-1])))

    def covers(self, time: Floats) -> bool:
        """Whether more than half of these times are covered, by a few that lie evenly among them."""
        probes = time[np.linspace(0, len(time) - 1, min(PROBES, len(time))).astype(int)]
        return sum(map(self._has, probes)) > len(probes) / 2

    def _has(self, moment: float) -> bool:
        before = bisect_right(self._spans, (moment, np.inf)) - 1
        return before >= 0 and moment <= self._spans[before][1]
