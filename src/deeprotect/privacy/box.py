"""The public clip box with its integer grid: it bounds a code, so that the claimed sensitivity is the real one."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deeprotect.errors import InputError, PolicyError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GRID_STEPS = 4096
_MOST_GRID_STEPS = 1 << 24


@dataclass(frozen=True)
class Box:
    """Coordinate i lies in [low_i, high_i], cut into `grid_steps` steps; public, never fitted on protected data."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    grid_steps: int = GRID_STEPS

    def __post_init__(self) -> None:
        if not self.low or len(self.low) != len(self.high):
            raise PolicyError("a clip box needs as many low as high ends, at least one")
        if not 1 <= self.grid_steps <= _MOST_GRID_STEPS:
            raise PolicyError(f"grid_steps = {self.grid_steps} must be between 1 and {_MOST_GRID_STEPS}")
        for low, high in zip(self.low, self.high, strict=True):
            if not (low < high and math.isfinite(high - low) and (high - low) / self.grid_steps > 1e-300):
                raise PolicyError(f"clip box [{low}, {high}] must be finite with low < high")

    @classmethod
    def unit(cls, dim: int, *, grid_steps: int = GRID_STEPS) -> "Box":
        """[0, 1] in every coordinate: scaled windows."""
        return cls((0.0,) * dim, (1.0,) * dim, grid_steps)

    @classmethod
    def fit(cls, public_codes: ArrayLike, *, trim: float = 0.0, grid_steps: int = GRID_STEPS) -> "Box":
        """Fit around training codes (n, k), which are public; `trim` is the share left out at each end."""
        low, high = np.quantile(np.asarray(public_codes, dtype=np.float64), [trim, 1.0 - trim], axis=0)
        # A constant coordinate carries nothing; it gets a thin interval instead of an empty one.
        thin = 1e-6 * np.maximum(1.0, np.abs(low))
        high = np.where(high - low < thin, low + thin, high)
        return cls(tuple(low.tolist()), tuple(high.tolist()), grid_steps)

    @property
    def dim(self) -> int:
        return len(self.low)

    @cached_property
    def widths(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(high) - Fraction(low) for low, high in zip(self.low, self.high, strict=True))

    @cached_property
    def steps(self) -> tuple[Fraction, ...]:
        """Grid steps in code units, exactly."""
        return tuple(width / self.grid_steps for width in self.widths)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return np.array(self.low), np.array([float(step) for step in self.steps])

    def to_grid(self, code: Floats) -> Integers:
        """Integers in 0 .. grid_steps for any input at all: NaN goes to the middle, infinities to the ends.

        Whatever rounding does here, two results differ by at most `grid_steps`: that is the whole proof.
        """
        if code.ndim != 2 or code.shape[1] != self.dim:
            raise InputError(f"codes of shape {code.shape} do not fit a mechanism of {self.dim} coordinates")
        low, step = self._ends
        with np.errstate(over="ignore", invalid="ignore"):
            position = np.rint((code.astype(np.float64) - low) / step)
        position = np.where(np.isnan(position), self.grid_steps // 2, position)
        return np.clip(position, 0, self.grid_steps).astype(np.int64)

    def from_grid(self, position: Integers) -> Floats:
        """Converts grid positions, inside the box or not, to code units."""
        low, step = self._ends
        return np.asarray(low + step * position)

    def to_json(self) -> dict[str, Any]:
        return {"low": list(self.low), "high": list(self.high), "grid_steps": self.grid_steps}
