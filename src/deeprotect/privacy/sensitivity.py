"""How far apart two codes can be: certified L1 sensitivities, exact where affordable and never too small."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from deeprotect.errors import PolicyError
from deeprotect.privacy.box import Box, Floats

__all__ = ["Box", "Maximum", "inflate", "linear_l1", "paper_l1", "sign_vectors"]

_MOST_SIGNS = 20
_CHUNK = 1 << 14


@dataclass(frozen=True)
class Maximum:
    """A supremum or a number above it: `exact` says which, up to an inflation of 1e-9."""

    value: float
    exact: bool
    method: str

    def __str__(self) -> str:
        return f"{self.value:.6g} ({'exact' if self.exact else 'upper bound'}: {self.method})"


def linear_l1(weights: ArrayLike) -> Maximum:
    """sup ‖W(x − x')‖₁ over x, x' in [0,1]^d, W of shape (features, d). docs/claims.md#certified-mode-1

    x − x' fills [−1,1]^d and the norm is convex, so the supremum is at a corner v:
    max_v ‖Wv‖₁ = max_v max_s sᵀWv = max_s ‖Wᵀs‖₁ over sign vectors s. Enumerate the shorter side.
    """
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise PolicyError("encoder weights must be a finite matrix of shape (features, inputs)")
    short = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    if short.shape[0] > _MOST_SIGNS:
        return Maximum(inflate(float(np.abs(matrix).sum())), exact=False, method="sum of all |weights|")
    largest = max(float(np.abs(signs @ short).sum(axis=1).max()) for signs in sign_vectors(short.shape[0]))
    return Maximum(inflate(largest), exact=True, method="all sign vectors")


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
