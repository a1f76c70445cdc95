"""Noise along the sensitive directions only, in the window itself: mode 2 with r noisy numbers instead of d."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from deeprotect.errors import BundleError, InputError, PolicyError
from deeprotect.privacy.box import Floats
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.mechanisms.laplace import NoiseOnNumbers
from deeprotect.privacy.mechanisms.relaxed import Maximum, check_orthonormal, largest_l1
from deeprotect.privacy.sampling import DiscreteLaplace, Integers, float_up, require_drawable, round_up

KIND = "subspace-laplace"
_STEP = Fraction(1, 4096)  # of the coordinates along the directions
_BLOCK = 1 << 16  # terms of products; they stay in the processor's cache
_RESIDUAL_STEP = 2.0**-16  # what a 16-bit sensor resolves of its own range


@dataclass(frozen=True, eq=False)
class Subspace(NoiseOnNumbers):
    """x̃ = (x − C Cᵀx) + C (Cᵀx + η) for windows x in [0,1]^d; `directions` is C, (d, r), orthonormal.

    Relaxed neighbours have the same residual and coordinates at most Δ₁ apart. docs/claims.md#subspace
    The residual is rounded to a public grid, because in floating point neighbours' residuals differ by about
    1e-16: that hides the difference except where it straddles a grid boundary, a mitigation and not a proof.
    """

    event: Event
    directions: Floats
    scale: Fraction
    name = "subspace"
    takes_windows = True
    scripts = None

    def __post_init__(self) -> None:
        check_orthonormal(self.directions)
        if self.event.guarantee != "rldp":
            raise PolicyError("subspace noise promises rldp; state guarantee = 'rldp'")
        require_drawable(self.scale)
        if self.real_epsilon > Fraction(self.event.epsilon):
            raise PolicyError(
                f"the noise gives more than the stated epsilon {self.event.epsilon:.6g}; use a larger scale"
            )

    @property
    def dim(self) -> int:
        """Coordinates of a code: the window's own values."""
        return len(self.directions)

    @cached_property
    def sensitivity(self) -> Maximum:
        """Δ₁ = max ‖α‖₁ over neighbours' differences Cα."""
        return _sensitivity(self.directions.tobytes(), self.directions.shape[1])

    @cached_property
    def real_epsilon(self) -> Fraction:
        return grid_sensitivity(self.sensitivity, self.directions.shape[1]) / self.scale

    @cached_property
    def _reachable(self) -> tuple[Integers, Integers]:
        """Grid positions that Cᵀx can take for x in [0,1]^d: public."""
        low = np.minimum(self.directions, 0.0).sum(axis=0) / float(_STEP)
        high = np.maximum(self.directions, 0.0).sum(axis=0) / float(_STEP)
        return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """In grid steps, a row for each window."""
        return DiscreteLaplace((self.scale,) * self.directions.shape[1])

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        """Noisy windows (n, d); total in its input: NaN counts as the middle of the range, infinities as its ends."""
        window = np.asarray(code, dtype=np.float64)
        if window.ndim != 2 or window.shape[1] != len(self.directions):
            raise InputError(f"windows of shape {window.shape} do not fit directions of {len(self.directions)} samples")
        window = np.clip(np.where(np.isnan(window), 0.5, window), 0.0, 1.0)
        along = by_rows(window, self.directions)
        residual = np.rint((window - by_rows(along, self.directions.T)) / _RESIDUAL_STEP) * _RESIDUAL_STEP
        position = np.clip(np.rint(along / float(_STEP)).astype(np.int64), *self._reachable)
        noisy = np.asarray((position + self.noise.draw(len(position), entropy=entropy)) * float(_STEP), np.float64)
        return np.asarray(residual + by_rows(noisy, self.directions.T), np.float64)

    def derive(self) -> Iterator[Step]:
        """Directions, and their sensitivity by linear programmes, none of it kept from before."""
        rank = self.directions.shape[1]
        off = float(np.abs(self.directions.T @ self.directions - np.eye(rank)).max())
        found = f"{rank}, orthonormal within {off:.2g}; that they are the inferences' is taken on trust"
        yield Step("directions", holds=off <= 1e-9, found=found)
        largest = largest_l1(np.eye(rank), self.directions)
        epsilon, stated = grid_sensitivity(largest, rank) / self.scale, self.event.epsilon
        found = f"Δ₁ = {largest}; noise of {float(self.scale):.6g} steps; ε = {float(epsilon):.9g}, stated {stated:g}"
        yield Step("ε from programmes", holds=epsilon <= Fraction(stated), found=found)

    @property
    def noise_scales(self) -> Floats:
        """λ of each noisy coordinate along the directions, in scaled samples."""
        return np.full(self.directions.shape[1], float(self.scale * _STEP))

    def certificate(self) -> dict[str, Any]:
        """The promise with everything it rests on, worked out from the mechanism's own numbers."""
        return self.event.certificate(
            mechanism=self.name,
            method=self.sensitivity.method,
            derived_epsilon=float_up(self.real_epsilon),
            ldp_epsilon=None,
            neighbours=f"{self.event.per}s that differ along the sensitive directions only",
            sensitivity=self.sensitivity.value,
            exact=self.sensitivity.exact,
            assumes=[*self.event.assumes, "equal residuals of neighbours round alike on a grid of 2^-16"],
            noise_scales=self.noise_scales.tolist(),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "name": self.name,
            "event": self.event.to_json(),
            "directions": self.directions.tolist(),
            "scale": [f"{self.scale.numerator}/{self.scale.denominator}"],
        }

    @classmethod
    def read(cls, record: JsonReader, event: Event) -> "Subspace":
        scale = record.fractions("scale")
        if len(scale) != 1:
            raise BundleError(f"{record.name}: 'scale' must be one fraction; restore the bundle or train again")
        return cls(event, record.matrix("directions"), scale[0])


