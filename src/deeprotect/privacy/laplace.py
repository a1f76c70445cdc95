"""Laplace noise on a clipped, gridded code: the baseline, the paper's two modes, and certified mode 1."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy import evidence as evidences
from deeprotect.privacy.box import CELLS, Box, Floats
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event
from deeprotect.privacy.evidence import Bound, Evidence, Linear, Relaxed
from deeprotect.privacy.record import Record
from deeprotect.privacy.sampling import Integers, discrete_laplace, mean_magnitude, require_drawable, round_up
from deeprotect.privacy.sensitivity import inflate, paper_l1

KIND = "grid-laplace"
_NAMES = ("baseline", "paper", "laplace")


@dataclass(frozen=True, eq=False)
class GridLaplace:
    """Clip to the box, round to its grid, add discrete Laplace noise of `scales` grid steps per coordinate.

    `shape` gives the noise's proportions between coordinates, which a bound from `evidence` is stated in.
    A mechanism whose re-derived epsilon exceeds the one it states cannot be made.
    """

    name: str
    event: Event
    box: Box
    scales: tuple[Fraction, ...]
    shape: tuple[Fraction, ...]
    evidence: Evidence | None = None

    def __post_init__(self) -> None:
        if len(self.scales) != self.box.dim or len(self.shape) != self.box.dim:
            raise PolicyError(f"{len(self.scales)} noise scales for {self.box.dim} coordinates")
        for scale in self.scales:
            require_drawable(scale)
        if min(self.shape) <= 0:
            raise PolicyError("the noise's proportions must be positive")
        if self.event.guarantee == "ldp" and isinstance(self.evidence, Relaxed):
            raise PolicyError("relaxed neighbours cannot support an ldp guarantee; state rldp")
        if self.real_epsilon > Fraction(self.event.epsilon):
            raise PolicyError(
                f"the noise gives epsilon {float(self.real_epsilon):.6g}, more than the stated "
                f"{self.event.epsilon:.6g}; use more noise or state the larger epsilon"
            )

    @property
    def dim(self) -> int:
        """Coordinates of a code."""
        return self.box.dim

    @cached_property
    def clip_epsilon(self) -> Fraction:
        """ε-LDP that the clip box alone gives: codes differ by at most `cells` in each coordinate, exactly."""
        return sum((Fraction(self.box.cells) / scale for scale in self.scales), Fraction(0))

    @cached_property
    def real_epsilon(self) -> Fraction:
        """The ε that holds, as an exact fraction: the smaller of the clip box's and the evidence's."""
        if self.evidence is None:
            return self.clip_epsilon
        bound = self.evidence.bound(self.box, self.shape)
        per_unit = max(
            part / (step * scale) for part, step, scale in zip(bound.shape, self.box.steps, self.scales, strict=True)
        )
        rounding = sum(
            (Fraction(steps) / scale for steps, scale in zip(bound.slack, self.scales, strict=True)), Fraction(0)
        )
        return min(self.clip_epsilon, bound.total * per_unit + rounding)

    @property
    def noise_scales(self) -> Floats:
        """λ_i in code units."""
        return np.array([float(s * step) for s, step in zip(self.scales, self.box.steps, strict=True)])

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        """Noisy codes (n, k); total in its input, so that success or failure says nothing about the data."""
        position = self.box.to_grid(np.asarray(code))
        return self.box.from_grid(position + self._noise(len(position), entropy))

    def _noise(self, count: int, entropy: Entropy) -> Integers:
        noise = np.empty((count, self.box.dim), dtype=np.int64)
        for scale in sorted(set(self.scales)):
            columns = [index for index, other in enumerate(self.scales) if other == scale]
            drawn = discrete_laplace(scale, count * len(columns), entropy=entropy)
            noise[:, columns] = drawn.reshape(count, len(columns))
        return noise

    def expected_error(self) -> float:
        """E‖noise‖₁ of one code, in code units."""
        steps = self.box.steps
        return sum(float(step) * mean_magnitude(scale) for step, scale in zip(steps, self.scales, strict=True))

    def certificate(self) -> dict[str, Any]:
        """The promise with everything it rests on, worked out from the mechanism's own numbers."""
        clip = float(sum(self.box.widths))
        facts: dict[str, Any] = {"sensitivity": clip, "exact": True, "method": "clip box", "assumes": []}
        by_evidence = self.evidence is not None and self.real_epsilon < self.clip_epsilon
        if self.evidence is not None and by_evidence:
            largest = self.evidence.sensitivity(self.shape)
            facts = {
                "sensitivity": largest.value,
                "exact": largest.exact,
                "method": largest.method,
                "assumes": [self.evidence.assumes],
            }
        return self.event.to_json() | {
            "mechanism": self.name,
            "neighbours": self.evidence.neighbours if self.evidence else "any two windows",
            "derived_epsilon": float(self.real_epsilon),
            "ldp_epsilon": float(self.clip_epsilon),
            "noise_scales": self.noise_scales.tolist(),
            **facts,
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "name": self.name,
            "event": self.event.to_json(),
            "box": self.box.to_json(),
            "scales": [_text(scale) for scale in self.scales],
            "shape": [_text(part) for part in self.shape],
            "evidence": None if self.evidence is None else self.evidence.to_json(),
        }

    @classmethod
    def read(cls, record: Record, event: Event) -> "GridLaplace":
        box, name = record.inner("box"), record.text("name")
        if box is None or name not in _NAMES:
            raise BundleError(f"{record.name}: a {KIND} mechanism needs a box and a name of: {', '.join(_NAMES)}")
        scales, shape = record.fractions("scales"), record.fractions("shape")
        return cls(name, event, Box.read(box), scales, shape, evidences.read(record.inner("evidence")))


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def baseline(dim: int, epsilon: float, *, cells: int = CELLS) -> GridLaplace:
    """Lap(d/ε) on each of d samples scaled to [0, 1]. docs/claims.md#baseline"""
    return _calibrated("baseline", Event("ldp", epsilon), Box.unit(dim, cells=cells))


