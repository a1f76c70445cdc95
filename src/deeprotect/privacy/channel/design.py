"""Designing the channel: the code-to-output probabilities of least cost that keep the promised epsilons, in integers.

A linear programme, built row by row and solved by HiGHS. A named promise holds for every conditional in the confidence
sets at once: sup p·q over low ≤ p ≤ high, Σp = 1 is min over λ of low·q + (1 − Σlow) λ + Σ (high − low) (q − λ)^+ by
duality, so any λ gives a bound that is never too small; likewise for inf. docs/claims.md#channel-and-named-inferences
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deeprotect.errors import DeeprotectError, PolicyError
from deeprotect.privacy.channel.betting import UNIT, Floats
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.channel.promises import NamedPromise, Unpromised
from deeprotect.privacy.channel.ratios import WHOLE, Weights, ldp_ratio, log_up, named_ratio, worst
from deeprotect.privacy.events import Event

Places = NDArray[Any]  # of whole numbers

_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_NOTHING = (np.zeros(0), np.zeros(0, dtype=int), np.zeros(0, dtype=int))
_LARGE = 6000  # variables from which the interior-point method is the faster one


class LinearProgram:
    """Minimise Σ objective * Q over channels Q (code, output), all variables in [0, 1], all further rows ≤ 0."""

    def __init__(self, objective: Floats) -> None:
        self.objective = objective
        self._rows = self._variables = 0
        self._parts: list[tuple[Floats, Places, Places]] = []
        self.channel: NDArray[Any] = self.variables(objective.size).reshape(objective.shape)

    def variables(self, count: int) -> Places:
        """Places of new variables."""
        self._variables += count
        return np.arange(self._variables - count, self._variables)

    def add_le_zero(self, *terms: tuple[ArrayLike, ArrayLike]) -> None:
        """Rows Σ value * variable ≤ 0; each term gives values and places that broadcast to (row, entry)."""
        parts = [np.broadcast_arrays(np.asarray(values, dtype=np.float64), places) for values, places in terms]
        count = len(parts[0][0])
        for values, places in parts:
            flat = values.reshape(count, -1)
            rows = np.repeat(np.arange(self._rows, self._rows + count), flat.shape[1])
            self._parts.append((flat.ravel(), rows, places.ravel()))
        self._rows += count

    def _limits(self) -> Any:
        from scipy.sparse import coo_array  # slow to import, and releases do not need it

        values, rows, places = (np.concatenate(part) for part in zip(_NOTHING, *self._parts, strict=True))
        return coo_array((values, (rows, places)), shape=(self._rows, self._variables)).tocsr()

    def solve(self) -> Floats:
        """The best channel, to the solver's tolerance."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        codes = len(self.objective)
        sums = coo_array(
            (np.ones(self.channel.size), (np.repeat(np.arange(codes), self.channel.shape[1]), self.channel.ravel())),
            shape=(codes, self._variables),
        ).tocsr()
        objective = np.concatenate([self.objective.ravel(), np.zeros(self._variables - self.objective.size)])
        first = "highs-ipm" if self._variables > _LARGE else "highs-ds"
        for method, options in ((first, _TIGHT), ("highs-ds", _TIGHT), ("highs", {})):
            found = linprog(
                objective,
                A_ub=self._limits(),
                b_ub=np.zeros(self._rows),
                A_eq=sums,
                b_eq=np.ones(codes),
                bounds=(0.0, 1.0),
                method=method,
                options=options,
            )
            if found.status == 0:
                clean = np.maximum(found.x[self.channel], 0.0)
                return np.asarray(clean / clean.sum(axis=1, keepdims=True))
        raise DeeprotectError("the channel's linear programme was not solved; use fewer codes or a larger epsilon")


_VIOLATION = 1e-10


