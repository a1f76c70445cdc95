"""Designing the channel: the code-to-output probabilities of least cost that keep the promised epsilons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.calibration import Floats, SensitiveCounts, sets
from deeprotect.privacy.channel.linear_program import LinearProgram
from deeprotect.privacy.channel.robust import Levels, Robust
from deeprotect.privacy.events import Event

__all__ = ["Design", "SensitiveCounts", "design"]

# Beyond this the solver's tolerance is coarser than the constraint; the tighter ε = 18 costs at most K e^-18.
_MOST_EPSILON = 18.0
_TIE = 3e-8  # weight of what decides between equally cheap channels: distortion, and codes of prior 0
_ROUNDS = 60
_EXACT = 8000  # class * code * output, of all tables, up to which each class has its own λ
_LARGE = 1340  # code * output (36 codes and the reject option) above which one set stands for all classes of a table
_MANY = 100_000  # class * code * output above which it does so as well


@dataclass(frozen=True, eq=False)
class Design:
    """The best channel found; probabilities is (code, output) and keeps the constraints to the solver's tolerance.

    `rounding.make` turns it into integers that keep them exactly.
    """

    probabilities: Floats
    cost: Floats
    prior: Floats
    ldp_epsilon: float | None
    secrets: tuple[SensitiveCounts, ...]
    confidence: float
    given: tuple[str, ...] = ()

    @property
    def expected_cost(self) -> float:
        return float(self.prior @ (self.probabilities * self.cost).sum(axis=1))

    @property
    def event(self) -> Event:
        """What a channel made of it promises."""
        if not self.secrets:
            return Event("ldp", math.nan if self.ldp_epsilon is None else self.ldp_epsilon)
        return Event(
            "named",
            max(secret.epsilon for secret in self.secrets),
            inferences=tuple(dict.fromkeys(secret.inference for secret in self.secrets)),
            confidence=self.confidence,
            given=self.given,
        )


def design(
    cost: ArrayLike,
    prior: ArrayLike,
    *,
    ldp_epsilon: float | None = None,
    secrets: Sequence[SensitiveCounts] = (),
    confidence: float = 0.95,
    given: Sequence[str] = (),
    distortion: ArrayLike | None = None,
) -> Design:
    """Minimise Σ_z prior_z Σ_j Q(j|z) cost[z, j] under LDP, the named promises of `secrets`, or both.

    `confidence` is that of all named promises together, `given` the inferences whose classes `secrets` name as given.
    `distortion` (code, output) decides between channels of equal
    cost. docs/claims.md#channel-and-ldp

    Examples:
        >>> design([[0, 1], [1, 0]], [0.5, 0.5], ldp_epsilon=1.0).probabilities.round(3)  # randomised response
        array([[0.731, 0.269],
               [0.269, 0.731]])
    """
    costs, priors = _checked(cost, prior)
    _check_promises(ldp_epsilon, secrets, len(priors))
    objective = _objective(costs, priors, distortion)
    if _silent(ldp_epsilon, secrets):
        probabilities = _constant(objective)
    else:
        probabilities = _solve(objective, ldp_epsilon, secrets, confidence=confidence)
    return Design(probabilities, costs, priors, ldp_epsilon, tuple(secrets), confidence, tuple(given))


def _checked(cost: ArrayLike, prior: ArrayLike) -> tuple[Floats, Floats]:
    costs, priors = np.asarray(cost, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if costs.ndim != 2 or costs.size == 0 or priors.shape != costs.shape[:1]:
        raise PolicyError("the channel needs a cost for each code and output, and one prior for each code")
    if not (np.isfinite(costs).all() and np.isfinite(priors).all() and priors.min() >= 0 and priors.sum() > 0):
        raise PolicyError("costs must be finite and priors non-negative, not all zero")
    return costs, priors / priors.sum()


def _check_promises(ldp_epsilon: float | None, secrets: Sequence[SensitiveCounts], codes: int) -> None:
    if ldp_epsilon is None and not secrets:
        raise PolicyError("the channel promises nothing; state an epsilon for ldp or name a sensitive inference")
    if ldp_epsilon is not None and not ldp_epsilon >= 0:
        raise PolicyError(f"epsilon = {ldp_epsilon} must not be negative")
    if len({(secret.inference, secret.given) for secret in secrets}) != len(secrets):
        raise PolicyError("a sensitive inference is counted twice; give each one epsilon and one table of counts")
    for secret in secrets:
        if secret.counts.shape[1] != codes:
            raise PolicyError(f"{secret} counts {secret.counts.shape[1]} codes; the channel has {codes}")


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


def _silent(ldp_epsilon: float | None, secrets: Sequence[SensitiveCounts]) -> bool:
    """ε = 0: all codes must be answered alike (intervals that are no single points allow it)."""
    return ldp_epsilon == 0 or any(secret.epsilon == 0 and len(secret.classes) > 1 for secret in secrets)


def _constant(objective: Floats) -> Floats:
    probabilities = np.zeros_like(objective)
    probabilities[:, objective.sum(axis=0).argmin()] = 1.0
    return probabilities


def _solve(
    objective: Floats, ldp_epsilon: float | None, secrets: Sequence[SensitiveCounts], *, confidence: float
) -> Floats:
    """Solve, take up the classes that the channel still tells apart too well, repeat until there are none."""
    promises = _promises(secrets, shape=objective.shape, confidence=confidence)
    for promise in promises:
        promise.add_violated(objective.max() - objective, above=-np.inf)
    for _ in range(_ROUNDS):
        programme = LinearProgram(objective)
        _write_ldp(programme, ldp_epsilon)
        levels = Levels(programme)
        for promise in promises:
            promise.add_to(programme, levels)
        probabilities = programme.solve()
        found = [promise.add_violated(probabilities) for promise in promises]
        if not any(found):
            break
    return probabilities


def _promises(secrets: Sequence[SensitiveCounts], *, shape: tuple[int, ...], confidence: float) -> list[Robust]:
    """One for each table of counts with something to compare."""
    codes, outputs = shape
    ends = sets(secrets, confidence=confidence)
    classes = sum(len(low) for low, _ in ends)
    if codes * outputs > _LARGE or classes * codes * outputs > _MANY:
        # One set around all classes' sets: stricter, so the promise holds, and one round instead of dozens.
        ends = [(low.min(axis=0, keepdims=True), high.max(axis=0, keepdims=True)) for low, high in ends]
    first = np.cumsum([0, *(len(low) for low, _ in ends)])
    exact = int(first[-1]) * codes * outputs <= _EXACT
    return [
        Robust(
            low,
            high,
            shrink=_shrink(secret.epsilon),
            outputs=outputs,
            groups=start + np.arange(len(low)) if exact else np.zeros(len(low), dtype=int),
        )
        for secret, (low, high), start in zip(secrets, ends, first, strict=False)
        if len(secret.classes) > 1
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
