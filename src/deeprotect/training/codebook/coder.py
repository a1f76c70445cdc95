"""The network behind the code book: a small residual convolution that classifies a window's useful inferences.

Series are (row, time, channel) throughout, as a window lies in memory.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.training.minimisers.linear import window_samples

FILTERS, KERNEL, DEPTH, WIDTH = 64, 3, 3, 256
LONGEST = 20
"""Samples after which a layer may halve the window: long windows need no finer time."""
RUNGS, MOST_RUNGS = 64, 768
"""Rungs for each level of a window, and for all of its levels together."""
DROP = 0.2
"""Standard deviation of the noise that multiplies hidden values in training, in place of dropout."""


class Statistics(nn.Module):
    """Summary statistics in time: (row, time, channel) -> the channels' means, then spreads, minima and maxima."""

    PER_CHANNEL = 4

    def forward(self, series: Tensor) -> Tensor:
        mean = series.mean(dim=1)
        spread = ((series - mean[:, None]).square().mean(dim=1) + 1e-6).sqrt()
        return torch.cat([mean, spread, series.amin(dim=1), series.amax(dim=1)], dim=-1)


class Spectrum(nn.Module):
    """Amplitude of each frequency of each channel: (row, time, channel) -> (row, frequency * channel)."""

    waves: Tensor

    def __init__(self, samples: int) -> None:
        super().__init__()
        angles = 2 * torch.pi * torch.outer(torch.arange(samples // 2 + 1), torch.arange(samples)) / samples
        self.register_buffer("waves", torch.cat([angles.cos(), angles.sin()]) / samples**0.5)

    def forward(self, series: Tensor) -> Tensor:
        cosines, sines = torch.matmul(self.waves, series).chunk(2, dim=1)
        return (cosines.square() + sines.square() + 1e-6).sqrt().flatten(1)


class Ladder(nn.Module):
    """How far each level has climbed between quantiles of the training windows: (row, level) -> (row, rung), 0 to 1.

    A tree parts levels that differ by a hundredth of their spread; a network learns that only from steep inputs
    (piecewise linear encoding; Gorishniy et al. 2022).
    """

    bottom: Tensor
    height: Tensor

    def __init__(self, levels: Tensor) -> None:
        super().__init__()
        rungs = max(1, min(RUNGS, MOST_RUNGS // levels.shape[1]))
        edges = torch.tensor(np.quantile(levels.numpy(), np.linspace(0, 1, rungs + 1), axis=0), dtype=torch.float32)
        self.register_buffer("bottom", edges[:-1])
        self.register_buffer("height", edges.diff(dim=0).clamp(min=1e-4))

    @property
    def rungs(self) -> int:
        return self.bottom.numel()

    def forward(self, levels: Tensor) -> Tensor:
        return ((levels[:, None, :] - self.bottom) / self.height).clamp(0, 1).flatten(-2)


class Convolution(nn.Conv1d):
    """A convolution in time: (row, time, channel) -> (row, time, filter)."""

    def forward(self, series: Tensor) -> Tensor:
        # As a picture of height 1 the series is "channels last" without a copy, for which torch has its fastest code.
        found = functional.conv2d(
            series.mT.unsqueeze(2),
            self.weight.unsqueeze(2),
            self.bias,
            stride=(1, *self.stride),
            padding=(0, self.kernel_size[0] // 2),
        )
        return found.squeeze(2).mT


class Coder(nn.Module):
    """Standardised flat windows to one score per useful class; `noise` multiplies hidden values in training."""

    def __init__(self, windows: Tensor, channels: int, *, classes: int) -> None:
        """`windows` are those to learn from; only the rungs of the ladder are taken from them here."""
        super().__init__()
        samples = window_samples(windows.shape[1], channels)
        self.channels = channels
        self.statistics, self.spectrum = Statistics(), Spectrum(samples)
        self.ladder = Ladder(self.statistics(self._series(windows)))
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        for _ in range(DEPTH):
            stride = 2 if length > LONGEST else 1
            self.convolutions.append(Convolution(width, FILTERS, KERNEL, stride=stride, padding=KERNEL // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        others = channels * (samples // 2 + 1 + Statistics.PER_CHANNEL) + self.ladder.rungs
        self.hidden = FILTERS * length + others
        self.first, self.last = nn.Linear(self.hidden, WIDTH), nn.Linear(WIDTH, classes)

    @property
    def noise(self) -> int:
        """Hidden values that take noise in training."""
        return self.hidden + WIDTH

    def forward(self, windows: Tensor, noise: Tensor | None = None) -> Tensor:
        hidden = self._features(self._series(windows))
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, : self.hidden])
        hidden = functional.relu(self.first(hidden))
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, self.hidden :])
        scores: Tensor = self.last(hidden)
        return scores

    def _series(self, windows: Tensor) -> Tensor:
        return torch.unflatten(windows, -1, (-1, self.channels))

    def _features(self, series: Tensor) -> Tensor:
        """Convolved (time, filter), spectrum, statistics, and the piecewise linear encoding of the statistics."""
        convolved = series
        for layer in self.convolutions:
            new = functional.relu(layer(convolved))
            convolved = new + convolved if new.shape == convolved.shape else new
        statistics = self.statistics(series)
        return torch.cat([convolved.flatten(1), self.spectrum(series), statistics, self.ladder(statistics)], dim=-1)
