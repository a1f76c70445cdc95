"""What leaves beyond the useful label: one bound for every secret, derived from how often the coder misreads.

Nobody who sees T draws names any secret more often than b + E[1 − (1 − τ)^N]: b is how often the best guesser is right
who knows the true useful labels of all T draws and nothing else, N how many draws are misread, and τ how far apart two
codes are at most. docs/claims.md#what-leaves-beyond-the-useful-label
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.privacy.channel.betting import UNIT, Integers, least_end, upper_ends
from deeprotect.privacy.channel.ratios import WHOLE, Weights
from deeprotect.privacy.channel.scripts import ScriptResponse

CONFIDENCE = 0.95
"""Confidence of each upper end by itself."""
STEPS = 64
"""A recording's excess is stored rounded up to (k / 64)²: finest near 0, and no recording's exact value is kept."""
_VALUES = np.arange(STEPS + 1) ** 2 / STEPS**2
_HALF = 32
_FINE = 1 << 60


def apart(mechanism: Any) -> Fraction | None:
    """Returns τ exactly: the largest total variation distance between the outputs of two codes; None without codes.

    Two scripts can be told apart only if the script is kept, whichever slots they differ in.
    """
    if isinstance(mechanism, ScriptResponse):
        return Fraction(mechanism.keep, WHOLE)
    weights: Weights | None = getattr(mechanism, "weights", None)
    return None if weights is None else furthest_rows(weights)


def furthest_rows(weights: Weights) -> Fraction:
    """Returns the maximum over pairs of rows of Σ_j (a_j − b_j)⁺; two limbs keep the sums within machine integers."""
    rows = np.array(sorted({*weights}), dtype=object)
    high, low = ((part.astype(np.int64)) for part in (rows >> _HALF, rows & ((1 << _HALF) - 1)))
    most = 0
    for row in range(len(rows)):
        above, below = high[row] - high, low[row] - low
        more = (above > 0) | ((above == 0) & (below > 0))
        large, small = (np.where(more, part, 0).sum(axis=1).astype(object) for part in (above, below))
        most = max(most, *((large << _HALF) + small))
    return Fraction(most, WHOLE)


def excesses(tau: Fraction, most: int) -> Integers:
    """Returns 1 − (1 − τ)^N for N = 0 … `most`, in units of 2^-30, never too small."""
    alike = (_FINE * (tau.denominator - tau.numerator)) // tau.denominator
    left = [_FINE]
    for _ in range(most):
        left.append((left[-1] * alike) // _FINE)
    return np.array([-((each - _FINE) // (_FINE // UNIT)) for each in left], dtype=np.int64)


def misread_draws(misread: NDArray[np.bool_], draws: Integers, *, length: int) -> Integers:
    """Counts misread draws in each stretch of `length` neighbouring slots of one recording; the last one ends with it.

    A draw counts once, however many of its slots in the stretch are misread. A shorter recording is one stretch.
    """
    count = len(misread)
    starts = np.unique(np.append(np.arange(0, max(1, count - length + 1), length), max(0, count - length)))
    slots = starts[:, None] + np.arange(min(length, count))
    stretch = np.broadcast_to(np.arange(len(starts))[:, None], slots.shape)
    wrong = misread[slots]
    seen = np.unique(np.stack([stretch[wrong], draws[slots][wrong]]), axis=1)
    return np.bincount(seen[0], minlength=len(starts)).astype(np.int64)


def mean_excess(misread: NDArray[np.bool_], draws: Integers, *, length: int, tau: Fraction) -> Fraction:
    """Returns the mean of 1 − (1 − τ)^N over a recording's stretches, never too small."""
    counts = misread_draws(misread, draws, length=length)
    found = excesses(tau, int(counts.max()))[counts]
    return Fraction(int(found.sum()), len(found) * UNIT)


@cache
def needed(miss: float = 1 - CONFIDENCE) -> int:
    """The fewest recordings for which a bound is claimed: if none of their draws is misread, the end is below 1/4."""
    recordings = 1
    while least_end(recordings, miss=miss) >= UNIT // 4:
        recordings += 1
    return recordings


@dataclass(frozen=True)
class Excess:
    """A histogram of the mean of 1 − (1 − τ)^N over recordings that the coder did not learn from.

    `counts[k]` recordings lie in (((k − 1) / 64)², (k / 64)²], and count as its upper end.
    """

    counts: tuple[int, ...]

    @classmethod
    def of(cls, means: Sequence[Fraction]) -> Self:
        """From the means of recordings, each rounded up; if they are few, each counts as their common mean."""
        counts = [0] * (STEPS + 1)
        if len(means) < needed():
            means = [sum(means, Fraction(0)) / len(means)] * len(means)
        for mean in means:
            squares = math.ceil(mean * STEPS**2)
            counts[0 if squares == 0 else math.isqrt(squares - 1) + 1] += 1
        return cls(tuple(counts))

    @property
    def recordings(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> Fraction:
        """The estimate."""
        return Fraction(sum(count * place**2 for place, count in enumerate(self.counts)), STEPS**2 * self.recordings)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Student's (1908) 95 % interval of the estimate; None if there are too few recordings."""
        if self.recordings < needed():
            return None
        from scipy.special import stdtrit  # slow to import, and releases do not need it

        mean, count = float(self.mean), self.recordings
        variance = float(np.array(self.counts) @ (_VALUES - mean) ** 2) / (count - 1)
        half = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(variance / count)
        return max(0.0, mean - half), min(1.0, mean + half)

    @cached_property
    def end(self) -> Fraction | None:
        """The 95 % upper bound of the mean over all such recordings, however draws of a recording depend on each other.

        None if there are too few recordings.
        """
        if self.recordings < needed():
            return None
        times = np.array(self.counts, dtype=np.int64)
        shown = np.flatnonzero(times)
        return Fraction(int(upper_ends(_VALUES[shown, None], miss=1 - CONFIDENCE, times=times[shown])[0]), UNIT)


def at_most(blind: float, excess: Fraction | float) -> float:
    """Bounds the accuracy of any attacker; `blind` is the accuracy of guessing from the useful labels alone."""
    return min(1.0, blind + float(excess))
