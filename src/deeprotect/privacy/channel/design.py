"""Designing the channel: the code-to-output probabilities of least cost that are ε-LDP, in integers.

A linear programme, solved by HiGHS. Its dual prices bound every channel's error from below.
docs/claims.md#channel-and-ldp
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deeprotect.errors import DeeprotectError, PolicyError
from deeprotect.privacy.channel.betting import Floats
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.ratios import WHOLE, Weights, ldp_ratio, log_up
from deeprotect.privacy.events import Event

# Beyond this the solver's tolerance is coarser than the constraint; the tighter ε = 18 costs at most K e^-18.
_MOST_EPSILON = 18.0
_TIE = 3e-8  # weight of the tie-breakers between equally cheap channels: distortion, and codes of prior 0
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_LARGE = 6000  # number of variables from which the interior-point method is faster


@dataclass(frozen=True, eq=False)
class Design:
    """The best channel found; `probabilities` (code, output) satisfy the constraints to the solver's tolerance.

    `make` turns it into integers that satisfy the constraints exactly.
    """

    probabilities: Floats
    cost: Floats
    prior: Floats
    ldp_epsilon: float

    @property
    def expected_cost(self) -> float:
        return float(self.prior @ (self.probabilities * self.cost).sum(axis=1))


def design(cost: ArrayLike, prior: ArrayLike, *, ldp_epsilon: float, distortion: ArrayLike | None = None) -> Design:
    """Minimise Σ_z prior_z Σ_j Q(j|z) cost[z, j] under LDP.

    `distortion` (code, output) breaks ties between channels of equal cost.

    Examples:
        >>> design([[0, 1], [1, 0]], [0.5, 0.5], ldp_epsilon=1.0).probabilities.round(3)  # randomised response
        array([[0.731, 0.269],
               [0.269, 0.731]])
    """
    if not ldp_epsilon >= 0:
        raise PolicyError(f"epsilon = {ldp_epsilon} must not be negative")
    costs, priors = _checked(cost, prior)
    objective = _objective(costs, priors, distortion)
    probabilities = _constant(objective) if ldp_epsilon == 0 else _solve(objective, ldp_epsilon)[0]
    return Design(probabilities, costs, priors, ldp_epsilon)


def _checked(cost: ArrayLike, prior: ArrayLike) -> tuple[Floats, Floats]:
    costs, priors = np.asarray(cost, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if costs.ndim != 2 or costs.size == 0 or priors.shape != costs.shape[:1]:
        raise PolicyError("the channel needs a cost for each code and output, and one prior for each code")
    if not (np.isfinite(costs).all() and np.isfinite(priors).all() and priors.min() >= 0 and priors.sum() > 0):
        raise PolicyError("costs must be finite and priors non-negative, not all zero")
    return costs, priors / priors.sum()


def _objective(cost: Floats, prior: Floats, distortion: ArrayLike | None) -> Floats:
    """Scales the cost to 0 .. 1, and adds small weights for distortion and for codes of prior 0."""
    spread = float(np.ptp(cost)) or 1.0
    scaled = (cost - cost.min()) / spread
    everywhere = (1.0 - _TIE) * prior + _TIE / len(prior)
    if distortion is None:
        return np.asarray(everywhere[:, None] * scaled)
    extra = np.asarray(distortion, dtype=np.float64)
    if extra.shape != cost.shape or not np.isfinite(extra).all():
        raise PolicyError("the distortion must be finite, one number for each code and output")
    return np.asarray(everywhere[:, None] * (scaled + _TIE * extra / (np.abs(extra).max() or 1.0)))


def _constant(objective: Floats) -> Floats:
    """All codes answered alike."""
    probabilities = np.zeros_like(objective)
    probabilities[:, objective.sum(axis=0).argmin()] = 1.0
    return probabilities


_HIDES_NOTHING = 40.0  # the ε from which the limit of an error is 0 to the last digit


def least_error(epsilon: float, priors: ArrayLike, values: ArrayLike) -> float:
    """The least mean absolute error with which anyone can read a number from one ε-LDP release.

    It is Σ_i λ_i, for any λ that keeps Σ_i [a_ij]₊ ≥ e^ε Σ_i [−a_ij]₊ for each j, with a_ij = π_i |v_i − v_j| − λ_i.
    The best λ are the dual prices of the channel's linear programme, lowered until the condition holds.
    docs/claims.md#the-limit-of-a-number

    Examples:
        >>> round(least_error(1.0, [0.5, 0.5], [60.0, 80.0]), 3)  # randomised response errs in 27 of 100, by 20
        5.379
    """
    prior, numbers = np.asarray(priors, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if prior.ndim != 1 or prior.shape != numbers.shape or not np.isfinite(numbers).all():
        raise PolicyError("the limit of a number needs one finite value for each prior")
    if not epsilon >= 0:
        raise PolicyError(f"epsilon = {epsilon} must not be negative")
    costs, prior = _checked(np.abs(numbers[:, None] - numbers), prior)
    longest = float(costs.max())
    if longest == 0 or epsilon > _HIDES_NOTHING:
        return 0.0
    costs = prior[:, None] * costs / longest
    prices = _solve(costs, epsilon, most=None)[1]  # bounds on single probabilities would share the price
    slack = costs - prices[:, None]
    kept = (np.maximum(slack, 0) - np.exp(epsilon) * np.maximum(-slack, 0)).sum(axis=0)
    # Lowering all λ by δ raises each of these sums by at least δ for each value, and lowers Σ λ by just that.
    return longest * float(max(0.0, prices.sum() + min(0.0, kept.min())))


def _solve(objective: Floats, epsilon: float, *, most: float | None = 1.0) -> tuple[Floats, Floats]:
    """The best channel, to the solver's tolerance: m_j ≤ Q[z, j] and e^-ε Q[z, j] ≤ m_j, with one m_j per output.

    Also returns the dual price of each code's constraint that its probabilities add up to 1.
    """
    from scipy.optimize import linprog  # slow to import, and releases do not need it

    codes, outputs = objective.shape
    channel = np.arange(objective.size).reshape(objective.shape)
    least = np.broadcast_to(objective.size + np.arange(outputs), objective.shape)
    variables = objective.size + outputs
    pairs = np.stack([channel.ravel(), least.ravel()], axis=1)
    shrink = float(np.exp(-min(epsilon, _MOST_EPSILON)))
    limits = _rows(
        np.concatenate([pairs, pairs]), np.repeat([[-1.0, 1.0], [shrink, -1.0]], len(pairs), axis=0), variables
    )
    first = "highs-ipm" if variables > _LARGE else "highs-ds"
    for method, options in ((first, _TIGHT), ("highs-ds", _TIGHT), ("highs", {})):
        found = linprog(
            np.concatenate([objective.ravel(), np.zeros(outputs)]),
            A_ub=limits,
            b_ub=np.zeros(2 * len(pairs)),
            A_eq=_rows(channel, np.ones(channel.shape), variables),
            b_eq=np.ones(codes),
            bounds=(0.0, most),
            method=method,
            options=options,
        )
        if found.status == 0:
            clean = np.maximum(found.x[channel], 0.0)
            return np.asarray(clean / clean.sum(axis=1, keepdims=True)), np.asarray(found.eqlin.marginals)
    raise DeeprotectError("the channel's linear programme was not solved; use fewer codes or a larger epsilon")


def _rows(places: NDArray[Any], values: Floats, variables: int) -> Any:
    """Builds a sparse matrix from values and places, both (row, entry)."""
    from scipy.sparse import csr_array

    ends = np.arange(0, places.size + 1, places.shape[1])
    return csr_array((values.ravel(), places.ravel(), ends), shape=(len(places), variables))


_NEVER = 1e-9  # outputs that are less likely than this for every code are dropped
_LEAST_SHARE = 2.0**-54
_REFINEMENTS = 6


def make(
    plan: Design, *, variants: int = 1, codes: tuple[str, ...] = (), outputs: tuple[str, ...] = ()
) -> DiscreteChannel:
    """Rounds the plan to integers, mixed with just enough of the constant channel for ε to hold exactly."""
    event, prior = Event("ldp", plan.ldp_epsilon), tuple(plan.prior.tolist())
    return DiscreteChannel(event, integers(plan), prior, plan.cost, variants, codes, outputs)


def integers(plan: Design) -> Weights:
    """The plan's integers, mixed with just enough of the constant channel for ε to hold."""
    kept = np.where(plan.probabilities.max(axis=0) > _NEVER, plan.probabilities, 0.0)
    kept /= kept.sum(axis=1, keepdims=True)
    constant = kept.mean(axis=0)

    def mixed(share: float) -> Weights:
        return round_rows((1.0 - share) * kept + share * constant)

    return mixed(_least_share(lambda share: log_up(ldp_ratio(mixed(share))) <= plan.ldp_epsilon))


def round_rows(probabilities: Floats) -> Weights:
    """Rounds rows that sum to about 1 to integers that sum to 2^64; the remainder goes to each row's largest entry."""
    rows = []
    for row in probabilities.tolist():
        weights = [int(Fraction(value) * WHOLE) for value in row]
        weights[weights.index(max(weights))] += WHOLE - sum(weights)
        rows.append(tuple(weights))
    return tuple(rows)


def _least_share(enough: Callable[[float], bool]) -> float:
    """The smallest mixing share that suffices, to within a small step; 1 always does, for then all rows are equal."""
    if enough(0.0):
        return 0.0
    low, high = 0.0, _LEAST_SHARE
    while high < 1.0 and not enough(high):
        low, high = high, min(1.0, 4.0 * high)
    for _ in range(_REFINEMENTS if low else 0):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
