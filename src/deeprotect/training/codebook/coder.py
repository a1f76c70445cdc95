"""The network behind the code book: a small residual convolution that classifies a window's useful inferences.

Series are (row, time, channel) throughout, the memory layout of a window.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_linear_bn_eval

from deeprotect.bundle.layers.rounding import Clip
from deeprotect.training.export import WAVE_BITS, LayerBuilder, array, build, root_of, waves
from deeprotect.training.networks import to_grid, window_samples

FILTERS, WIDTH = 32, 128
LONGEST, LAYERS = 20, 2
"""Layers halve a window until at most this many samples are left, and there are at least this many layers."""
KERNEL, WIDE_KERNEL = 3, 7
"""Samples that a convolution covers; the wide kernel is for layers that halve a window."""
BINS, MOST_BINS = 64, 256
"""Bins for each statistic of a window, and for all its statistics together."""
TRIM, GRID = 0.01, 1 / 32
"""Share of the statistics beyond each end of the bins, and the grid of bin edges in standard deviations."""
STATISTICS = 4
"""Number of summary statistics of a channel."""
VALUE_BITS, SCORE_BITS, LARGEST_SCORE = 6, 8, 127.0
"""Hidden values are rounded to 2^-6, scores to 2^-8."""
DROP = 0.2
"""Standard deviation of the noise that multiplies hidden values in training: Gaussian dropout (Srivastava 2014)."""


LEAST_VARIANCE = 1e-12
"""Keeps the gradient of a standard deviation finite; far below the grid of hidden values."""


class SummaryStatistics(nn.Module):
    """Summary statistics over time: (row, time, channel) -> the channels' means, then spreads, minima and maxima."""

    def forward(self, series: Tensor) -> Tensor:
        by_time = series.transpose(0, 1).contiguous()  # a sixth of the time, copy included
        mean = by_time.mean(dim=0)
        spread = (by_time - mean).square().mean(dim=0).clamp(min=LEAST_VARIANCE).sqrt()
        return torch.cat([mean, spread, by_time.amin(dim=0), by_time.amax(dim=0)], dim=-1)


