"""How far apart two codes can be: sensitivities that are never too small."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
