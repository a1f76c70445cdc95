"""What a network can do at most: interval bounds of its outputs and its L2 Lipschitz constant.

Interval bounds only ever shrink a clip box (`Box.within`), so a mistake here costs accuracy and never privacy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from deeprotect.errors import PolicyError
from deeprotect.privacy.box import Floats
from deeprotect.privacy.sensitivity import inflate

Interval = tuple[Floats, Floats]
Shape = Literal["identity", "relu", "leaky", "tanh", "sigmoid", "gelu"]

_GELU_LOWEST = -0.7517915246935645  # where x Φ(x) has its only minimum
# Largest |derivative|: gelu's is at x = √2, Φ(√2) + √2 φ(√2) = 1.12890…
_STEEPEST = {"identity": 1.0, "relu": 1.0, "leaky": 1.0, "tanh": 1.0, "sigmoid": 0.25, "gelu": 1.12891}


class Layer(Protocol):
    """A step of a network; arrays have no batch axis."""

    def interval(self, low: Floats, high: Floats) -> Interval: ...

    def lipschitz(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Affine:
    """Wx + b, W of shape (out, in)."""

    weights: Floats
    bias: Floats

    def interval(self, low: Floats, high: Floats) -> Interval:
        centre = self.weights @ ((low + high) / 2.0) + self.bias
        return _around(centre, np.abs(self.weights) @ ((high - low) / 2.0))

    def lipschitz(self) -> float:
        return float(np.linalg.norm(self.weights, 2))


@dataclass(frozen=True, eq=False)
class Conv1d:
    """Cross-correlation over time as torch has it: kernel (out, in, taps), input (in, time), zero padding."""

    kernel: Floats
    bias: Floats
    stride: int = 1
    padding: int = 0

    def interval(self, low: Floats, high: Floats) -> Interval:
        centre = self._apply(self.kernel, (low + high) / 2.0) + self.bias[:, None]
        return _around(centre, self._apply(np.abs(self.kernel), (high - low) / 2.0))

    def lipschitz(self) -> float:
        """A sum over taps of (shift, then a matrix), and no shift or stride lengthens a vector."""
        return float(sum(np.linalg.norm(self.kernel[:, :, tap], 2) for tap in range(self.kernel.shape[2])))

    def _apply(self, kernel: Floats, signal: Floats) -> Floats:
        padded = np.pad(signal, ((0, 0), (self.padding, self.padding)))
        views = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[2], axis=1)[:, :: self.stride]
        return np.asarray(np.einsum("oik,itk->ot", kernel, views))


@dataclass(frozen=True)
class Activation:
    """An activation, coordinate by coordinate; `slope` is leaky's slope below zero, in [0, 1]."""

    shape: Shape
    slope: float = 0.01

    def __post_init__(self) -> None:
        if self.shape not in _STEEPEST or not 0 <= self.slope <= 1:
            raise PolicyError(f"activation '{self.shape}' is unknown; use one of: {', '.join(_STEEPEST)}")

    def interval(self, low: Floats, high: Floats) -> Interval:
        at_low, at_high = self._value(low), self._value(high)
        if self.shape != "gelu":
            return at_low, at_high
        # Falling, then rising: the largest value is at an end, the smallest at the dip if that is inside.
        dip = np.clip(_GELU_LOWEST, low, high)
        return self._value(dip), np.maximum(at_low, at_high)

    def lipschitz(self) -> float:
        return _STEEPEST[self.shape]

    def _value(self, x: Floats) -> Floats:
        match self.shape:
            case "relu":
                return np.maximum(x, 0.0)
            case "leaky":
                return np.where(x < 0, self.slope * x, x)
            case "tanh":
                return np.tanh(x)
            case "sigmoid":
                return np.asarray((1.0 + np.tanh(x / 2.0)) / 2.0)
            case "gelu":
                return np.asarray(x * ndtr(x))
        return x


@dataclass(frozen=True)
class Fold:
    """A flat window (index = time * channels + channel) as (channel, time), the layout of Conv1d."""

    channels: int

    def interval(self, low: Floats, high: Floats) -> Interval:
        return low.reshape(-1, self.channels).T, high.reshape(-1, self.channels).T

    def lipschitz(self) -> float:
        return 1.0


@dataclass(frozen=True)
class Flatten:
    """(channel, time) to a flat vector, as torch flattens it."""

    def interval(self, low: Floats, high: Floats) -> Interval:
        return low.ravel(), high.ravel()

    def lipschitz(self) -> float:
        return 1.0


def interval(layers: Sequence[Layer], low: ArrayLike, high: ArrayLike) -> Interval:
    """Lowest and highest value of every output for inputs between `low` and `high` (interval propagation)."""
    bounds = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    for layer in layers:
        bounds = layer.interval(*bounds)
    return bounds


def lipschitz(layers: Sequence[Layer]) -> float:
    """An upper bound on ‖F(x) − F(x')‖₂ / ‖x − x'‖₂: the product of the layers' own."""
    return inflate(float(np.prod([layer.lipschitz() for layer in layers])))


def _around(centre: Floats, radius: Floats) -> Interval:
    """Outward by 1e-9 of the sizes involved, far above float64 rounding."""
    wider = radius + 1e-9 * (radius + np.abs(centre))
    return centre - wider, centre + wider
