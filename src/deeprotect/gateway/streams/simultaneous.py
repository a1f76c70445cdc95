"""Readings of sensors that are read at the same times: what is asked of the times is asked once for all of them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.gateway.wire.message import Readings
from deeprotect.signals.ticks import Nanoseconds

Rows = NDArray[np.bool_] | NDArray[np.int64] | slice


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """Readings that share one array of times, at least one, in order of time."""

    readings: tuple[Readings, ...]

    @classmethod
    def of(cls, readings: Iterable[Readings]) -> list["Simultaneous"]:
        """In the order of their first; the same times in two arrays are taken for different ones."""
        by_times: dict[int, list[Readings]] = {}
        for each in readings:
            by_times.setdefault(id(each.times_ns), []).append(each)
        return [cls(tuple(some))._in_order() for some in by_times.values()]

    @property
    def times_ns(self) -> Nanoseconds:
        return self.readings[0].times_ns

    def where(self, chosen: Rows) -> "Simultaneous":
        """Some of them."""
        return Simultaneous(tuple(each.where(chosen) for each in self.readings))

    def _in_order(self) -> "Simultaneous":
        return self if increases(self.times_ns) else self.where(np.argsort(self.times_ns, kind="stable"))


@dataclass(frozen=True, eq=False)
class OnTicks:
    """The same on the clock's grid, each reading at the tick that it is nearest to."""

    together: Simultaneous
    ticks: NDArray[np.int64]

    @property
    def first(self) -> int:
        return int(self.ticks[0])

    @property
    def last(self) -> int:
        return int(self.ticks[-1])

    def between(self, start: int, end: int) -> "OnTicks":
        """Those of some ticks, `end` not included; possibly none."""
        if self.first >= start and self.last < end:
            return self
        low, high = np.searchsorted(self.ticks, (start, end))
        rows = slice(int(low), int(high))
        return OnTicks(self.together.where(rows), self.ticks[rows])


def increases(times_ns: Nanoseconds) -> bool:
    """Each later than the one before, which they mostly are."""
    return bool((times_ns[1:] > times_ns[:-1]).all())
