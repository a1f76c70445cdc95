"""The samples of a live window, made of its own readings and of no other. docs/claims.md#draws-of-the-gateway"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.clock import GAP_STEPS
from deeprotect.signals.resampling import run_means
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds

GAP = int(GAP_STEPS)  # ticks from one reading to the next at most; a file's rows may lie as far apart
LARGEST = 1e300
"""No sensor reads as much; a mean beyond it might be no number, and what is there would depend on what is read."""


@dataclass(frozen=True, eq=False)
class OwnReadings:
    """What one sensor says inside a window, in order of time; values is (reading, channel), all of them numbers."""

    sensor: str
    channels: tuple[str, ...]
    places: list[int]  # of these channels in the schema
    times_ns: Nanoseconds
    ticks: NDArray[np.int64]  # counted from the window's first
    values: Floats


def window_samples(own: Sequence[OwnReadings], *, window: int, channels: int) -> Floats | None:
    """(tick, channel): the mean of a tick's readings, as `prepare` averages; None where a channel lacks too many.

    Ticks without a reading lie on a straight line between their neighbours in the window; at its edges the nearest
    reading is repeated. Up to two ticks in a row may be without.
    """
    rows = np.full((window, channels), np.nan)
    for each in own:
        starts = np.flatnonzero(np.diff(each.ticks, prepend=-1))
        means = run_means(np.clip(each.values, -LARGEST, LARGEST), starts)
        rows[each.ticks[starts][:, None], each.places] = means
    if not np.isfinite(rows).all():
        for column in rows.T:
            _bridge(column)
    return rows if np.isfinite(rows).all() else None


def reaches(ticks: Sequence[NDArray[np.int64]], *, window: int) -> bool:
    """Whether stamps of one channel, at ticks from a window's first, go through it without a gap and beyond its end.

    Where each tick of the window has its one stamp, nothing beyond is waited for. A faster device may have more to say
    about the last tick, and about an only one.
    """
    every = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *ticks]))
    inside = every[: np.searchsorted(every, window)]
    if len(inside) == window > 1 and (inside[1:] > inside[:-1]).all():
        return True
    there = np.concatenate([[-1], every[: len(inside) + 1]])
    return len(inside) > 0 and len(every) > len(inside) and bool((np.diff(there) <= GAP).all())


def _bridge(column: Floats) -> None:
    """Close the gaps of a channel, in place; not where one is too wide, or all is missing."""
    known = np.flatnonzero(np.isfinite(column))
    if len(known) and (np.diff(known, prepend=-1, append=len(column)) <= GAP).all():
        column[:] = np.interp(np.arange(len(column)), known, column[known])
