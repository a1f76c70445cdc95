"""Designing the channel: the code-to-output probabilities of least cost that keep the promised epsilons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, vstack

from deeprotect.errors import DeeprotectError, PolicyError
from deeprotect.privacy.confidence import Floats, Secret, cells, worst

__all__ = ["Design", "Secret", "design"]

# Beyond this the solver's tolerance is coarser than the constraint; the tighter ε = 18 costs at most K e^-18.
_MOST_EPSILON = 18.0
_TIE = 3e-8  # weight of what decides between equally cheap channels: distortion, and codes of prior 0
_VIOLATION = 1e-10
_ROUNDS = 60
_PAIRS = 3
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Design:
    """The best channel found; probabilities is (code, output) and keeps the constraints to the solver's tolerance.

    `channel.make` turns it into integers that keep them exactly.
    """

    probabilities: Floats
    cost: Floats
    prior: Floats
    ldp_epsilon: float | None
    secrets: tuple[Secret, ...]
    confidence: float

    @property
    def expected_cost(self) -> float:
        return float(self.prior @ (self.probabilities * self.cost).sum(axis=1))


def design(
    cost: ArrayLike,
    prior: ArrayLike,
    *,
    ldp_epsilon: float | None = None,
    secrets: Sequence[Secret] = (),
    confidence: float = 0.95,
    distortion: ArrayLike | None = None,
) -> Design:
    """Minimise Σ_z prior_z Σ_j Q(j|z) cost[z, j] under LDP, the named promises of `secrets`, or both.

    `distortion` (code, output) decides between channels of equal cost. docs/claims.md#channel-ldp
    """
    costs, priors = _checked(cost, prior)
    _check_promises(ldp_epsilon, secrets, len(priors))
    linear = _objective(costs, priors, distortion)
    if len(priors) == 1 or _silent(ldp_epsilon, secrets):
        probabilities = _constant(linear)
    else:
        probabilities = _solve(linear, ldp_epsilon, secrets, confidence=confidence)
    return Design(probabilities, costs, priors, ldp_epsilon, tuple(secrets), confidence)


def _checked(cost: ArrayLike, prior: ArrayLike) -> tuple[Floats, Floats]:
    costs, priors = np.asarray(cost, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if costs.ndim != 2 or costs.size == 0 or priors.shape != costs.shape[:1]:
        raise PolicyError("the channel needs a cost for each code and output, and one prior for each code")
    if not (np.isfinite(costs).all() and np.isfinite(priors).all() and priors.min() >= 0 and priors.sum() > 0):
        raise PolicyError("costs must be finite and priors non-negative, not all zero")
    return costs, priors / priors.sum()


def _check_promises(ldp_epsilon: float | None, secrets: Sequence[Secret], codes: int) -> None:
    if ldp_epsilon is None and not secrets:
        raise PolicyError("the channel promises nothing; state an epsilon for ldp or name a sensitive inference")
    if ldp_epsilon is not None and not ldp_epsilon >= 0:
        raise PolicyError(f"epsilon = {ldp_epsilon} must not be negative")
    for secret in secrets:
        if secret.counts.shape[1] != codes:
            raise PolicyError(f"'{secret.inference}' counts {secret.counts.shape[1]} codes; the channel has {codes}")


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


def _silent(ldp_epsilon: float | None, secrets: Sequence[Secret]) -> bool:
    """ε = 0: all codes must be answered alike (also for cells that are not single points: their width allows it)."""
    return ldp_epsilon == 0 or any(secret.epsilon == 0 and len(secret.classes) > 1 for secret in secrets)


def _constant(linear: Floats) -> Floats:
    probabilities = np.zeros_like(linear)
    probabilities[:, linear.sum(axis=0).argmin()] = 1.0
    return probabilities


def _solve(linear: Floats, ldp_epsilon: float | None, secrets: Sequence[Secret], *, confidence: float) -> Floats:
    """Cutting planes: solve, look for the worst conditionals within the confidence sets, add them, repeat."""
    sets = [(secret, *cells(secret.counts, confidence=confidence)) for secret in secrets if len(secret.classes) > 1]
    rows = _ldp_rows(linear.shape, ldp_epsilon)
    guess = linear.max() - linear
    cuts = [_cuts(guess, *one, most=_PAIRS, least_violation=-np.inf) for one in sets]
    for _ in range(_ROUNDS):
        rows = vstack([rows, *cuts], format="csr")
        probabilities = _programme(linear, rows)
        cuts = [_cuts(probabilities, *one, most=_PAIRS, least_violation=_VIOLATION) for one in sets]
        if not any(cut.shape[0] for cut in cuts):
            break
    return probabilities


def _ldp_rows(shape: tuple[int, ...], epsilon: float | None) -> csr_array:
    """m_j ≤ Q[z, j] and e^-ε Q[z, j] ≤ m_j, with one variable m_j for each output after those of Q."""
    codes, outputs = shape
    size = codes * outputs
    if epsilon is None:
        return csr_array((0, size + outputs))
    each, output = np.arange(size), np.tile(np.arange(outputs), codes)
    shrink = np.exp(-min(epsilon, _MOST_EPSILON))
    values = np.concatenate([np.full(size, -1.0), np.ones(size), np.full(size, shrink), np.full(size, -1.0)])
    row = np.concatenate([each, each, size + each, size + each])
    column = np.concatenate([each, size + output, each, size + output])
    return coo_array((values, (row, column)), shape=(2 * size, size + outputs)).tocsr()


def _cuts(
    probabilities: Floats, secret: Secret, low: Floats, high: Floats, *, most: int, least_violation: float
) -> csr_array:
    """Rows e^-ε p·Q_j ≤ p'·Q_j for the most violated pairs of classes of each output, p and p' their worst."""
    codes, outputs = probabilities.shape
    shrink = np.exp(-min(secret.epsilon, _MOST_EPSILON))
    top, bottom = worst(probabilities, low, high), worst(-probabilities, low, high)
    sup = np.einsum("szj,zj->sj", top, probabilities)
    inf = np.einsum("szj,zj->sj", bottom, probabilities)
    excess = shrink * sup[:, None] - inf[None]
    excess[np.arange(len(low)), np.arange(len(low))] = -np.inf  # a class is not told apart from itself
    flat = excess.reshape(-1, outputs)
    chosen = np.argsort(-flat, axis=0, kind="stable")[:most]
    output = np.broadcast_to(np.arange(outputs), chosen.shape)
    keep = np.take_along_axis(flat, chosen, axis=0) > least_violation
    pairs, output = chosen[keep], output[keep]
    values = shrink * top[pairs // len(low), :, output] - bottom[pairs % len(low), :, output]
    column = np.arange(codes)[None] * outputs + output[:, None]
    row = np.broadcast_to(np.arange(len(pairs))[:, None], column.shape)
    shape = (len(pairs), codes * outputs + outputs)
    return coo_array((values.ravel(), (row.ravel(), column.ravel())), shape=shape).tocsr()


def _programme(linear: Floats, rows: csr_array) -> Floats:
    codes, outputs = linear.shape
    size = codes * outputs
    each = np.arange(size)
    sums = coo_array((np.ones(size), (each // outputs, each)), shape=(codes, size + outputs)).tocsr()
    objective = np.concatenate([linear.ravel(), np.zeros(outputs)])
    problem: dict[str, Any] = {"A_ub": rows, "b_ub": np.zeros(rows.shape[0]), "A_eq": sums, "b_eq": np.ones(codes)}
    for method, options in (("highs-ds", _TIGHT), ("highs-ipm", _TIGHT), ("highs", {})):
        found = linprog(objective, **problem, bounds=(0.0, 1.0), method=method, options=options)
        if found.status == 0:
            clean = np.maximum(found.x[:size].reshape(codes, outputs), 0.0)
            return np.asarray(clean / clean.sum(axis=1, keepdims=True))
    raise DeeprotectError("the channel's linear programme was not solved; use fewer codes or a larger epsilon")