def subspace(directions: Floats, epsilon: float, *, inferences: tuple[str, ...] = ()) -> Subspace:
    """Lap(Δ₁/ε) along `directions` (d, r) from relaxed.basis; encode and decode what it returns.

    Examples:
        >>> mechanism = subspace(np.array([[0.6], [0.8]]), 1.0, inferences=("person",))
        >>> print(mechanism.event)
        ε = 1 rldp per window for “person”
        >>> mechanism.certificate()["ldp_epsilon"] is None  # the rest of the window is released as it is
        True
    """
    directions = np.ascontiguousarray(directions, dtype=np.float64)
    rank = directions.shape[1]
    scale = round_up(grid_sensitivity(_sensitivity(directions.tobytes(), rank), rank) / Fraction(epsilon))
    return Subspace(Event("rldp", epsilon, inferences=inferences), directions, scale)


def by_rows(rows: Floats, matrix: Floats) -> Floats:
    """The product (n, k) @ (k, m) in which each row's result is a function of that row alone, bit for bit.

    Libraries for products add in an order that depends on how many rows there are and on a row's place among them.
    Here the upper half of the terms is added to the lower one until one is left, each sum an element by itself.
    """
    result = np.empty((len(rows), matrix.shape[1]))
    block = max(1, _BLOCK // matrix.size)
    for start in range(0, len(rows), block):
        terms = rows[start : start + block, :, None] * matrix
        while (count := terms.shape[1]) > 1:
            half = (count + 1) // 2
            terms[:, : count - half] += terms[:, half:]
            terms = terms[:, :half]
        result[start : start + block] = terms[:, 0]
    return result


@lru_cache(maxsize=16)
def _sensitivity(directions: bytes, rank: int) -> Maximum:
    """Kept for the next caller: a mechanism and its certificate ask the same at every ε."""
    return largest_l1(np.eye(rank), np.frombuffer(directions).reshape(-1, rank))


def grid_sensitivity(largest: Maximum, rank: int) -> Fraction:
    """Grid steps between neighbours: Δ₁, one step per coordinate for rounding, one for float arithmetic."""
    return Fraction(largest.value) / _STEP + 2 * rank
