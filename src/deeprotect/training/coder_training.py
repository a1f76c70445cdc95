"""Teach coders: cross-entropy on windows from every start, lightly shaken and mixed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.signals.schema import Floats
from deeprotect.training.coder import Coder
from deeprotect.training.labels import Targets
from deeprotect.training.networks import Standardise, initialise
from deeprotect.training.trainer import Lesson, Schedule, teach

SMOOTHING = 0.02
JITTER = 0.001
"""Standard deviations of noise, gains and offsets on the windows a coder learns from; larger ones hide who it is."""
SCHEDULE = Schedule(max_epochs=100, max_steps=3000, batch_size=256, learning_rate=5e-3, patience=1_000_000)
BATCHES = 12
"""A small table is cut into at least so many batches, each of no fewer than 32 windows."""


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
    pairs = torch.tensor(np.hstack([job.windows, job.following]), dtype=torch.float32)
    standardise = Standardise(job.windows)
    coder = Coder(standardise(pairs[:, :values]), channels, classes=sum(job.targets.counts))
    initialise(coder, generator)
    objective = Naming(standardise, coder, channels=channels, counts=job.targets.counts)
    rows = pairs, torch.tensor(job.targets.codes)
    none = pairs[:0], rows[1][:0]
    noise = values + 2 * channels + 2 + coder.noise
    return Lesson(objective, rows, held_out=none, noise=noise, generator=generator)
