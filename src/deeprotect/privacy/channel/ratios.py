"""The exact ratios that a channel's epsilons are, from its integers out of 2^64 and the sets of its promises."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.privacy.channel.betting import UNIT, Integers
from deeprotect.privacy.sampling import float_up

Weights = tuple[tuple[int, ...], ...]

WHOLE = 1 << 64
_LIMB = 22  # 2^30 (a conditional) * 2^22 (a limb) * 2^11 (codes) = 2^63
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
    return _largest([(max(column), min(column)) for column in zip(*weights, strict=True)])


def named_ratio(weights: Weights, low: Integers, high: Integers) -> Fraction | None:
    """The largest P(output | p) / P(output | p') over all p, p' in the set low ≤ p ≤ high, Σp = UNIT."""
    rank, limbs = _machine_integers(weights)
    most, least = _sums(worst(rank, low, high), limbs), _sums(worst(-rank, low, high), limbs)
    return _largest(list(zip(most, least, strict=True)))


def worst(order: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """The p, shape (code, output), that puts most on codes with a high `order[z, j]`: greedy, and so optimal.

    In units of `low` and `high` (code,): fractions of 1, or integers out of UNIT.
    """
    total = 1 if low.dtype.kind == "f" else UNIT
    first = np.argsort(order, axis=0, kind="stable")[::-1]
    width = (high - low)[first]
    before = np.cumsum(width, axis=0) - width
    given = np.clip(total - low.sum() - before, 0, width)
    result = np.empty_like(given)
    np.put_along_axis(result, first, given, axis=0)
    return np.asarray(result + low[:, None])


@lru_cache(maxsize=1)
def _machine_integers(weights: Weights) -> tuple[Integers, Integers]:
    """The order of each output's weights as ranks, (code, output), and the weights in limbs, (limb, code, output)."""
    matrix = np.array(weights, dtype=object)
    rank = np.stack([np.unique(column, return_inverse=True)[1] for column in matrix.T], axis=1)
    limbs = [((matrix >> shift) & ((1 << _LIMB) - 1)).astype(np.int64) for shift in (2 * _LIMB, _LIMB, 0)]
    return rank, np.stack(limbs)


def _sums(conditional: Integers, limbs: Integers) -> NDArray[np.object_]:
    """Σ_z p[z, j] weight[z, j] exactly: products of limbs fit 63 bits, and Python's integers put them together."""
    total = np.zeros(conditional.shape[1], dtype=object)
    for limb in limbs:
        total = (total << _LIMB) + (conditional * limb).sum(axis=0).astype(object)
    return total


def _largest(pairs: list[tuple[int, int]]) -> Fraction | None:
    """The largest quotient; None for one by zero; an output that never comes counts as 1."""
    if any(least == 0 < most for most, least in pairs):
        return None
    return max((Fraction(most, least) for most, least in pairs if least), default=Fraction(1))
