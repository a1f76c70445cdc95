"""Train coders: cross-entropy on windows from every start, lightly augmented and mixed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import Coder
from deeprotect.training.labels import MISSING, Targets
from deeprotect.training.networks import Standardise, initialise
from deeprotect.training.trainer import Schedule, TrainingJob, train

SMOOTHING = 0.02
JITTER = 0.001
"""Standard deviations of noise, gains and offsets on the windows a coder learns from; larger ones hide who it is."""
SCHEDULE = Schedule(max_epochs=100, max_steps=3000, batch_size=256, learning_rate=5e-3, patience=1_000_000)
BATCHES = 12
"""A small table is cut into at least so many batches, each of no fewer than 32 windows."""


class CoderLoss(nn.Module):
    """Cross-entropy of a coder on windows augmented with jitter, gains and offsets, each mixed with another window.

    A row is a window and the one that follows it: every start between the two is a window to learn from, too.
    """

    def __init__(self, standardise: Standardise, coder: Coder, *, counts: Sequence[int]) -> None:
        super().__init__()
        self.standardise = standardise
        self.coder = coder
        self._counts = tuple(counts)

    def forward(self, windows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        values, channels = windows.shape[-1] // 2, self.coder.channels
        sizes = [values, channels, channels, 1, 1, self.coder.noise]
        jitter, gain, offset, share, start, hidden = torch.split(noise, sizes, dim=-1)
        wanted = self.standardise(self._started(windows, start))
        times = values // channels
        augmented = wanted * (1 + JITTER * gain.repeat(1, times)) + JITTER * (offset.repeat(1, times) + jitter)
        # Mostly the window itself, now and then up to half of another (mixup; Zhang et al. 2018).
        own = 1 - 0.5 * torch.special.ndtr(share) ** 4
        scores = self.coder(own * augmented + (1 - own) * augmented.roll(1, 0), hidden)
        own = own[:, 0]
        loss: Tensor = own * self._cross_entropy(scores, codes) + (1 - own) * self._cross_entropy(
            scores, codes.roll(1, 0)
        )
        return loss.mean()

    def _started(self, pairs: Tensor, start: Tensor) -> Tensor:
        """The window that starts anywhere in the first of two, as far in as a standard normal number says.

        Where the second is missing (NaN) it is the first: an utterance must not be learnt without its beginning.
        """
        values, channels = pairs.shape[-1] // 2, self.coder.channels
        steps = (torch.special.ndtr(start) * (values // channels)).long().clamp(0, values // channels - 1)
        steps = torch.where(pairs[:, -1:].isnan(), 0, steps)
        return pairs.gather(-1, steps * channels + torch.arange(values))

    def _cross_entropy(self, scores: Tensor, codes: Tensor) -> Tensor:
        """Per row, summed over the inferences that the row has a label of."""
        blocks = torch.split(scores, list(self._counts), dim=-1)
        losses = [
            functional.cross_entropy(
                block, codes[:, column], ignore_index=MISSING, label_smoothing=SMOOTHING, reduction="none"
            )
            for column, block in enumerate(blocks)
        ]
        return torch.stack(losses).sum(dim=0)


@dataclass(frozen=True)
class CoderData:
    """Windows (row, value), for each the one that follows it or NaN, and what the useful inferences say."""

    windows: Floats
    following: Floats
    targets: Targets


def fit_coders(
    data: Sequence[CoderData], *, channels: int, seed: int, schedule: Schedule = SCHEDULE
) -> list[nn.Sequential]:
    """A trained network (flat windows to scores) for each."""
    jobs = [_job(each, channels=channels, seed=seed + place) for place, each in enumerate(data)]
    size = min(max(32, len(data[0].windows) // BATCHES), schedule.batch_size)
    for job in jobs:
        train(job, replace(schedule, batch_size=size))
    return [_network(job.objective) for job in jobs]


def _network(objective: nn.Module) -> nn.Sequential:
    assert isinstance(objective, CoderLoss)
    return nn.Sequential(objective.standardise, objective.coder).eval()


def _job(data: CoderData, *, channels: int, seed: int) -> TrainingJob:
    generator = torch.Generator().manual_seed(seed)
    values = data.windows.shape[1]
    pairs = torch.tensor(np.hstack([data.windows, data.following]), dtype=torch.float32)
    standardise = Standardise(data.windows)
    coder = Coder(standardise(pairs[:, :values]), channels, classes=sum(data.targets.counts))
    initialise(coder, generator)
    rows = pairs, torch.tensor(data.targets.codes)
    none = pairs[:0], rows[1][:0]
    noise = values + 2 * channels + 2 + coder.noise
    objective = CoderLoss(standardise, coder, counts=data.targets.counts)
    return TrainingJob(objective, rows, held_out=none, noise=noise, generator=generator)
