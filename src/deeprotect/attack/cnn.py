"""A small convolutional network with the face of a scikit-learn classifier."""

from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import AmplitudeSpectrum, SummaryStatistics
from deeprotect.training.minimisers.linear import window_samples
from deeprotect.training.networks import Standardise, UnflattenSeries, initialise, unset
from deeprotect.training.threads import single_thread
from deeprotect.training.trainer import Schedule, TrainingJob, train

FILTERS, HIDDEN = 32, 128
KERNELS = (5, 3)
LONGEST = 20
"""Samples after which a layer halves the window: long windows need no finer time."""
PARTS = 4
"""Parts of the window over which the filters' answers are pooled."""
DROP = 0.5
"""Standard deviation of the noise that multiplies hidden values in training, in place of dropout."""
SMOOTHING = 0.05
SCHEDULE = Schedule(max_epochs=100, max_steps=800, batch_size=128, learning_rate=5e-3, patience=1_000_000)
AT_ONCE = 4096
"""Windows that are read in one go, so that memory does not grow with a table."""


class ConvolutionalNetwork(nn.Module):
    """Flat windows to one score per class: two convolutions, pooled, beside a summary of the window itself."""

    def __init__(self, windows: Floats, channels: int, *, classes: int) -> None:
        super().__init__()
        samples = window_samples(windows.shape[1], channels)
        self.standardise, self.unflatten = Standardise(windows), UnflattenSeries(channels)
        self.statistics, self.spectrum = SummaryStatistics(), AmplitudeSpectrum(samples)
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        for kernel in KERNELS:
            stride = 2 if length > LONGEST else 1
            self.convolutions.append(unset(nn.Conv1d, width, FILTERS, kernel, stride=stride, padding=kernel // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        self.parts = min(PARTS, length)
        self.found = 2 * FILTERS * self.parts + channels * (4 + samples // 2 + 1)
        self.first, self.last = unset(nn.Linear, self.found, HIDDEN), unset(nn.Linear, HIDDEN, classes)

    def forward(self, windows: Tensor, noise: Tensor | None = None) -> Tensor:
        series = self.unflatten(self.standardise(windows))
        answers = series
        for layer in self.convolutions:
            answers = functional.relu(layer(answers))
        means = functional.adaptive_avg_pool1d(answers, self.parts)
        peaks = functional.adaptive_max_pool1d(answers, self.parts)
        summary = [self.statistics(series.mT), self.spectrum(series.mT)]
        found = torch.cat([means.flatten(-2), peaks.flatten(-2), *summary], dim=-1)
        if noise is not None:
            found = found * (1 + DROP * noise)
        scores: Tensor = self.last(functional.relu(self.first(found)))
        return scores


class _Loss(nn.Module):
    """Cross-entropy with label smoothing."""

    def __init__(self, network: ConvolutionalNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, windows: Tensor, numbers: Tensor, noise: Tensor) -> Tensor:
        return functional.cross_entropy(self.network(windows, noise), numbers, label_smoothing=SMOOTHING)


class ConvolutionalClassifier:
    """Trained for a fixed number of steps, whatever the number of windows; the same seed gives the same network."""

    def __init__(self, channels: int, *, seed: int) -> None:
        self.channels = channels
        self.seed = seed

    def fit(self, windows: Floats, labels: NDArray[np.str_]) -> Self:
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        most = SCHEDULE.max_steps * SCHEDULE.batch_size  # beyond, even a single pass would take more steps
        if len(windows) > most:
            rows = np.random.default_rng(self.seed).permutation(len(windows))[:most]
            windows, numbers = windows[rows], numbers[rows]
        with single_thread():
            self.network = self._trained(windows, numbers)
        return self

    def predict_proba(self, windows: Floats) -> Floats:
        with single_thread(), torch.inference_mode():
            rows = torch.tensor(windows, dtype=torch.float32)
            scores = torch.cat([self.network(part) for part in torch.split(rows, AT_ONCE)])
            return np.asarray(scores.double().softmax(dim=-1).numpy())

    def _trained(self, windows: Floats, numbers: NDArray[np.int64]) -> ConvolutionalNetwork:
        generator = torch.Generator().manual_seed(self.seed)
        network = ConvolutionalNetwork(windows, self.channels, classes=len(self.classes_))
        initialise(network, generator)
        rows = torch.tensor(windows, dtype=torch.float32), torch.tensor(numbers)
        job = TrainingJob(_Loss(network), rows, noise=network.found, generator=generator)
        train(job, SCHEDULE)
        return network.eval()
