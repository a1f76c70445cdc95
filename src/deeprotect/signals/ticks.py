"""The grid of the clock: which tick of UTC a time stamp belongs to, exactly, in integers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

Nanoseconds = NDArray[np.int64]
"""Nanoseconds of UTC since 1970; always integers, because floats do not hold them exactly."""
SECOND = 10**9
MOST_HZ = 100_000
_FINEST = 100  # denominator of a rate, so that products below stay inside 64 bits


@dataclass(frozen=True)
class Ticks:
    """Tick k is at k/rate seconds of UTC since 1970, plus the phase; rates are rounded to hundredths."""

    count: int  # so many ticks
    seconds: int  # in so many seconds
    offset: int = 0  # of UTC's ticks that come before tick 0

    @classmethod
    def of(cls, rate_hz: float, *, offset: int = 0) -> Self:
        rate = Fraction(repr(float(rate_hz))).limit_denominator(_FINEST)
        if not 0 < rate <= MOST_HZ:
            rate = min(max(rate, Fraction(1, _FINEST)), Fraction(MOST_HZ))
        return cls(rate.numerator, rate.denominator, offset)

    def nearest(self, times_ns: Nanoseconds) -> NDArray[np.int64]:
        """The tick nearest to each stamp; ties go to the later tick."""
        span = self.seconds * SECOND
        whole, rest = np.divmod(times_ns, span)
        return np.asarray(whole * self.count + (2 * rest * self.count + span) // (2 * span) - self.offset)

    def times(self, ticks: NDArray[np.int64]) -> Nanoseconds:
        """The times of ticks, rounded down to nanoseconds."""
        whole, rest = np.divmod(ticks + self.offset, self.count)
        return np.asarray(whole * (self.seconds * SECOND) + rest * (self.seconds * SECOND) // self.count)

    def ticks_in(self, seconds: float) -> int:
        """The number of whole ticks in a time span, at least one."""
        return max(1, round(seconds * self.count / self.seconds))
