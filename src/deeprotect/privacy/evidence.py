"""What is known about an encoder besides the clip box, kept whole so that anyone can work it out again."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy.box import Box, Floats
from deeprotect.privacy.record import Record
from deeprotect.privacy.relaxed import relaxed_sensitivity
from deeprotect.privacy.sensitivity import Maximum, inflate, linear_l1, paper_l1

_FLOAT32 = 2.0**-24


@dataclass(frozen=True)
class Bound:
    """Σ_i |f_i − f'_i| / shape_i ≤ total for all neighbours; on the grid, slack_i steps more in coordinate i."""

    total: Fraction
    shape: tuple[Fraction, ...]
    slack: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Linear:
    """The encoder is Wx + b on [0,1]^d, evaluated in float32 or better; `weights` is (features, d)."""

    weights: Floats
    kind = "linear"
    neighbours = "any two windows"
    assumes = "the encoder is the affine map with these weights, evaluated in float32 or better"

    def sensitivity(self, shape: tuple[Fraction, ...]) -> Maximum:
        return linear_l1(self.weights / np.array([[float(part)] for part in shape]))

    def bound(self, box: Box, shape: tuple[Fraction, ...]) -> Bound:
        if self.weights.shape[0] != box.dim:
            raise PolicyError(f"{self.weights.shape[0]} rows of encoder weights for {box.dim} features")
        # Rounding to the grid moves each of two codes by half a step; float32 moves it by at most `error`.
        slack = tuple(1 + int(np.ceil(2 * error / float(step))) for error, step in self._errors(box))
        return Bound(Fraction(self.sensitivity(shape).value), shape, slack)

    def _errors(self, box: Box) -> list[tuple[float, Fraction]]:
        """|float32 result − Wx − b| ≤ (d + 4) u (|b| + Σ|w|) (Higham 2002, 3.1), where it falls inside the
        box; there |b| ≤ |box| + Σ|w|. Twice that leaves room for second-order terms."""
        sums = np.abs(self.weights).sum(axis=1)
        size = np.maximum(np.abs(box.low), np.abs(box.high))
        errors = 2 * (self.weights.shape[1] + 4) * _FLOAT32 * (size + 2 * sums)
        return list(zip(errors.tolist(), box.steps, strict=True))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "weights": self.weights.tolist()}


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The encoder is Lipschitz in L2; neighbours differ along `directions` (d, r), orthonormal."""

    directions: Floats
    lipschitz: float
    kind = "relaxed"
    neighbours = "windows that differ along the sensitive directions only"

    def __post_init__(self) -> None:
        if not 0 < self.lipschitz <= 1:
            raise PolicyError(
                f"the paper's mode 2 noise needs an encoder with Lipschitz constant at most 1, not "
                f"{self.lipschitz:.6g}; use orthonormal weights, or the subspace mechanism"
            )
        check_orthonormal(self.directions)

    @property
    def assumes(self) -> str:
        return f"the encoder's L2 Lipschitz constant is at most {self.lipschitz:.6g}, float32 within half a step"

    @cached_property
    def relaxed(self) -> Maximum:
        """ΔQ_relax."""
        return relaxed_sensitivity(self.directions)

    def sensitivity(self, shape: tuple[Fraction, ...]) -> Maximum:
        """‖Δf‖₁ ≤ √m‖Δf‖₂ ≤ √m L‖δ‖₂ ≤ √m L‖δ‖₁ ≤ √m L d ΔQ_relax. docs/claims.md#paper-mode-2"""
        paper = paper_l1(len(shape), len(self.directions), per_sample=self.relaxed.value)
        return Maximum(inflate(self.lipschitz * paper), exact=False, method=f"Lipschitz; {self.relaxed.method}")

    def bound(self, box: Box, shape: tuple[Fraction, ...]) -> Bound:
        if set(shape) != {Fraction(1)} or box.dim != len(shape):
            raise PolicyError("the paper's mode 2 adds the same noise to every feature")
        return Bound(Fraction(self.sensitivity(shape).value), shape, (2,) * box.dim)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "directions": self.directions.tolist(), "lipschitz": self.lipschitz}


Evidence = Linear | Relaxed


def check_orthonormal(directions: Floats) -> None:
    dim, rank = directions.shape
    if rank > dim or np.abs(directions.T @ directions - np.eye(rank)).max() > 1e-9:
        raise PolicyError("sensitive directions must be orthonormal columns; make them with relaxed.basis")


def read(record: Record | None) -> Evidence | None:
    """Evidence from a bundle."""
    if record is None:
        return None
    match record.text("kind"):
        case "linear":
            return Linear(record.matrix("weights"))
        case "relaxed":
            return Relaxed(record.matrix("directions"), record.number("lipschitz"))
        case kind:
            raise BundleError(f"{record.name}: kind '{kind}' is unknown; it may come from a newer version")
