"""Putting rows in order of time, where that is honest: late rows are sorted in, a clock that began anew is not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats

Indices = NDArray[np.int64]
RESTART_ROWS = 20  # so many rows in order, over times that were there already, are another run of the clock


def clock_runs(time: Floats) -> list[Indices]:
    """Rows by run of the clock, each in order of time.

    Rows that come late belong between others, and are sorted in. But where a long run of rows covers times that an
    earlier long run covers already, the clock was set anew: what came before and after did not happen together.
    """
    if len(time) < 2 or (np.diff(time) >= 0).all():
        return [np.arange(len(time))]
    clocks = [_Clock([], [])]
    for run in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) < 0) + 1):
        long = len(run) >= RESTART_ROWS
        if long and clocks[-1].covers(time[run]):
            clocks.append(_Clock([], []))
        clocks[-1].rows.append(run)
        if long:
            clocks[-1].spans.append((float(time[run[0]]), float(time[run[-1]])))
    runs = [np.concatenate(clock.rows) for clock in clocks]
    return [rows[np.argsort(time[rows], kind="stable")] for rows in runs]


@dataclass(frozen=True)
class _Clock:
    rows: list[Indices]
    spans: list[tuple[float, float]]

    def covers(self, time: Floats) -> bool:
        """Whether more than half of these times lie inside the spans of this clock."""
        inside = np.zeros(len(time), dtype=bool)
        for low, high in self.spans:
            inside |= (time >= low) & (time <= high)
        return bool(inside.mean() > 0.5)
