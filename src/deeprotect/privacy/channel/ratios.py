"""The exact ratios from which a channel's ε follows, of integers out of 2^64."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from deeprotect.privacy.sampling import float_up

Weights = tuple[tuple[int, ...], ...]

WHOLE = 1 << 64
_UP = Context(prec=60, rounding=ROUND_CEILING)


def log_up(ratio: Fraction | None) -> float:
    """The logarithm as a float that is never too small; None stands for an infinite ratio."""
    if ratio is None:
        return math.inf
    if ratio <= 1:
        return 0.0
    # Decimal's ln is correctly rounded; one step up makes it an upper bound of the true logarithm.
    bound = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)).ln(_UP).next_plus(_UP)
    return float_up(Fraction(bound))


def ldp_ratio(weights: Weights) -> Fraction | None:
    """The largest P(output | code) / P(output | other code); None when a possible output is impossible elsewhere."""
    pairs = [(max(column), min(column)) for column in zip(*weights, strict=True)]
    if any(least == 0 < most for most, least in pairs):
        return None
    return max((Fraction(most, least) for most, least in pairs if least), default=Fraction(1))