def certified(
    box: Box, epsilon: float, *, importance: ArrayLike | None = None, linear: ArrayLike | None = None
) -> GridLaplace:
    """Lap(Δ₁/ε) with the smallest certified Δ₁: the clip box's, or the `linear` encoder's (features, d).

    `importance` (one positive weight per feature) spends ε unevenly: minimising Σ imp_i λ_i² subject to
    Σ w_i / λ_i = ε gives, by Lagrange, 2 imp_i λ_i = μ w_i / λ_i², so λ_i ∝ (w_i / imp_i)^{1/3}; the problem is
    convex in 1/λ, so this is its minimum. docs/claims.md#certified-mode-1
    """
    shape = (Fraction(1),) * box.dim if importance is None else _uneven(box, importance)
    evidence = None if linear is None else Linear(np.asarray(linear, dtype=np.float64))
    return _calibrated("laplace", Event("ldp", epsilon), box, shape=shape, evidence=evidence)


def paper_mode1(box: Box, epsilon: float, *, dim_x: int) -> GridLaplace:
    """The paper's λ = √m·d·ΔQ/ε, literally, with ΔQ = 1. docs/claims.md#paper-mode-1"""
    literal = Fraction(inflate(paper_l1(box.dim, dim_x)))
    if sum(box.widths) > literal:
        raise PolicyError(
            f"the features' clip box is {float(sum(box.widths)):.4g} wide in all, more than the paper's bound "
            f"{float(literal):.4g}; its noise would not be ε-LDP. Clip tighter or use mechanism = 'laplace'"
        )
    return _calibrated("paper", Event("ldp", epsilon), box, at_least=literal)


def paper_mode2(
    box: Box, epsilon: float, *, directions: Floats, lipschitz: float, inferences: tuple[str, ...] = ()
) -> GridLaplace:
    """The paper's λ_relax = √m·d·ΔQ_relax/ε, literally; neighbours differ along `directions` (relaxed.basis).

    Valid for encoders whose L2 Lipschitz constant is at most `lipschitz` ≤ 1. docs/claims.md#paper-mode-2
    """
    evidence = Relaxed(np.asarray(directions, dtype=np.float64), lipschitz)
    literal = inflate(paper_l1(box.dim, len(evidence.directions), per_sample=evidence.relaxed.value))
    event = Event("rldp", epsilon, inferences=inferences)
    return _calibrated("paper", event, box, evidence=evidence, at_least=Fraction(literal))


def _calibrated(
    name: str,
    event: Event,
    box: Box,
    *,
    shape: tuple[Fraction, ...] | None = None,
    evidence: Evidence | None = None,
    at_least: Fraction = Fraction(0),
) -> GridLaplace:
    """Noise λ = shape · Δ/ε with the smallest valid Δ, or Δ = `at_least` where the paper wants more."""
    shape = shape or (Fraction(1),) * box.dim
    reach = sum((width / part for width, part in zip(box.widths, shape, strict=True)), Fraction(0))
    if evidence is not None:
        reach = min(reach, _reach(evidence.bound(box, shape), box))
    unit = max(reach, at_least) / Fraction(event.epsilon)
    # Rounded up: the real epsilon is at most the stated one.
    scales = tuple(round_up(part * unit / step) for part, step in zip(shape, box.steps, strict=True))
    return GridLaplace(name, event, box, scales, shape, evidence)


def _reach(bound: Bound, box: Box) -> Fraction:
    """sup Σ |k_i − k'_i| step_i / shape_i on the grid."""
    terms = zip(bound.slack, box.steps, bound.shape, strict=True)
    return bound.total + sum((steps * step / part for steps, step, part in terms), Fraction(0))


def _uneven(box: Box, importance: ArrayLike) -> tuple[Fraction, ...]:
    weights = np.asarray(importance, dtype=np.float64)
    if weights.shape != (box.dim,) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise PolicyError(f"importance must be {box.dim} positive numbers, one per feature")
    parts = np.cbrt(np.array([float(width) for width in box.widths]) / weights)
    return tuple(round_up(Fraction(part)) for part in (parts / parts.max()).tolist())
