"""The networks of the default autoencoder: dense or convolutional encoder, dense decoder, readers of labels.

Layers are made without weights, since torch would draw them from its global generator; `initialise` draws them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import skip_init

from deeprotect.training.coarse import power_of_two, significant, to_grid

Floats = NDArray[np.float64]
Layer = TypeVar("Layer", bound=nn.Module)
SCALE_BITS, MEAN_STEPS, LARGEST_STEP = 3, 16, 1 / 1024
"""Binary digits of a standard deviation after its first; steps of a mean's grid in one, and the largest of them."""


class Standardise(nn.Module):
    """(x - mean) / scale, with coarse numbers of the training windows.

    Where one participant alone moves, exact ones would tell by how much: standard deviation × √windows.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, windows: Floats) -> None:
        super().__init__()
        scale = windows.std(axis=0)
        # A value that never moves carries nothing: leave its scale alone rather than divide by a rounding error.
        scale[scale < 1e-6] = 1.0
        scale = significant(scale, bits=SCALE_BITS)
        mean = to_grid(windows.mean(axis=0), np.minimum(power_of_two(scale) / MEAN_STEPS, LARGEST_STEP))
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))

    def forward(self, windows: Tensor) -> Tensor:
        return (windows - self.mean) / self.scale


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


class UnflattenSeries(nn.Module):
    """(row, time * channel) -> (row, channel, time), as convolutions want it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels

    def forward(self, rows: Tensor) -> Tensor:
        return torch.unflatten(rows, -1, (-1, self.channels)).mT


class FlattenSeries(nn.Module):
    """(row, channel, time) -> (row, time * channel), the way back."""

    def forward(self, series: Tensor) -> Tensor:
        return series.mT.flatten(-2)


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


def convolution(samples: int, channels: int, *, filters: int, widths: Sequence[int]) -> nn.Sequential:
    """Two convolutions in time, then dense layers of the given widths (the input width is worked out)."""
    kernel = min(5, samples - (samples + 1) % 2)
    return nn.Sequential(
        UnflattenSeries(channels),
        unset(nn.Conv1d, channels, filters, kernel, padding=kernel // 2),
        nn.ReLU(),
        unset(nn.Conv1d, filters, filters, kernel, padding=kernel // 2),
        nn.ReLU(),
        FlattenSeries(),
        *dense([filters * samples, *widths]),
    )


def initialise(module: nn.Module, generator: torch.Generator) -> nn.Module:
    """Weights drawn from the given generator alone, uniform with variance 1 / (3 inputs), biases zero."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d):
            nn.init.kaiming_uniform_(layer.weight, a=5**0.5, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module