class Robust:
    """One set's promise; outputs are written into the programme only once they are found to bind.

    `group` numbers its λ. Sets that share one for each output keep the programme small and the promise whole; where
    each has its own, the programme is exact.
    """

    def __init__(self, promise: NamedPromise, *, shrink: float, outputs: int, group: int) -> None:
        self.low, self.high = (end / UNIT for end in promise.box)
        self.shrink, self.group = shrink, group
        self._active = np.zeros(outputs, dtype=bool)

    def add_violated(self, probabilities: Floats, *, above: float = _VIOLATION) -> bool:
        """Take up the outputs that tell two conditionals apart too well; whether there were any."""
        most = (worst(probabilities, self.low, self.high) * probabilities).sum(axis=0)
        least = (worst(-probabilities, self.low, self.high) * probabilities).sum(axis=0)
        violated = self.shrink * most - least > above
        self._active |= violated
        return bool(violated.any())

    def add_to(self, programme: LinearProgram, levels: "Levels") -> None:
        """Rows e^-ε sup ≤ inf for the outputs taken up."""
        outputs = np.flatnonzero(self._active)
        upper, lower = (self._bounds(programme, levels, outputs, sign=sign) for sign in (1.0, -1.0))
        if len(outputs):
            programme.add_le_zero((np.array([[self.shrink, -1.0]]), np.stack([upper, lower], axis=1)))

    def _bounds(self, programme: LinearProgram, levels: "Levels", outputs: Places, *, sign: float) -> Places:
        """Places of variables that bound sup (sign 1, from above) or inf (sign -1, from below) of these outputs."""
        places = programme.variables(len(outputs))
        level, parts = levels.of(self.group, sign)
        for place, output in zip(places, outputs, strict=True):
            programme.add_le_zero(
                (sign * self.low[None], programme.channel[None, :, output]),
                ((self.high - self.low)[None], parts[None, :, output]),
                ([[sign * (1.0 - self.low.sum()), -sign]], [[level[output], place]]),
            )
        return places


class Levels:
    """A programme's levels λ, for each group of sets that shares them."""

    def __init__(self, programme: LinearProgram) -> None:
        self._programme = programme
        self._made: dict[tuple[int, float], tuple[Places, Places]] = {}

    def of(self, group: int, sign: float) -> tuple[Places, Places]:
        """A level λ for each output, and (q − λ)^+ for sup or (λ − q)^+ for inf, for each code and output."""
        if (group, sign) not in self._made:
            self._made[group, sign] = self._make(sign)
        return self._made[group, sign]

    def _make(self, sign: float) -> tuple[Places, Places]:
        programme, channel = self._programme, self._programme.channel
        level = programme.variables(channel.shape[1])
        parts = programme.variables(channel.size).reshape(channel.shape)
        levels = np.broadcast_to(level, channel.shape)
        entries = np.stack([channel.ravel(), levels.ravel(), parts.ravel()], axis=1)
        programme.add_le_zero((np.array([[sign, -sign, -1.0]]), entries))
        return level, parts


# Beyond this the solver's tolerance is coarser than the constraint; the tighter ε = 18 costs at most K e^-18.
_MOST_EPSILON = 18.0
_TIE = 3e-8  # weight of what decides between equally cheap channels: distortion, and codes of prior 0
_ROUNDS = 60
_EXACT = 8000  # sets * code * output up to which each set has its own λ


@dataclass(frozen=True, eq=False)
class Design:
    """The best channel found; probabilities is (code, output) and keeps the constraints to the solver's tolerance.

    `rounding.make` turns it into integers that keep them exactly.
    """

    probabilities: Floats
    cost: Floats
    prior: Floats
    ldp_epsilon: float | None
    promises: tuple[NamedPromise, ...]
    confidence: float
    given: tuple[str, ...] = ()

    @property
    def expected_cost(self) -> float:
        return float(self.prior @ (self.probabilities * self.cost).sum(axis=1))

    @property
    def event(self) -> Event:
        """What a channel made of it promises."""
        if not self.promises:
            return Event("ldp", math.nan if self.ldp_epsilon is None else self.ldp_epsilon)
        return Event(
            "named",
            max(each.epsilon for each in self.promises),
            inferences=tuple(dict.fromkeys(each.inference for each in self.promises)),
            confidence=self.confidence,
            given=self.given,
        )


def design(
    cost: ArrayLike,
    prior: ArrayLike,
    *,
    ldp_epsilon: float | None = None,
    promises: Sequence[NamedPromise] = (),
    confidence: float = 0.95,
    given: Sequence[str] = (),
    distortion: ArrayLike | None = None,
) -> Design:
    """Minimise Σ_z prior_z Σ_j Q(j|z) cost[z, j] under LDP, the named `promises`, or both.

    `confidence` is that of all named promises together, `given` the inferences whose classes they name as given.
    `distortion` (code, output) decides between channels of equal
    cost. docs/claims.md#channel-and-ldp

    Examples:
        >>> design([[0, 1], [1, 0]], [0.5, 0.5], ldp_epsilon=1.0).probabilities.round(3)  # randomised response
        array([[0.731, 0.269],
               [0.269, 0.731]])
    """
    costs, priors = _checked(cost, prior)
    _check_promises(ldp_epsilon, promises, len(priors))
    objective = _objective(costs, priors, distortion)
    silent = _silent(ldp_epsilon, promises)
    probabilities = _constant(objective) if silent else _solve(objective, ldp_epsilon, promises)
    return Design(probabilities, costs, priors, ldp_epsilon, tuple(promises), confidence, tuple(given))


