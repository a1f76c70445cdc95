"""Readings of sensors that are read at the same times: what is asked of the times is asked once for all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.gateway.wire.message import Readings
from deeprotect.signals.ticks import Nanoseconds


@dataclass(frozen=True, eq=False)
class Simultaneous:
    """Readings that share one array of times, at least one."""

    readings: tuple[Readings, ...]

    @classmethod
    def of(cls, readings: Iterable[Readings]) -> list[Self]:
        """In the order of their first; the same times in two arrays are taken for different ones."""
        by_times: dict[int, list[Readings]] = {}
        for each in readings:
            by_times.setdefault(id(each.times_ns), []).append(each)
        return [cls(tuple(some)) for some in by_times.values()]

    @property
    def times_ns(self) -> Nanoseconds:
        return self.readings[0].times_ns

    @cached_property
    def is_ordered(self) -> bool:
        return increases(self.times_ns)

    @cached_property
    def first_ns(self) -> int:
        return int(self.times_ns[0] if self.is_ordered else self.times_ns.min())

    @cached_property
    def last_ns(self) -> int:
        return int(self.times_ns[-1] if self.is_ordered else self.times_ns.max())

    def where(self, chosen: NDArray[np.bool_]) -> "Simultaneous":
        """Some of them."""
        return Simultaneous(tuple(each.where(chosen) for each in self.readings))


@dataclass(frozen=True, eq=False)
class OnTicks:
    """The same on the clock's grid, each reading at the tick that it is nearest to."""

    together: Simultaneous
    ticks: NDArray[np.int64]

    @cached_property
    def first(self) -> int:
        return int(self.ticks[0] if self.together.is_ordered else self.ticks.min())

    @cached_property
    def last(self) -> int:
        return int(self.ticks[-1] if self.together.is_ordered else self.ticks.max())

    def where(self, chosen: NDArray[np.bool_]) -> "OnTicks":
        return OnTicks(self.together.where(chosen), self.ticks[chosen])


def increases(times_ns: Nanoseconds) -> bool:
    """Each later than the one before, which they mostly are."""
    return bool((times_ns[1:] > times_ns[:-1]).all())
