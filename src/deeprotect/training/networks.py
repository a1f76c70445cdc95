"""What networks are made of: dense layers, levels and scales of windows, coarse numbers, weights from one generator.

Layers are made without weights, since torch would draw them from its global generator; `initialise` draws them. What a
bundle takes from few participants' values is rounded until it is nobody's own value: grids are powers of two, and only
how fine they are is learnt. This is no proof: it takes away the exact match by which a number would show whose it is.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from deeprotect.errors import InputError
from deeprotect.signals.schema import Floats

BOX_STEPS = 128
"""Steps across a clip box, at least: rounding outward adds less than 2/128 to its width, and so to the noise."""
THINNEST = 1e-3
"""Of a box whose coordinate hardly moves, the width that its grid is taken from, relative to where it lies."""


def to_grid(values: Floats, step: Floats | float) -> Floats:
    """The nearest multiples of a step."""
    return np.asarray(np.rint(values / step) * step)


def power_of_two(values: Floats) -> Floats:
    """The largest power of two that is not above each positive value."""
    return np.asarray(np.exp2(np.floor(np.log2(values))))


def significant(values: Floats, *, bits: int) -> Floats:
    """Positive values with so many binary digits after the first."""
    return to_grid(values, power_of_two(values) / 2**bits)


def outward(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends of a clip box on a grid of each coordinate's own, the low one rounded down and the high one up."""
    widths = np.maximum(high - low, THINNEST * np.maximum(1.0, np.abs(low)))
    step = power_of_two(widths / BOX_STEPS)
    down, up = np.floor(low / step) * step, np.ceil(high / step) * step
    return down - step * (down > low), up + step * (up < high)  # a quotient may underflow to zero


Layer = TypeVar("Layer", bound=nn.Module)
BITS = 15
"""Of whole numbers in a bundle that are not weights; numbers of one tensor share a power of two."""
SCALE_BITS, MEAN_STEPS, LARGEST_STEP = 3, 16, 1 / 1024
"""Binary digits of a standard deviation after its first; steps of a mean's grid in one, and the largest of them."""
LEAST_SCALE = 1e-6
"""Of a value that moves at all."""
WIDEST = 1024
"""The largest scale over the smallest, at most: so the factors of all values keep five binary digits in one tensor."""


class Standardise(nn.Module):
    """(x - mean) / scale, with coarse numbers of the training windows.

    Where one participant alone moves, exact ones would tell by how much: standard deviation × √windows.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, windows: Floats) -> None:
        super().__init__()
        scale, mean = windows.std(axis=0), windows.mean(axis=0)
        # A value that never moves carries nothing: leave its scale alone rather than divide by a rounding error. One
        # that hardly moves in a wide range is amplified only as far as a bundle's whole numbers can say.
        moving = scale >= LEAST_SCALE
        scale = np.where(moving, np.maximum(scale, scale.max(initial=0.0) / WIDEST), 1.0)
        scale = significant(scale, bits=SCALE_BITS)
        mean = to_grid(mean, np.maximum(np.minimum(power_of_two(scale) / MEAN_STEPS, LARGEST_STEP), _finest(mean)))
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))

    def forward(self, windows: Tensor) -> Tensor:
        return (windows - self.mean) / self.scale


def _finest(values: Floats) -> Floats:
    """The smallest step in which a tensor of a bundle holds all of the values."""
    return power_of_two(np.maximum(np.abs(values).max(initial=0.0), LEAST_SCALE)) * 2.0 ** (1 - BITS)


class Restore(nn.Module):
    """The way back: x * scale + mean, inside the public range [0, 1]."""

    mean: Tensor
    scale: Tensor

    def __init__(self, standardise: Standardise) -> None:
        super().__init__()
        self.register_buffer("mean", standardise.mean.clone())
        self.register_buffer("scale", standardise.scale.clone())

    def forward(self, standardised: Tensor) -> Tensor:
        return (standardised * self.scale + self.mean).clamp(0.0, 1.0)


class RemoveLevel(nn.Module):
    """What each channel rests at in a window is taken off; times the number of samples, which keeps numbers whole.

    Of an accelerometer that is gravity, and with it how a phone lies.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, windows: Tensor) -> Tensor:
        series = torch.unflatten(windows, -1, (-1, self.channels))
        return (series.shape[-2] * series - series.sum(dim=-2, keepdim=True)).flatten(-2)


class Clip(nn.Module):
    """Values back into the public range: post-processing."""

    def forward(self, window: Tensor) -> Tensor:
        return window.clamp(0.0, 1.0)


def window_samples(values: int, channels: int) -> int:
    """Samples of a flattened window."""
    if channels < 1 or values % channels:
        raise InputError(f"channels = {channels} does not divide a window of {values} values; set it to the stream's")
    return values // channels


def unset(kind: type[Layer], *sizes: int, **options: Any) -> Layer:
    """A layer whose weights are still to be set."""
    layer: Layer = skip_init(kind, *sizes, **options)  # type: ignore[no-untyped-call]
    return layer


def dense(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers of the given widths with ReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [unset(nn.Linear, inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def initialise(module: nn.Module, generator: torch.Generator) -> nn.Module:
    """Weights drawn from the given generator alone, uniform with variance 1 / (3 inputs), biases zero."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d):
            nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module
