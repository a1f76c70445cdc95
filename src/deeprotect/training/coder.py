"""The network behind the code book: a small residual convolution that names the useful classes of a window."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.training.coarse import to_grid
from deeprotect.training.linear import window_samples
from deeprotect.training.networks import Unflatten

FILTERS, KERNEL, DEPTH, WIDTH = 64, 3, 3, 256
LONGEST = 20
"""Samples after which a layer may halve the window: long windows need no finer time."""
BINS, MOST_BINS = 64, 768
"""Bins for each level of a window, and for all of its levels together."""
TRIM, GRID = 0.01, 1 / 32
"""Share of the levels beyond each end of the bins, and the grid of their edges in standard deviations."""
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


class PiecewiseLinearEncoding(nn.Module):
    """How far each level has come through bins between quantiles: (row, level) -> (row, bin), each 0 to 1.

    A tree parts levels that differ by a hundredth of their spread; a network learns that only from steep inputs
    (Gorishniy et al. 2022). Quantiles are levels of single windows: the outermost are left out, and edges lie on a
    coarse grid, so that none of them is a participant's own level.
    """

    low: Tensor
    width: Tensor

    def __init__(self, levels: Tensor) -> None:
        super().__init__()
        bins = max(1, min(BINS, MOST_BINS // levels.shape[1]))
        quantiles = np.quantile(levels.double().numpy(), np.linspace(TRIM, 1 - TRIM, bins + 1), axis=0)
        edges = torch.tensor(to_grid(quantiles, GRID), dtype=torch.float32)
        self.register_buffer("low", edges[:-1])
        # Quantiles that fall together share a bin of one step.
        self.register_buffer("width", edges.diff(dim=0).clamp(min=GRID))

    @property
    def bins(self) -> int:
        return self.low.numel()

    def forward(self, levels: Tensor) -> Tensor:
        return ((levels[:, None, :] - self.low) / self.width).clamp(0, 1).flatten(-2)


class Coder(nn.Module):
    """Standardised flat windows to one score per useful class; `noise` multiplies hidden values in training."""

    def __init__(self, windows: Tensor, channels: int, *, classes: int) -> None:
        """`windows` are those to learn from; only the edges of bins are taken from them here."""
        super().__init__()
        samples = window_samples(windows.shape[1], channels)
        self.unflatten = Unflatten(channels)
        self.summary = Summary(samples)
        self.levels = Summary.LEVELS * channels
        self.encoding = PiecewiseLinearEncoding(self.summary(self.unflatten(windows))[:, : self.levels])
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        for _ in range(DEPTH):
            stride = 2 if length > LONGEST else 1
            self.convolutions.append(nn.Conv1d(width, FILTERS, KERNEL, stride=stride, padding=KERNEL // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        self.hidden = FILTERS * length + self.levels + channels * (samples // 2 + 1) + self.encoding.bins
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
        hidden = torch.cat([found.flatten(-2), summary, self.encoding(summary[:, : self.levels])], dim=-1)
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, : self.hidden])
        hidden = functional.relu(self.first(hidden))
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, self.hidden :])
        scores: Tensor = self.last(hidden)
        return scores
