"""Exact discrete Laplace noise in integer arithmetic (Canonne, Kamath, Steinke 2020), a whole array at a time.

No floating-point number takes part, so the drawn distribution is the stated one: docs/claims.md#the-sampler-is-exact
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import PolicyError
from deeprotect.privacy.entropy import Entropy

Integers = NDArray[np.int64]
Unsigned = np.dtype[np.unsignedinteger]
Draws = NDArray[np.unsignedinteger]
_KINDS: tuple[Unsigned, ...] = tuple(np.dtype(kind) for kind in (np.uint8, np.uint16, np.uint32, np.uint64))

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
    """The first `count` accepted attempts; how many are made at a time depends on earlier ones, their values do not."""
    noise = np.empty(count, dtype=np.int64)
    drawn = 0
    while drawn < count:
        left = count - drawn
        values = _attempt(scale, left + (left * 5 >> 3), entropy)[:left]  # 1 - exp(-1) of wide noise is accepted
        noise[drawn : drawn + values.size] = values
        drawn += values.size
    return noise


def _attempt(scale: Fraction, count: int, entropy: Entropy) -> Integers:
    """One round of the rejection loop, `count` times: the values that were accepted."""
    remainder = below(scale.numerator, count, entropy)
    remainder = remainder[_bernoulli_exp(remainder, scale.numerator, entropy=entropy)]
    magnitude = remainder + scale.numerator * _geometric(remainder.size, entropy)
    magnitude //= scale.denominator
    sign = 1 - 2 * below(2, magnitude.size, entropy)
    return (sign * magnitude)[(sign > 0) | (magnitude > 0)]  # zero with a minus would count it twice


def below(bound: int, count: int, entropy: Entropy) -> Integers:
    """Uniform integers in 0 .. bound - 1; draws past the last whole multiple of the bound are drawn again."""
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    kind = _narrowest(bound)
    last = kind.type((1 << 8 * kind.itemsize) // bound * bound - 1)
    drawn = _draw(kind, count, entropy)
    redraw = np.flatnonzero(drawn > last)
    while redraw.size:
        drawn[redraw] = _draw(kind, redraw.size, entropy)
        redraw = redraw[drawn[redraw] > last]
    return _modulo(drawn, bound).astype(np.int64)


def _narrowest(bound: int) -> Unsigned:
    """The smallest integers with which at most one draw in 16 is made again: random bits are dear."""
    return next(kind for kind in _KINDS if bound << 4 <= 1 << 8 * kind.itemsize)


def _draw(kind: Unsigned, count: int, entropy: Entropy) -> Draws:
    words = -(-count * kind.itemsize // 8)
    return entropy.words(words).view(kind)[:count].copy()


def _modulo(drawn: Draws, bound: int) -> Draws:
    if bound & (bound - 1) == 0:
        return drawn & drawn.dtype.type(bound - 1)
    divisor = drawn.dtype.type(bound)
    return drawn - drawn // divisor * divisor  # numpy divides by a constant several times faster than it takes %


def _bernoulli_exp(numerators: Integers, denominator: int, *, entropy: Entropy) -> NDArray[np.bool_]:
    """True with probability exp(-n / denominator), 0 <= n <= denominator.

    The first k at which Bernoulli(n / (denominator * k)) fails is odd with exactly that probability
    (von Neumann 1951). The two factors are drawn apart, so that denominator * k never overflows.
    """
    odd = np.ones(numerators.size, dtype=bool)
    active = np.arange(numerators.size)
    k = 1
    while active.size:
        active = active[below(k, active.size, entropy) == 0]
        active = active[below(denominator, active.size, entropy) < numerators[active]]
        k += 1
        odd[active] = k % 2 == 1  # as long as they do not fail later than at k
    return odd


def _geometric(count: int, entropy: Entropy) -> Integers:
    """How many Bernoulli(exp(-1)) succeed before the first failure."""
    successes = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    while active.size:
        active = active[_bernoulli_exp(np.ones(active.size, dtype=np.int64), 1, entropy=entropy)]
        successes[active] += 1
    return successes
