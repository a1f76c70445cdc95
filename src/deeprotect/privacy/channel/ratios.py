"""The exact ratios that a channel's epsilons are, from its integers out of 2^64 and its calibration counts."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deeprotect.privacy.channel.calibration import UNIT, Integers, SensitiveCounts, sets, worst

Weights = tuple[tuple[int, ...], ...]

WHOLE = 1 << 64
_LIMB = 22  # 2^30 (a conditional) * 2^22 (a limb) * 2^11 (codes) = 2^63
_AT_ONCE = 1 << 20  # of a class, a code and an output: how many are in memory at a time
_UP = Context(prec=60, rounding=ROUND_CEILING)


def log_up(ratio: Fraction | None) -> float:
    """The logarithm as a float that is never too small; None stands for an infinite ratio."""
    if ratio is None:
        return math.inf
    if ratio <= 1:
        return 0.0
    # Decimal's ln is correctly rounded; one step up makes it an upper bound of the true logarithm.
    bound = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)).ln(_UP).next_plus(_UP)
    nearest = float(bound)
    return nearest if Fraction(nearest) >= Fraction(bound) else math.nextafter(nearest, math.inf)


def ldp_ratio(weights: Weights) -> Fraction | None:
    """The largest P(output | code) / P(output | other code); None when a possible output is impossible elsewhere."""
    return _largest([(max(column), min(column)) for column in zip(*weights, strict=True)])


def integer_sets(secrets: Sequence[SensitiveCounts], *, confidence: float) -> list[tuple[Integers, Integers]]:
    """The confidence sets of all secrets, which hold together, as integers out of UNIT, exactly."""
    ends = sets(secrets, confidence=confidence)
    return [((low * UNIT).astype(np.int64), (high * UNIT).astype(np.int64)) for low, high in ends]


def named_ratio(weights: Weights, low: Integers, high: Integers) -> Fraction | None:
    """The largest P(output | class) / P(output | other class) over all conditionals in one of the `integer_sets`."""
    if len(low) == 1:
        return Fraction(1)
    rank, limbs = _machine_integers(weights)
    step = max(1, _AT_ONCE // low.size)
    parts = [slice(start, start + step) for start in range(0, len(weights[0]), step)]
    return _largest(
        [pair for part in parts for pair in _extreme_pairs(rank[:, part], limbs[..., part], low=low, high=high)]
    )


@lru_cache(maxsize=1)
def _machine_integers(weights: Weights) -> tuple[Integers, Integers]:
    """The order of each output's weights as ranks, (code, output), and the weights in limbs, (limb, code, output)."""
    matrix = np.array(weights, dtype=object)
    rank = np.stack([np.unique(column, return_inverse=True)[1] for column in matrix.T], axis=1)
    limbs = [((matrix >> shift) & ((1 << _LIMB) - 1)).astype(np.int64) for shift in (2 * _LIMB, _LIMB, 0)]
    return rank, np.stack(limbs)


def _extreme_pairs(rank: Integers, limbs: Integers, *, low: Integers, high: Integers) -> list[tuple[int, int]]:
    """Of each output, a column: the pairs among which its largest ratio is."""
    most, least = _sums(worst(rank, low, high), limbs), _sums(worst(-rank, low, high), limbs)
    return [pair for output in range(rank.shape[1]) for pair in _pairs(most[:, output], least[:, output])]


def _sums(conditional: Integers, limbs: Integers) -> NDArray[np.object_]:
    """Σ_z p[s, z, j] weight[z, j] exactly: products of limbs fit 63 bits, and Python's integers put them together."""
    total = np.zeros((conditional.shape[0], conditional.shape[2]), dtype=object)
    for limb in limbs:
        total = (total << _LIMB) + np.einsum("szj,zj->sj", conditional, limb).astype(object)
    return total


def _pairs(most: NDArray[np.object_], least: NDArray[np.object_]) -> list[tuple[int, int]]:
    """The pairs of different classes among which the largest ratio is: a class is not told apart from itself."""
    tops, bottoms = np.argsort(-most)[:2], np.argsort(least)[:2]
    return [(most[a], least[b]) for a in tops for b in bottoms if a != b]


def _largest(pairs: list[tuple[int, int]]) -> Fraction | None:
    """The largest quotient; None for one by zero; an output that never comes counts as 1."""
    if any(least == 0 < most for most, least in pairs):
        return None
    return max((Fraction(most, least) for most, least in pairs if least), default=Fraction(1))
