"""Exact discrete Laplace noise in integer arithmetic (Canonne, Kamath, Steinke 2020), a whole array at a time.

No floating-point number takes part, so the drawn distribution is the stated one: docs/claims.md#the-sampler-is-exact
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import PolicyError
from deeprotect.privacy.entropy import Entropy, Words

Integers = NDArray[np.int64]

# |noise| is below numerator * (v + 1) with v geometric, P(v >= n) = exp(-n). With numerators up to 2^48 the
# 63 bits overflow only when v >= 2^15 - 1, that is with probability below exp(-32000).
_LARGEST = 1 << 48
_SIGNIFICANT_BITS = 24
_BLOCK = 1 << 16  # a block's arrays stay in the processor's cache


def discrete_laplace(scale: Fraction, count: int, *, entropy: Entropy) -> Integers:
    """Independent integers with P(k) proportional to exp(-|k| / scale)."""
    require_drawable(scale)
    noise = np.empty(count, dtype=np.int64)
    for start in range(0, count, _BLOCK):
        noise[start : start + _BLOCK] = _block(scale, min(_BLOCK, count - start), entropy)
    return noise


def require_drawable(scale: Fraction) -> None:
    """Refuse a scale that the sampler's integers cannot hold."""
    if scale <= 0 or max(scale.numerator, scale.denominator) > _LARGEST:
        raise PolicyError(
            f"noise of {scale.numerator.bit_length()}/{scale.denominator.bit_length()} bits cannot be drawn; "
            "use a larger epsilon, a coarser grid or round_up(scale)"
        )


def round_up(scale: Fraction) -> Fraction:
    """The next fraction of about 24 bits at or above the scale: never less noise, at most 2^-23 more."""
    magnitude = scale.numerator.bit_length() - scale.denominator.bit_length()
    shift = min(max(_SIGNIFICANT_BITS - magnitude, 0), 48)
    return Fraction(-((-scale.numerator << shift) // scale.denominator), 1 << shift)


def mean_magnitude(scale: Fraction) -> float:
    """E|k| of the discrete Laplace distribution: 2q / (1 - q^2) with q = exp(-1 / scale)."""
    return float(1.0 / np.sinh(1.0 / float(scale))) if scale > Fraction(1, 700) else 0.0


def _block(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    noise = np.empty(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        accepted, values = _attempt(scale, pending.size, entropy)
        noise[pending[accepted]] = values
        pending = np.delete(pending, accepted)
    return noise


def _attempt(scale: Fraction, count: int, entropy: Entropy) -> tuple[NDArray[np.intp], Integers]:
    """One round of the rejection loop for every pending draw: which are accepted, and their values."""
    remainder = _below(scale.numerator, count, entropy)
    kept = np.flatnonzero(_bernoulli_exp(remainder, scale.numerator, entropy=entropy))
    magnitude = remainder[kept] + scale.numerator * _geometric(kept.size, entropy)
    magnitude //= scale.denominator
    negative = (entropy.words(kept.size) & np.uint64(1)).astype(bool)
    valid = ~(negative & (magnitude == 0))  # without this, zero would count twice
    return kept[valid], np.where(negative, -magnitude, magnitude)[valid]


def _below(bound: int, count: int, entropy: Entropy) -> Integers:
    """Uniform integers in 0 .. bound - 1; words past the last whole multiple of the bound are drawn again."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    last = np.uint64((1 << 64) // bound * bound - 1)
    words = entropy.words(count)
    redraw = np.flatnonzero(words > last)
    if redraw.size:
        words = words.copy()
        while redraw.size:
            words[redraw] = entropy.words(redraw.size)
            redraw = redraw[words[redraw] > last]
    return _modulo(words, bound)


def _modulo(words: Words, bound: int) -> Integers:
    if bound & (bound - 1) == 0:
        return (words & np.uint64(bound - 1)).astype(np.int64)
    return (words % np.uint64(bound)).astype(np.int64)


def _bernoulli_exp(numerators: Integers, denominator: int, *, entropy: Entropy) -> NDArray[np.bool_]:
    """True with probability exp(-n / denominator), 0 <= n <= denominator.

    The first k at which Bernoulli(n / (denominator * k)) fails is odd with exactly that probability
    (von Neumann 1951). The two factors are drawn apart, so that denominator * k never overflows.
    """
    success = np.zeros(numerators.size, dtype=bool)
    active = np.arange(numerators.size)
    k = 1
    while active.size:
        going = np.flatnonzero(_below(denominator, active.size, entropy) < numerators[active])
        going = going[_below(k, going.size, entropy) == 0]
        success[np.delete(active, going)] = k % 2 == 1
        active = active[going]
        k += 1
    return success


def _geometric(count: int, entropy: Entropy) -> Integers:
    """How many Bernoulli(exp(-1)) succeed before the first failure."""
    successes = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    while active.size:
        active = active[_bernoulli_exp(np.ones(active.size, dtype=np.int64), 1, entropy=entropy)]
        successes[active] += 1
    return successes
