"""Building blocks of networks: dense layers, standardisation, coarse numbers, weights from a given generator.

Layers are created without weights, because torch would draw them from its global generator; `initialise` draws them.
Numbers that a bundle takes from few participants' values are rounded to grids of powers of two, whose step is all that
is learnt. This prevents an exact match with a participant's value; it proves nothing more.
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
"""Minimum number of steps across a clip box: rounding outward adds less than 2/128 to its width, and so to the
noise."""
THINNEST = 1e-3
"""Width, relative to its position, that determines the grid of a coordinate that hardly moves."""


def to_grid(values: Floats, step: Floats | float) -> Floats:
    """Round to the nearest multiples of a step."""
    return np.asarray(np.rint(values / step) * step)


def power_of_two(values: Floats) -> Floats:
    """The largest power of two that does not exceed each positive value."""
    return np.asarray(np.exp2(np.floor(np.log2(values))))


def significant(values: Floats, *, bits: int) -> Floats:
    """Round positive values to `bits` binary digits after the first."""
    return to_grid(values, power_of_two(values) / 2**bits)


def outward(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Round the ends of a clip box outward, on a grid for each coordinate: the low end down, the high end up."""
    widths = np.maximum(high - low, THINNEST * np.maximum(1.0, np.abs(low)))
    step = power_of_two(widths / BOX_STEPS)
    down, up = np.floor(low / step) * step, np.ceil(high / step) * step
    return down - step * (down > low), up + step * (up < high)  # a quotient may underflow to zero


Layer = TypeVar("Layer", bound=nn.Module)
BITS = 15
"""Bits of whole numbers in a bundle other than weights; numbers of one tensor share a power of two."""
SCALE_BITS, MEAN_STEPS, LARGEST_STEP = 3, 16, 1 / 1024
"""Binary digits of a standard deviation after its first; grid steps of a mean per deviation; the largest step."""
LEAST_SCALE = 1e-6
"""The smallest scale of a value that moves."""
WIDEST = 1024
"""The largest ratio of scales: the factors of all values then keep five binary digits in one tensor."""


class Standardise(nn.Module):
    """(x - mean) / scale, with coarse numbers of the training windows.

    Exact numbers would reveal how far a participant moved who is the only one to move: standard deviation × √windows.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, windows: Floats) -> None:
        super().__init__()
        scale, mean = windows.std(axis=0), windows.mean(axis=0)
        # A value that never moves carries no information: leave its scale alone rather than divide by a rounding error.
        # A
        # value that hardly moves in a wide range is amplified only as far as a bundle's whole numbers can express.
        moving = scale >= LEAST_SCALE
        scale = np.where(moving, np.maximum(scale, scale.max(initial=0.0) / WIDEST), 1.0)
        scale = significant(scale, bits=SCALE_BITS)
        mean = to_grid(mean, np.maximum(np.minimum(power_of_two(scale) / MEAN_STEPS, LARGEST_STEP), _finest(mean)))
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))

    def forward(self, windows: Tensor) -> Tensor:
        return (windows - self.mean) / self.scale


def _finest(values: Floats) -> Floats:
    """The smallest step with which a tensor of a bundle can hold all the values."""
    return power_of_two(np.maximum(np.abs(values).max(initial=0.0), LEAST_SCALE)) * 2.0 ** (1 - BITS)


class Restore(nn.Module):
    """The inverse of `Standardise`: x * scale + mean, clipped to the public range [0, 1]."""

    mean: Tensor
    scale: Tensor

    def __init__(self, standardise: Standardise) -> None:
        super().__init__()
        self.register_buffer("mean", standardise.mean.clone())
        self.register_buffer("scale", standardise.scale.clone())

    def forward(self, standardised: Tensor) -> Tensor:
        return (standardised * self.scale + self.mean).clamp(0.0, 1.0)


class RemoveLevel(nn.Module):
    """Subtracts each channel's mean over the window, times the number of samples, which keeps numbers whole.

    For an accelerometer the mean is gravity, which reveals the orientation of a phone.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, windows: Tensor) -> Tensor:
        series = torch.unflatten(windows, -1, (-1, self.channels))
        return (series.shape[-2] * series - series.sum(dim=-2, keepdim=True)).flatten(-2)


class ClipToRange(nn.Module):
    """Clips values to the public range: post-processing."""

    def forward(self, window: Tensor) -> Tensor:
        return window.clamp(0.0, 1.0)


def window_samples(values: int, channels: int) -> int:
    """Number of samples in a flattened window."""
    if channels < 1 or values % channels:
        raise InputError(f"channels = {channels} does not divide a window of {values} values; set it to the stream's")
    return values // channels


def unset(kind: type[Layer], *sizes: int, **options: Any) -> Layer:
    """Create a layer without initial weights."""
    layer: Layer = skip_init(kind, *sizes, **options)  # type: ignore[no-untyped-call]
    return layer


def dense(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers of the given widths, with ReLU between them but not after the last."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [unset(nn.Linear, inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def initialise(module: nn.Module, generator: torch.Generator) -> nn.Module:
    """Draw weights from the given generator alone, uniform with variance 1 / (3 inputs); set biases to zero."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d):
            nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module
