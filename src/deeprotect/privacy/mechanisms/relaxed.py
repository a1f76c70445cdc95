"""Relaxed neighbours (paper, Definition 2): windows in the box that differ along the sensitive directions only.

The differences are v = Cα with ‖v‖_∞ ≤ 1, C an orthonormal basis (d, r) of the sensitive classifiers' span.
Maxima of norms over that polytope are convex maximisation: one linear programme per sign vector, each certified
from above by its dual. docs/claims.md#relaxed-sensitivity
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb, inf

import numpy as np
from numpy.typing import ArrayLike

from deeprotect.errors import PolicyError
from deeprotect.privacy.box import Floats

_CHUNK = 1 << 14


@dataclass(frozen=True)
class Maximum:
    """A supremum or a number above it: `exact` says which, up to an inflation of 1e-9."""

    value: float
    exact: bool
    method: str

    def __str__(self) -> str:
        return f"{self.value:.6g} ({'exact' if self.exact else 'upper bound'}: {self.method})"


def paper_l1(features: int, dim_x: int, *, per_sample: float = 1.0) -> float:
    """The paper's bound √dim(f)·dim(x)·ΔQ (Theorem 4 of its appendix): valid for orthonormal encoders, loose."""
    return float(np.sqrt(features) * dim_x * per_sample)


def sign_vectors(length: int) -> Iterator[Floats]:
    """All sign vectors up to a common sign, in chunks (vectors, length)."""
    total = 1 << (length - 1)
    for start in range(0, total, _CHUNK):
        codes = np.arange(start, min(start + _CHUNK, total))[:, None]
        yield np.where((codes >> np.arange(length)) & 1, -1.0, 1.0)


def inflate(value: float) -> float:
    """A little more than the value. Sums here have far fewer than 2^20 terms, whose float64 rounding stays
    below 2^20 · 2^-53 ≈ 1.2e-10 of the sum of magnitudes; 1e-9 covers it."""
    return value * (1.0 + 1e-9)


_MOST_PROGRAMMES = 512
_MOST_RAYS = 4096
_MOST_FREE = 10  # signs that a ray leaves open
_MOST_WORK = 1_600_000  # coefficients of all programmes, 1 to 5 s; what takes more is bounded without solving
_MOST_STEPS = 500  # of the solver, for one programme


