"""Exact discrete Laplace noise, bit by bit: every value takes the same words and the same steps.

The drawn distribution is the stated one: docs/claims.md#the-sampler-is-exact
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, inf, nextafter

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import PolicyError
from deeprotect.privacy.entropy import Entropy, Words

Integers = NDArray[np.int64]
Unsigned = np.dtype[np.unsignedinteger]
Draws = NDArray[np.unsignedinteger]
_KINDS: tuple[Unsigned, ...] = tuple(np.dtype(kind) for kind in (np.uint8, np.uint16, np.uint32, np.uint64))

_LARGEST = 1 << 48
_REACH = 1 << 10  # noise beyond 1024 scales has probability exp(-1024) and is never drawn; 58 bits hold the rest
_SIGNIFICANT_BITS = 24
_BLOCK = 1 << 16  # words; a block's arrays stay in the processor's cache


@dataclass(frozen=True)
class DiscreteLaplace:
    """Independent integers with P(k) proportional to exp(-|k| / scale), one of each scale in a row.

    The bits of a geometric number are independent, bit i is 1 with probability 1 / (1 + exp(2^i / scale)). With the
    probability of bit 0 the number x becomes -1 - x.
    """

    scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        for scale in self._kinds:
            require_drawable(scale)

    def draw(self, count: int, *, entropy: Entropy) -> Integers:
        """Noise (count, scales). Each value takes its own words, in order, always the same number of them."""
        columns, noise = len(self.scales), np.empty(count * len(self.scales), dtype=np.int64)
        block = max(1, _BLOCK // self._thresholds.shape[1])
        for start in range(0, noise.size, block):
            places = np.arange(start, min(start + block, noise.size)) % columns
            noise[start : start + block] = self._block(self._kind_of[places], entropy)
        return noise.reshape(count, columns)

    @cached_property
    def _kinds(self) -> tuple[Fraction, ...]:
        """Each scale once."""
        return tuple(dict.fromkeys(self.scales))

    @cached_property
    def _kind_of(self) -> Integers:
        numbers = {scale: number for number, scale in enumerate(self._kinds)}
        return np.array([numbers[scale] for scale in self.scales])

    @cached_property
    def _thresholds(self) -> Words:
        """(kind, bit), the sign first: a word below it makes the bit 1, a word above it 0."""
        bits = (ceil(_REACH * max(self._kinds)) - 1).bit_length()
        rows = [[_digit(_exponent(scale, bit), 1) for bit in range(1 + bits)] for scale in self._kinds]
        return np.array(rows, dtype=np.uint64)

    def _block(self, kinds: Integers, entropy: Entropy) -> Integers:
        thresholds = self._thresholds[kinds]
        words = entropy.words(thresholds.size).reshape(thresholds.shape)
        ones = words < thresholds
        for value, bit in np.argwhere(words == thresholds).tolist():  # fewer than one of 2^58 values
            ones[value, bit] = _settled(_exponent(self._kinds[kinds[value]], bit), entropy)
        size = ones[:, 1:] @ (1 << np.arange(ones.shape[1] - 1))
        return np.where(ones[:, 0], ~size, size)  # ~x = -1 - x


def _exponent(scale: Fraction, bit: int) -> Fraction:
    """The probability of the sign first, which is that of the lowest bit, then of each bit."""
    return (1 << max(bit - 1, 0)) / scale


def _settled(exponent: Fraction, entropy: Entropy) -> bool:
    """Decides a bit whose first word equals the threshold, by the next words and digits of its probability."""
    place = 2
    while (word := int(entropy.words(1)[0])) == (digit := _digit(exponent, place)):
        place += 1
    return word < digit


def _digit(exponent: Fraction, place: int) -> int:
    """The exact digit of 1 / (1 + exp(exponent)), to the base 2^64, at this place after the point."""
    if exponent >= 64 * place:
        return 0
    precision = 20 * place + 32
    while True:
        low, high = _enclosed(exponent, 1 << 64 * place, precision=precision)
        if low == high:
            return low % (1 << 64)
        precision += 20  # ends, for exp of a fraction is transcendental


def _enclosed(exponent: Fraction, whole: int, *, precision: int) -> tuple[int, int]:
    """Integers between which floor(whole / (1 + exp(exponent))) lies.

    Each of four steps is rounded correctly, to half a unit of the last decimal. With x the exponent that is off by
    less than whole (x + 3) exp(-x) / 10^(precision - 1) < 10^-30, for whole = 2^(64 n) < 10^(20 n).
    """
    context = Context(prec=precision, rounding=ROUND_HALF_EVEN, Emin=-99_999, Emax=99_999, traps=[])
    odds = context.exp(context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator)))
    value = context.divide(Decimal(whole), context.add(Decimal(1), odds))
    slack = Decimal("1e-30")
    return floor(context.subtract(value, slack)), floor(context.add(value, slack))


def require_drawable(scale: Fraction) -> None:
    """Refuse a scale that the sampler's integers cannot hold."""
    if scale <= 0 or max(scale.numerator, scale.denominator) > _LARGEST:
        raise PolicyError(
            f"noise of {scale.numerator.bit_length()}/{scale.denominator.bit_length()} bits cannot be drawn; "
            "use a larger epsilon, a coarser grid or round_up(scale)"
        )


def round_up(scale: Fraction) -> Fraction:
    """Rounds a scale up to a fraction of about 24 bits: never less noise, at most 2^-23 more."""
    magnitude = scale.numerator.bit_length() - scale.denominator.bit_length()
    shift = min(max(_SIGNIFICANT_BITS - magnitude, 0), 48)
    return Fraction(-((-scale.numerator << shift) // scale.denominator), 1 << shift)


def float_up(value: Fraction) -> float:
    """Rounds up to a float: a certificate never states less than what holds."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)


def below(bound: int, count: int, entropy: Entropy) -> Integers:
    """Uniform integers in 0 .. bound - 1, by rejection: draws past the last multiple of the bound are repeated."""
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
    """The smallest integers for which at most one draw in 16 is repeated: random bits are expensive."""
    return next(kind for kind in _KINDS if bound << 4 <= 1 << 8 * kind.itemsize)


def _draw(kind: Unsigned, count: int, entropy: Entropy) -> Draws:
    words = -(-count * kind.itemsize // 8)
    return entropy.words(words).view(kind)[:count].copy()


def _modulo(drawn: Draws, bound: int) -> Draws:
    if bound & (bound - 1) == 0:
        return drawn & drawn.dtype.type(bound - 1)
    divisor = drawn.dtype.type(bound)
    return drawn - drawn // divisor * divisor  # numpy divides by a constant several times faster than it computes %
