"""Laplace noise on a clipped, gridded code: the baseline, the paper's two modes, and certified mode 1."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy.box import GRID_STEPS, Box, Floats
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.mechanisms.relaxed import inflate, paper_l1, relaxed_sensitivity
from deeprotect.privacy.sampling import DiscreteLaplace, Integers, float_up, require_drawable, round_up
from deeprotect.privacy.size_limits import MOST_COORDINATES, MOST_SCALES

KIND = "grid-laplace"
_NAMES = ("baseline", "paper", "laplace")


class NoiseOnNumbers:
    """Mechanisms that add noise to numbers: they have no table of public outputs, and all windows of an episode show
    the same draw."""

    public_outputs = None
    dim: Any
    privatise: Any

    def output_of(self, _: Floats) -> None:
        return None

    def placeholders(self, count: int, *, entropy: Entropy) -> Floats:
        """Noisy codes (count, k) made without a window: noise around the middle of the range."""
        noisy_code: Floats = self.privatise(np.full((count, self.dim), np.nan), entropy=entropy)
        return noisy_code

    def repeat(self, noisy_code: Floats, counts: Integers, *, entropy: Entropy) -> Floats:
        """Repeats the episode's one draw for each of its windows."""
        del entropy
        return np.repeat(noisy_code, counts, axis=0)


@dataclass(frozen=True, eq=False)
class GridLaplace(NoiseOnNumbers):
    """Clip to the box, round to its grid, add discrete Laplace noise of `scales` grid steps per coordinate.

    A mechanism whose derived ε exceeds the stated one cannot be constructed. ε-LDP implies every weaker promise at the
    same ε, so the clip box is all that any promise depends on.
    """

    name: str
    event: Event
    box: Box
    scales: tuple[Fraction, ...]
    scripts = None

    def __post_init__(self) -> None:
        if len(self.scales) != self.box.dim:
            raise PolicyError(f"{len(self.scales)} noise scales for {self.box.dim} coordinates")
        if len(self.scales) > MOST_COORDINATES or len(set(self.scales)) > MOST_SCALES:
            raise PolicyError(f"noise on more than {MOST_COORDINATES} coordinates, or of more than {MOST_SCALES} sizes")
        for scale in set(self.scales):
            require_drawable(scale)
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
    def real_epsilon(self) -> Fraction:
        """The exact ε-LDP of the noise: codes differ by at most `grid_steps` in each coordinate."""
        return _spent(self.box, self.scales)

    def derive(self) -> Iterator[Step]:
        """Σ steps/noise over the clip box's own integers."""
        stated, box = self.event.epsilon, self.box
        epsilon = _spent(box, self.scales)
        least, most = float(min(self.scales)), float(max(self.scales))
        noise = f"{least:.6g}" if least == most else f"{least:.6g} to {most:.6g}"
        found = (
            f"{box.dim} coordinates of {box.grid_steps} whole steps, widths sum to {float(sum(box.widths)):.6g}; noise "
            f"of {noise} steps; Σ steps/noise = {float(epsilon):.9g}, stated {stated:g}"
        )
        yield Step("ε from clip box", holds=epsilon <= Fraction(stated), found=found)

    @property
    def noise_scales(self) -> Floats:
        """λ_i in code units."""
        return np.array([float(s * step) for s, step in zip(self.scales, self.box.steps, strict=True)])

    @cached_property
    def noise(self) -> DiscreteLaplace:
        """Noise in grid steps, a row for each code."""
        return DiscreteLaplace(self.scales)

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        """Noisy codes (n, k); total in its input, so that success or failure says nothing about the data."""
        position = self.box.to_grid(np.asarray(code))
        return self.box.from_grid(position + self.noise.draw(len(position), entropy=entropy))

    def certificate(self) -> dict[str, Any]:
        """The certificate, derived from the mechanism's own numbers."""
        return self.event.certificate(
            mechanism=self.name,
            method="clip box",
            derived_epsilon=float_up(self.real_epsilon),
            ldp_epsilon=float_up(self.real_epsilon),
            sensitivity=float(sum(self.box.widths)),
            noise_scales=self.noise_scales.tolist(),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "name": self.name,
            "event": self.event.to_json(),
            "box": self.box.to_json(),
            "scales": [_text(scale) for scale in self.scales],
        }

    @classmethod
    def read(cls, record: JsonReader, event: Event) -> "GridLaplace":
        box, name = record.inner("box"), record.text("name")
        if box is None or name not in _NAMES:
            raise BundleError(f"{record.name}: a {KIND} mechanism needs a box and a name of: {', '.join(_NAMES)}")
        return cls(name, event, box.build(Box), record.fractions("scales"))


