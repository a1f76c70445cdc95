"""The network behind the code book: a small residual convolution that names the useful classes of a window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.signals.schema import Floats
from deeprotect.training.labels import Targets
from deeprotect.training.linear import window_samples
from deeprotect.training.networks import Standardise, Unflatten, initialise
from deeprotect.training.trainer import Lesson, Schedule, teach

FILTERS, KERNEL, DEPTH, WIDTH = 64, 3, 3, 128
LONGEST = 20
"""Samples after which a layer may halve the window: long windows need no finer time."""
DROP = 0.5
"""Standard deviation of the noise that multiplies hidden values in training, in place of dropout."""
SMOOTHING = 0.02
JITTER = 0.005
"""Standard deviations of noise, gains and offsets on the windows a coder learns from; larger ones hide who it is."""
SCHEDULE = Schedule(max_epochs=100, max_steps=4000, batch_size=256, learning_rate=5e-3, patience=1_000_000)
BATCHES = 12
"""A small table is cut into at least so many batches, each of no fewer than 32 windows."""


class Summary(nn.Module):
    """Mean, spread, extremes and spectrum of each channel: (row, channel, time) -> (row, number)."""

    cosines: Tensor
    sines: Tensor

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


class Coder(nn.Module):
    """Standardised flat windows to one score per useful class; `noise` multiplies hidden values in training."""

    def __init__(self, samples: int, channels: int, *, classes: int) -> None:
        super().__init__()
        self.unflatten = Unflatten(channels)
        self.summary = Summary(samples)
        self.convolutions = nn.ModuleList()
        length, width = samples, channels
        for _ in range(DEPTH):
            stride = 2 if length > LONGEST else 1
            self.convolutions.append(nn.Conv1d(width, FILTERS, KERNEL, stride=stride, padding=KERNEL // 2))
            length, width = (length - 1) // stride + 1, FILTERS
        self.hidden = FILTERS * length + channels * (4 + samples // 2 + 1)
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
        hidden = torch.cat([found.flatten(-2), self.summary(series)], dim=-1)
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, : self.hidden])
        hidden = functional.relu(self.first(hidden))
        if noise is not None:
            hidden = hidden * (1 + DROP * noise[:, self.hidden :])
        scores: Tensor = self.last(hidden)
        return scores


class Naming(nn.Module):
    """Teach a coder: cross-entropy on windows with jitter, gains and offsets, each mixed with another window.

    A row is a window and the one that follows it: every start between the two is a window to learn from, too.
    """

    def __init__(self, standardise: Standardise, coder: Coder, *, channels: int, counts: Sequence[int]) -> None:
        super().__init__()
        self.standardise = standardise
        self.coder = coder
        self._channels = channels
        self._counts = tuple(counts)

    def forward(self, windows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        values, channels = windows.shape[-1] // 2, self._channels
        sizes = [values, channels, channels, 1, 1, self.coder.noise]
        dust, gain, offset, share, start, hidden = torch.split(noise, sizes, dim=-1)
        wanted = self.standardise(self._started(windows, start))
        times = values // channels
        shaken = wanted * (1 + JITTER * gain.repeat(1, times)) + JITTER * (offset.repeat(1, times) + dust)
        # Mostly the window itself, now and then up to half of another (mixup; Zhang et al. 2018).
        own = 1 - 0.5 * torch.special.ndtr(share) ** 4
        scores = self.coder(own * shaken + (1 - own) * shaken.roll(1, 0), hidden)
        own = own[:, 0]
        surprise: Tensor = own * self._surprise(scores, codes) + (1 - own) * self._surprise(scores, codes.roll(1, 0))
        return surprise.mean()

    def _started(self, pairs: Tensor, start: Tensor) -> Tensor:
        """The window that starts anywhere in the first of two, as far in as a standard normal number says.

        Where the second is missing (NaN) it is the first: an utterance must not be taught without its beginning.
        """
        values, channels = pairs.shape[-1] // 2, self._channels
        steps = (torch.special.ndtr(start) * (values // channels)).long().clamp(0, values // channels - 1)
        steps = torch.where(pairs[:, -1:].isnan(), 0, steps)
        return pairs.gather(-1, steps * channels + torch.arange(values))

    def _surprise(self, scores: Tensor, codes: Tensor) -> Tensor:
        """Smoothed cross-entropy per row, over the inferences the row has a label of."""
        total = scores.new_zeros(len(scores))
        for column, block in enumerate(torch.split(scores, list(self._counts), dim=-1)):
            known = codes[:, column] >= 0
            logs = functional.log_softmax(block, dim=-1)
            right = logs.gather(-1, codes[:, column].clamp(min=0)[:, None])[:, 0]
            total = total - known * ((1 - SMOOTHING) * right + SMOOTHING * logs.mean(dim=-1))
        return total


@dataclass(frozen=True)
class Job:
    """Windows (row, value), for each the one that follows it or NaN, and what the useful inferences say."""

    windows: Floats
    following: Floats
    targets: Targets


def fit_coders(jobs: Sequence[Job], *, channels: int, seed: int, schedule: Schedule = SCHEDULE) -> list[nn.Sequential]:
    """A trained network (flat windows to scores) per job, one after the other: convolutions gain nothing in a batch of
    networks, and lose with longer windows."""
    lessons = [_lesson(job, channels=channels, seed=seed + place) for place, job in enumerate(jobs)]
    size = min(max(32, len(jobs[0].windows) // BATCHES), schedule.batch_size)
    for lesson in lessons:
        teach([lesson], replace(schedule, batch_size=size))
    return [_network(lesson.objective) for lesson in lessons]


def _network(objective: nn.Module) -> nn.Sequential:
    assert isinstance(objective, Naming)
    return nn.Sequential(objective.standardise, objective.coder).eval()


def _lesson(job: Job, *, channels: int, seed: int) -> Lesson:
    generator = torch.Generator().manual_seed(seed)
    values = job.windows.shape[1]
    coder = Coder(window_samples(values, channels), channels, classes=sum(job.targets.counts))
    initialise(coder, generator)
    objective = Naming(Standardise(job.windows), coder, channels=channels, counts=job.targets.counts)
    pairs = torch.tensor(np.hstack([job.windows, job.following]), dtype=torch.float32)
    rows = pairs, torch.tensor(job.targets.codes)
    none = pairs[:0], rows[1][:0]
    noise = values + 2 * channels + 2 + coder.noise
    return Lesson(objective, rows, held_out=none, noise=noise, generator=generator)
