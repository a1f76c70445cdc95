"""The network behind the code book: a small residual convolution that names the useful classes of a window."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.training.linear import window_samples
from deeprotect.training.networks import Unflatten

FILTERS, KERNEL, DEPTH, WIDTH = 64, 3, 3, 256
LONGEST = 20
"""Samples after which a layer may halve the window: long windows need no finer time."""
RUNGS, MOST_RUNGS = 64, 768
"""Rungs for each level of a window, and for all of its levels together."""
DROP = 0.2
"""Standard deviation of the noise that multiplies hidden values in training, in place of dropout."""


class Summary(nn.Module):
    """Mean, spread, extremes and spectrum of each channel: (row, channel, time) -> (row, number), levels first."""

    cosines: Tensor
    sines: Tensor
    LEVELS = 4  # of each channel: mean, spread, least, most

    def __init__(self, samples: int) -> None:
        super().__init__()
        angles = 2 * torch.pi * torch.outer(torch.arange(samples), torch.arange(samples // 2 + 1)) / samples
        self.register_buffer("cosines", torch.cos(angles) / samples**0.5)
        self.register_buffer("sines", torch.sin(angles) / samples**0.5)

    def forward(self, windows: Tensor) -> Tensor:
        mean = windows.mean(dim=-1)
        spread = ((windows - mean[..., None]).square().mean(dim=-1) + 1e-6).sqrt()
        power = (windows @ self.cosines).square() + (windows @ self.sines).square()
        parts = [mean, spread, windows.amin(dim=-1), windows.amax(dim=-1), (power + 1e-6).sqrt().flatten(-2)]
        return torch.cat(parts, dim=-1)


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


class Coder(nn.Module):
    """Standardised flat windows to one score per useful class; `noise` multiplies hidden values in training."""

    def __init__(self, windows: Tensor, channels: int, *, classes: int) -> None:
        """`windows` are those to learn from; only the rungs of the ladder are taken from them here."""
        super().__init__()
        samples = window_samples(windows.shape[1], channels)
        self.unflatten = Unflatten(channels)
        self.summary = Summary(samples)
        self.levels = Summary.LEVELS * channels
        self.ladder = Ladder(self.summary(self.unflatten(windows))[:, : self.levels])
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        for _ in range(DEPTH):
            stride = 2 if length > LONGEST else 1
            self.convolutions.append(nn.Conv1d(width, FILTERS, KERNEL, stride=stride, padding=KERNEL // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        self.hidden = FILTERS * length + self.levels + channels * (samples // 2 + 1) + self.ladder.rungs
        self.first, self.last = nn.Linear(self.hidden, WIDTH), nn.Linear(WIDTH, classes)

    @property
    def noise(self) -> int:
        """Hidden values that take noise in training."""
        return self.hidden + WIDTH

    def forward(self, windows: Tensor, noise: Tensor | None = None) -> Tensor:
        series = self.unflatten(windows)
        found = series
        for layer in self.convolutions:
            new = functional.relu(layer(found))
            found = new + found if new.shape == found.shape else new
        summary = self.summary(series)
        hidden = torch.cat([found.flatten(-2), summary, self.ladder(summary[:, : self.levels])], dim=-1)
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, : self.hidden])
        hidden = functional.relu(self.first(hidden))
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, self.hidden :])
        scores: Tensor = self.last(hidden)
        return scores
