"""Designing the channel: the code-to-output probabilities of least cost that keep the promised epsilons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.betting import Floats
from deeprotect.privacy.channel.linear_program import LinearProgram
from deeprotect.privacy.channel.promises import NamedPromise
from deeprotect.privacy.channel.robust import Levels, Robust
from deeprotect.privacy.events import Event

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