def _spent(box: Box, scales: Sequence[Fraction]) -> Fraction:
    """Adds Σ steps/noise exactly: equal scales together, and in pairs of sums, which keeps denominators short."""
    parts = [Fraction(box.grid_steps * count) / scale for scale, count in Counter(scales).items()]
    while len(parts) > 1:
        parts = [sum(parts[place : place + 2], Fraction(0)) for place in range(0, len(parts), 2)]
    return parts[0]


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def baseline(dim: int, epsilon: float, *, grid_steps: int = GRID_STEPS) -> GridLaplace:
    """Lap(d/ε) on each of d samples scaled to [0, 1]. docs/claims.md#baseline

    Examples:
        >>> print(baseline(60, 5.0).noise_scales[0].round(3))
        12.0
    """
    return _calibrated("baseline", Event("ldp", epsilon), Box.unit(dim, grid_steps=grid_steps))


def certified(box: Box, epsilon: float) -> GridLaplace:
    """Lap(Δ₁/ε) with Δ₁ the clip box's widths in all. docs/claims.md#certified-mode-1

    Examples:
        >>> from deeprotect.privacy import SystemEntropy
        >>> mechanism = certified(Box(low=(0.0, -1.0), high=(1.0, 1.0)), 5.0)
        >>> mechanism.noise_scales.round(3)  # widths 1 + 2, divided by 5
        array([0.6, 0.6])
        >>> mechanism.privatise(np.array([[0.2, 0.1]]), entropy=SystemEntropy()).shape
        (1, 2)
    """
    return _calibrated("laplace", Event("ldp", epsilon), box)


def paper_mode1(box: Box, epsilon: float, *, dim_x: int) -> GridLaplace:
    """The paper's λ = √m·d·ΔQ/ε, literally, with ΔQ = 1. docs/claims.md#paper-mode-1

    Examples:
        >>> print(paper_mode1(Box.unit(7), 5.0, dim_x=60).noise_scales[0].round(2))  # √7 · 60 / 5
        31.75
    """
    return _literal(box, Event("ldp", epsilon), inflate(paper_l1(box.dim, dim_x)))


def paper_mode2(box: Box, epsilon: float, *, directions: Floats, inferences: tuple[str, ...] = ()) -> GridLaplace:
    """The paper's λ_relax = √m·d·ΔQ_relax/ε, literally; neighbours differ along `directions` (relaxed.basis).

    The clip box makes it ε-LDP, which is more; where it does not, it is refused. docs/claims.md#paper-mode-2
    """
    relaxed = relaxed_sensitivity(directions)
    literal = inflate(paper_l1(box.dim, len(directions), per_sample=relaxed.value))
    return _literal(box, Event("rldp", epsilon, inferences=inferences), literal)


def _literal(box: Box, event: Event, bound: float) -> GridLaplace:
    """Noise for the paper's bound if the clip box is within it, so that nothing is assumed about the encoder."""
    if sum(box.widths) > Fraction(bound):
        raise PolicyError(
            f"the features' clip box is {float(sum(box.widths)):.4g} wide in all, more than the paper's bound "
            f"{bound:.4g}; its noise would not be ε-{event.guarantee.upper()} whatever the encoder. Clip tighter, "
            "or use mechanism = 'laplace'"
        )
    return _calibrated("paper", event, box, at_least=Fraction(bound))


def _calibrated(name: str, event: Event, box: Box, *, at_least: Fraction = Fraction(0)) -> GridLaplace:
    """Noise λ = Δ/ε with Δ from the clip box, or Δ = `at_least` where the paper wants more."""
    unit = max(sum(box.widths, Fraction(0)), at_least) / Fraction(event.epsilon)
    # Rounded up: the real epsilon is at most the stated one.
    return GridLaplace(name, event, box, tuple(round_up(unit / step) for step in box.steps))