class AmplitudeSpectrum(nn.Module):
    """Amplitude of each frequency of each channel: (row, time, channel) -> (row, frequency * channel)."""

    waves: Tensor

    def __init__(self, samples: int) -> None:
        super().__init__()
        turns = np.outer(np.arange(samples // 2 + 1), np.arange(samples)) % samples
        whole = np.concatenate([wave[turns] for wave in waves(samples)])
        self.register_buffer("waves", torch.tensor(whole / 2.0 ** (WAVE_BITS + root_of(samples)), dtype=torch.float32))

    def forward(self, series: Tensor) -> Tensor:
        # One product for all rows takes a sixth of the time of a product per row.
        product = self.waves @ series.transpose(0, 1).flatten(1)
        cosines, sines = torch.unflatten(product, 1, (-1, series.shape[2])).transpose(0, 1).chunk(2, dim=1)
        return (cosines.square() + sines.square()).sqrt().flatten(1)


class PiecewiseLinearEncoding(nn.Module):
    """Piecewise linear encoding: the position of each level in a wide bin and in bins between quantiles, (row, level)
    -> (row, bin), each 0 to 1.

    A tree separates levels that differ by a hundredth of their spread; a network learns that only from steep inputs
    (Gorishniy et al. 2022). Quantiles are levels of single windows, so the outermost are left out and edges lie on a
    coarse grid: no edge is a participant's own level.
    """

    low: Tensor
    width: Tensor

    def __init__(self, levels: Tensor) -> None:
        super().__init__()
        bins = max(1, min(BINS, MOST_BINS // levels.shape[1] - 1))
        quantiles = np.quantile(levels.double().numpy(), np.linspace(TRIM, 1 - TRIM, bins + 1), axis=0)
        edges = torch.tensor(to_grid(quantiles, GRID), dtype=torch.float32)
        span = edges[-1:] - edges[:1]
        self.register_buffer("low", torch.cat([edges[:1] - span, edges[:-1]]))
        # Coinciding quantiles share a bin of one step.
        self.register_buffer("width", torch.cat([3 * span, edges.diff(dim=0)]).clamp(min=GRID))

    @property
    def bins(self) -> int:
        return self.low.numel()

    def forward(self, levels: Tensor) -> Tensor:
        return ((levels[:, None, :] - self.low) / self.width).clamp(0, 1).flatten(-2)


class TimeConvolution(nn.Conv1d):
    """A convolution in time: (row, time, channel) -> (row, time, filter)."""

    def forward(self, series: Tensor) -> Tensor:
        # One product over each step's receptive field: half the time of torch's convolutions, forward and back.
        kernel, stride = self.kernel_size[0], self.stride[0]
        padded = functional.pad(series, (0, 0, kernel // 2, kernel // 2))
        last = (padded.shape[1] - kernel) // stride * stride + 1
        seen = torch.cat([padded[:, place : place + last : stride] for place in range(kernel)], dim=2)
        return functional.linear(seen, self.weight.mT.flatten(1), self.bias)


class Coder(nn.Module):
    """Maps standardised flat windows to a score per useful class; `noise` (row, WIDTH) is for training.

    Batch normalisation halves the epochs; after training it is affine, and merges with the layer before it.
    """

    def __init__(self, windows: Tensor, channels: int, *, classes: int) -> None:
        """Set up without training; `windows` only determine the edges of bins."""
        super().__init__()
        samples = window_samples(windows.shape[1], channels)
        self.channels = channels
        self.statistics, self.spectrum = SummaryStatistics(), AmplitudeSpectrum(samples)
        self.encoding = PiecewiseLinearEncoding(self.statistics(self._series(windows)))
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        while length > LONGEST or len(self.convolutions) < LAYERS:
            stride, kernel = (2, WIDE_KERNEL) if length > LONGEST else (1, KERNEL)
            self.convolutions.append(TimeConvolution(width, FILTERS, kernel, stride=stride, padding=kernel // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        self.pooled = samples > LONGEST
        learnt = FILTERS * (length + STATISTICS * self.pooled)
        others = channels * (samples // 2 + 1) + self.encoding.bins
        self.first, self.normalise = nn.Linear(learnt + others, WIDTH), nn.BatchNorm1d(WIDTH)
        self.last = nn.Linear(WIDTH, classes)

    def forward(self, windows: Tensor, noise: Tensor | None = None) -> Tensor:
        hidden = functional.relu(self.normalise(self._mixed(self._series(windows))))
        if noise is not None:
            hidden = hidden * (1 + DROP * noise)
        scores: Tensor = self.last(hidden)
        return scores

    def _series(self, windows: Tensor) -> Tensor:
        return torch.unflatten(windows, -1, (-1, self.channels))

    def _mixed(self, series: Tensor) -> Tensor:
        """The first dense layer on all features; only the convolved part needs gradients, the larger part does not."""
        convolved, summaries = self._convolved(series), self._summaries(series)
        learnt, fixed = torch.split(self.first.weight, [convolved.shape[1], summaries.shape[1]], dim=1)
        mixed: Tensor = functional.linear(convolved, learnt, self.first.bias) + functional.linear(summaries, fixed)
        return mixed

    def _convolved(self, series: Tensor) -> Tensor:
        """Output of the convolutions, (time, filter) flattened; for long windows, its summary statistics as well."""
        convolved = series
        for layer in self.convolutions:
            new = functional.relu(layer(convolved))
            convolved = new + convolved if new.shape == convolved.shape else new
        found = convolved.flatten(1)
        return torch.cat([found, self.statistics(convolved)], dim=-1) if self.pooled else found

    def _summaries(self, series: Tensor) -> Tensor:
        """Spectrum, and the piecewise linear encoding of the statistics."""
        return torch.cat([self.spectrum(series), self.encoding(self.statistics(series))], dim=-1)


@build.register
def _coder(module: Coder, builder: LayerBuilder) -> None:
    """Export with scores on a grid shared by all coders."""
    builder.unflatten(module.channels)
    convolved, spectrum, statistics = (builder.branch() for _ in range(3))
    _convolutions(module, convolved)
    spectrum.spectrum(VALUE_BITS)
    statistics.statistics()
    low, width, levels = array(module.encoding.low), array(module.encoding.width), statistics.rows[:, None, :]
    shares = np.clip((levels - low) / width, 0, 1).reshape(len(levels), -1)
    statistics.quantise(low, 1 / width, clip=Clip(0, 1 << VALUE_BITS), exponent=VALUE_BITS, rows=shares)
    builder.concatenate([convolved, spectrum, statistics])
    build(fuse_linear_bn_eval(module.first, module.normalise), builder)
    builder.relu()
    build(module.last, builder)
    builder.to_grid(SCORE_BITS, low=-LARGEST_SCORE, high=LARGEST_SCORE)
    builder.exponent = 0  # scores stay whole numbers


def _convolutions(module: Coder, builder: LayerBuilder) -> None:
    """Export convolutions; those that keep the shape of a series are residual, as in `Coder`."""
    for each in module.convolutions:
        assert isinstance(each, nn.Conv1d)
        same = each.stride == (1,) and each.in_channels == each.out_channels
        inner = builder.branch() if same else builder
        build(each, inner)
        inner.relu(exponent=builder.exponent if same else VALUE_BITS)
        if same:
            builder.residual(inner)
            builder.to_grid(VALUE_BITS)
    if not module.pooled:
        builder.flatten()
        return
    flat, pooled = builder.branch(), builder.branch()
    flat.flatten()
    pooled.statistics()
    pooled.to_grid(VALUE_BITS, low=0.0)
    builder.concatenate([flat, pooled])