def _checked(cost: ArrayLike, prior: ArrayLike) -> tuple[Floats, Floats]:
    costs, priors = np.asarray(cost, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if costs.ndim != 2 or costs.size == 0 or priors.shape != costs.shape[:1]:
        raise PolicyError("the channel needs a cost for each code and output, and one prior for each code")
    if not (np.isfinite(costs).all() and np.isfinite(priors).all() and priors.min() >= 0 and priors.sum() > 0):
        raise PolicyError("costs must be finite and priors non-negative, not all zero")
    return costs, priors / priors.sum()


def _check_promises(ldp_epsilon: float | None, promises: Sequence[NamedPromise], codes: int) -> None:
    if ldp_epsilon is None and not promises:
        raise PolicyError("the channel promises nothing; state an epsilon for ldp or name a sensitive inference")
    if ldp_epsilon is not None and not ldp_epsilon >= 0:
        raise PolicyError(f"epsilon = {ldp_epsilon} must not be negative")
    if len({(each.inference, each.given) for each in promises}) != len(promises):
        raise PolicyError("a sensitive inference is calibrated twice; give each one epsilon and one set")
    for each in promises:
        if len(each.low) != codes:
            raise PolicyError(f"{each} has a set of {len(each.low)} codes; the channel has {codes}")


def _objective(cost: Floats, prior: Floats, distortion: ArrayLike | None) -> Floats:
    """Cost on the scale 0 .. 1, with a trace of distortion and of codes that the prior does not expect."""
    spread = float(np.ptp(cost)) or 1.0
    scaled = (cost - cost.min()) / spread
    everywhere = (1.0 - _TIE) * prior + _TIE / len(prior)
    if distortion is None:
        return np.asarray(everywhere[:, None] * scaled)
    extra = np.asarray(distortion, dtype=np.float64)
    if extra.shape != cost.shape or not np.isfinite(extra).all():
        raise PolicyError("the distortion must be finite, one number for each code and output")
    return np.asarray(everywhere[:, None] * (scaled + _TIE * extra / (np.abs(extra).max() or 1.0)))


def _silent(ldp_epsilon: float | None, promises: Sequence[NamedPromise]) -> bool:
    """ε = 0: all codes must be answered alike (intervals that are no single points allow it)."""
    return ldp_epsilon == 0 or any(each.epsilon == 0 for each in promises)


def _constant(objective: Floats) -> Floats:
    probabilities = np.zeros_like(objective)
    probabilities[:, objective.sum(axis=0).argmin()] = 1.0
    return probabilities


def _solve(objective: Floats, ldp_epsilon: float | None, promises: Sequence[NamedPromise]) -> Floats:
    """Solve, take up the outputs that still tell conditionals apart too well, repeat until there are none."""
    robust = _robust(promises, shape=objective.shape)
    for each in robust:
        each.add_violated(objective.max() - objective, above=-np.inf)
    for _ in range(_ROUNDS):
        programme = LinearProgram(objective)
        _write_ldp(programme, ldp_epsilon)
        levels = Levels(programme)
        for each in robust:
            each.add_to(programme, levels)
        probabilities = programme.solve()
        found = [each.add_violated(probabilities) for each in robust]
        if not any(found):
            break
    return probabilities


def _robust(promises: Sequence[NamedPromise], *, shape: tuple[int, ...]) -> list[Robust]:
    codes, outputs = shape
    exact = len(promises) * codes * outputs <= _EXACT
    return [
        Robust(each, shrink=_shrink(each.epsilon), outputs=outputs, group=place if exact else 0)
        for place, each in enumerate(promises)
    ]


def _write_ldp(programme: LinearProgram, epsilon: float | None) -> None:
    """m_j ≤ Q[z, j] and e^-ε Q[z, j] ≤ m_j, with one variable m_j for each output."""
    if epsilon is None:
        return
    channel = programme.channel
    least = np.broadcast_to(programme.variables(channel.shape[1]), channel.shape)
    pairs = np.stack([channel.ravel(), least.ravel()], axis=1)
    programme.add_le_zero((np.array([[-1.0, 1.0]]), pairs))
    programme.add_le_zero((np.array([[_shrink(epsilon), -1.0]]), pairs))


def _shrink(epsilon: float) -> float:
    return float(np.exp(-min(epsilon, _MOST_EPSILON)))


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
