"""Rounding a design to integers out of 2^64, so that every epsilon holds exactly and hardly any utility is lost."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from deeprotect.privacy.channel.betting import Floats
from deeprotect.privacy.channel.design import Design
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.promises import Unpromised
from deeprotect.privacy.channel.ratios import WHOLE, Weights, ldp_ratio, log_up, named_ratio

_NEVER = 1e-9  # an output less likely than this for every code is left out
_LEAST_SHARE = 2.0**-54
_REFINEMENTS = 6


def integers(plan: Design) -> Weights:
    """The plan's probabilities with as little of the constant channel mixed in as makes every epsilon hold."""
    kept = np.where(plan.probabilities.max(axis=0) > _NEVER, plan.probabilities, 0.0)
    kept /= kept.sum(axis=1, keepdims=True)
    constant = kept.mean(axis=0)

    def mixed(share: float) -> Weights:
        return round_rows((1.0 - share) * kept + share * constant)

    def keeps(share: float) -> bool:
        weights = mixed(share)
        if plan.ldp_epsilon is not None and log_up(ldp_ratio(weights)) > plan.ldp_epsilon:
            return False
        return all(log_up(named_ratio(weights, *each.box)) <= each.epsilon for each in plan.promises)

    return mixed(_least_share(keeps))


def round_rows(probabilities: Floats) -> Weights:
    """Integers out of 2^64 for rows that sum to about 1; what rounding leaves over goes to the row's largest."""
    rows = []
    for row in probabilities.tolist():
        weights = [int(Fraction(value) * WHOLE) for value in row]
        weights[weights.index(max(weights))] += WHOLE - sum(weights)
        rows.append(tuple(weights))
    return tuple(rows)


def _least_share(enough: Callable[[float], bool]) -> float:
    """0, or a share that is enough and hardly more; 1 is always enough, because then all codes are answered alike."""
    if enough(0.0):
        return 0.0
    low, high = 0.0, _LEAST_SHARE
    while high < 1.0 and not enough(high):
        low, high = high, min(1.0, 4.0 * high)
    for _ in range(_REFINEMENTS if low else 0):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def make(
    plan: Design,
    *,
    variants: int = 1,
    codes: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    unpromised: Sequence[Unpromised] = (),
) -> DiscreteChannel:
    """The plan in integers, mixed with as little of the constant channel as makes every epsilon hold exactly."""
    return DiscreteChannel(
        plan.event,
        integers(plan),
        tuple(plan.prior.tolist()),
        plan.cost,
        variants,
        plan.promises,
        plan.ldp_epsilon,
        codes,
        outputs,
        tuple(unpromised),
    )