def basis(weights: ArrayLike) -> Floats:
    """Orthonormal basis (d, r) of the span of linear classifiers, one per column of `weights` (d, classifiers)."""
    columns = np.asarray(weights, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or not np.isfinite(columns).all():
        raise PolicyError("sensitive directions must be a finite matrix of shape (inputs, classifiers)")
    norms = np.linalg.norm(columns, axis=0)
    if not norms.any():
        raise PolicyError("the sensitive classifiers are all zero; train them on windows with both labels present")
    # Every classifier counts alike, however small its weights; only dependent ones are dropped.
    left, singular, _ = np.linalg.svd(columns[:, norms > 0] / norms[norms > 0], full_matrices=False)
    return np.ascontiguousarray(left[:, singular > 1e-8 * singular[0]])


def relaxed_sensitivity(directions: Floats) -> Maximum:
    """`ΔQ_relax = max ‖Cα‖₁ / d` over `‖Cα‖_∞ ≤ 1`, with ΔQ = 1; for one direction c, `‖c‖₁ / (d ‖c‖_∞)`."""
    largest = largest_l1(directions, directions)
    # v has d entries of at most 1 each.
    return Maximum(min(largest.value / len(directions), 1.0), largest.exact, largest.method)


def largest_l1(matrix: Floats, directions: Floats) -> Maximum:
    """max ‖Mα‖₁ over ‖Cα‖_∞ ≤ 1, M of shape (p, r), C orthonormal of shape (d, r); exact or from above."""
    if directions.shape[1] == 1:
        value = float(np.abs(matrix).sum() / np.abs(directions).max())
        return Maximum(inflate(value), exact=True, method="one direction")
    signs = _sign_patterns(matrix)
    if signs is None or not _affordable(len(signs), directions):
        return _bound_from_above(matrix, directions)
    value = max(_supports(signs @ matrix, directions))
    if value == inf:
        return _bound_from_above(matrix, directions)
    return Maximum(inflate(value), exact=True, method=f"{len(signs)} linear programmes")


def _affordable(programmes: int, directions: Floats) -> bool:
    """The work, computed before anything is solved: the author of a bundle chose the number of directions."""
    return programmes <= _MOST_PROGRAMMES and programmes * directions.size <= _MOST_WORK


def _supports(gradients: Floats, directions: Floats) -> Iterator[float]:
    """Solves one programme for each gradient; stops at the first that fails, since its bound is infinite."""
    for gradient in gradients:
        support = _support(gradient, directions)
        yield support
        if support == inf:
            return


def _support(gradient: Floats, directions: Floats) -> float:
    """max gᵀα over ‖Cα‖_∞ ≤ 1, from above whatever the solver did; infinite where it gave up.

    Dual: min ‖y‖₁ with Cᵀy = g. For any y at all, gᵀα = yᵀCα + (g − Cᵀy)ᵀα ≤ ‖y‖₁ + ‖g − Cᵀy‖₂ √d,
    because ‖α‖₂ = ‖Cα‖₂ ≤ √d. So the solver's tolerances cannot make this too small.
    """
    from scipy.optimize import linprog  # slow to import, and releases do not need it

    dim = len(directions)
    equal = np.hstack([directions.T, -directions.T])
    limit = {"maxiter": _MOST_STEPS}
    solved = linprog(np.ones(2 * dim), A_eq=equal, b_eq=gradient, bounds=(0, None), method="highs", options=limit)
    if solved.x is None:
        return inf
    dual = solved.x[:dim] - solved.x[dim:]
    residual = float(np.linalg.norm(gradient - directions.T @ dual))
    return float(np.abs(dual).sum()) + residual * float(np.sqrt(dim))


def _sign_patterns(matrix: Floats) -> Floats | None:
    """Sign vectors that contain every sign pattern of Mα (more do no harm); None when there are too many."""
    rows = len(matrix)
    if 1 << (rows - 1) <= _MOST_PROGRAMMES:
        return np.concatenate(list(sign_vectors(rows)))
    rank = matrix.shape[1]
    if rank - 1 > _MOST_FREE or comb(rows, rank - 1) > _MOST_RAYS:  # a ray lies on rank - 1 hyperplanes at least
        return None
    patterns: set[tuple[int, ...]] = set()
    for signs in _ray_signs(matrix):
        free = np.flatnonzero(signs == 0)
        if len(free) > _MOST_FREE:
            return None
        patterns.update(_completions(signs, free))
        if len(patterns) > _MOST_PROGRAMMES:
            return None
    return np.array(sorted(patterns), dtype=np.float64)


def _ray_signs(matrix: Floats) -> Floats:
    """Signs of M on the extreme rays of the hyperplane arrangement {m_iα = 0}, zeros where a ray lies on one.

    Every cell of the arrangement has an extreme ray, which r − 1 independent hyperplanes determine.
    """
    rank = matrix.shape[1]
    length = np.linalg.norm(matrix, axis=1)
    subsets = np.array(list(combinations(range(len(matrix)), rank - 1)))
    rays = np.linalg.svd(matrix[subsets])[2][:, -1, :]
    values = rays @ matrix.T
    return np.where(np.abs(values) <= 1e-9 * length, 0.0, np.sign(values))


def _completions(signs: Floats, free: np.ndarray[tuple[int], np.dtype[np.intp]]) -> set[tuple[int, ...]]:
    complete = set()
    for choice in product((1, -1), repeat=len(free)):
        pattern = signs.astype(int)
        pattern[free] = choice
        complete.add(tuple((pattern * pattern[0]).tolist()))
    return complete


def _bound_from_above(matrix: Floats, directions: Floats) -> Maximum:
    """The smallest of three bounds that are always valid."""
    rows, rank = matrix.shape
    dim = len(directions)
    bounds = {
        # ‖Mα‖₁ ≤ √p ‖M‖₂ ‖α‖₂ and ‖α‖₂ ≤ √d
        "Euclidean norm": float(np.sqrt(rows * dim) * np.linalg.norm(matrix, 2)),
        # Mα = MCᵀv with v = Cα, no entry of which is above 1
        "sum of entries": float(np.abs(matrix @ directions.T).sum()),
    }
    if _affordable(1 << (rank - 1), directions):
        # ‖Mα‖₁ ≤ Σ_j |α_j| ‖M_:j‖₁
        weighted = np.concatenate(list(sign_vectors(rank))) * np.abs(matrix).sum(axis=0)
        bounds["column by column"] = max(_supports(weighted, directions))
    method = min(bounds, key=bounds.__getitem__)
    return Maximum(inflate(bounds[method]), exact=False, method=method)
