"""Train a coder: cross-entropy on windows from every start, turned and mixed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.training.codebook.coder import WIDTH, Coder
from deeprotect.training.codebook.rotation import NOISE, Rotation
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.labels import MISSING, Targets
from deeprotect.training.networks import RemoveLevel, Standardise, initialise
from deeprotect.training.splits import Mask
from deeprotect.training.trainer import Progress, Schedule, TrainingJob, train

SMOOTHING = 0.02
SCHEDULE = Schedule(max_epochs=80, max_steps=3200, batch_size=256, learning_rate=1e-2, patience=1_000_000)
RARITY = 16
"""How seldom a window is mixed with another: on average 3 % of one. With more, a coder needs more epochs."""
BATCHES = 12
"""A small table is cut into at least so many batches, each of no fewer than 32 windows."""


@dataclass(frozen=True)
class CoderData:
    """Windows (row, value) in the order of time, whether the next row continues each, what the useful inferences say.

    All coders share it; each learns from some of its rows.
    """

    windows: Tensor
    followed: Mask
    targets: Targets

    @classmethod
    def of(cls, windows: LabelledWindows, targets: Targets) -> "CoderData":
        return cls(torch.tensor(windows.flat, dtype=torch.float32), windows.followed, targets)

    @property
    def labelled(self) -> Mask:
        """Which rows have a label of some inference."""
        return np.asarray((self.targets.codes != MISSING).any(axis=1))


class CoderLoss(nn.Module):
    """Cross-entropy of a coder on windows that start anywhere in a row, each turned, and mixed with another window."""

    def __init__(
        self,
        windows: Tensor,
        standardise: nn.Module,
        coder: Coder,
        *,
        counts: Sequence[int],
        rotation: Rotation | None = None,
    ) -> None:
        super().__init__()
        self.rotation = rotation
        self.standardise = standardise
        self.coder = coder
        self._windows = windows
        self._counts = list(counts)

    def forward(self, rows: Tensor, followed: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        start, share, turn, hidden = torch.split(noise, [1, 1, NOISE, WIDTH], dim=-1)
        windows = self._started(rows, followed, start)
        windows = self.standardise(windows if self.rotation is None else self.rotation(windows, turn))
        # Mostly the window itself, now and then up to half of another (mixup; Zhang et al. 2018).
        own = 1 - 0.5 * torch.special.ndtr(share) ** RARITY
        scores = self.coder(own * windows + (1 - own) * windows.roll(1, 0), hidden)
        own = own[:, 0]
        right, other = (self._cross_entropy(scores, each) for each in (codes, codes.roll(1, 0)))
        loss: Tensor = (own * right + (1 - own) * other).mean()
        return loss

    def _started(self, rows: Tensor, followed: Tensor, start: Tensor) -> Tensor:
        """Windows that start in a row and end in the next, as far in as a standard normal number says.

        Where no row follows it is the row itself: an utterance must not be learnt without its beginning.
        """
        values, channels = self._windows.shape[1], self.coder.channels
        samples = values // channels
        steps = (torch.special.ndtr(start[:, 0]) * samples).long().clamp(max=samples - 1) * followed
        from_every_start = self._windows.flatten().unfold(0, values, channels)
        return torch.index_select(from_every_start, 0, rows * samples + steps)

    def _cross_entropy(self, scores: Tensor, codes: Tensor) -> Tensor:
        """Per row, summed over the inferences that the row has a label of."""
        losses = [
            functional.cross_entropy(
                block, codes[:, column], ignore_index=MISSING, label_smoothing=SMOOTHING, reduction="none"
            )
            for column, block in enumerate(torch.split(scores, self._counts, dim=-1))
        ]
        return torch.stack(losses).sum(dim=0)


def fit_coder(
    data: CoderData,
    chosen: Mask,
    *,
    channels: int,
    seed: int,
    rotation: Rotation | None = None,
    schedule: Schedule = SCHEDULE,
    progress: Progress = lambda _: None,
) -> nn.Sequential:
    """A network (flat windows to scores) that has learnt from the chosen rows, and from nothing in others."""
    rows = torch.tensor(np.flatnonzero(chosen))
    windows, codes = data.windows[rows], torch.tensor(data.targets.codes)[rows]
    followed = torch.tensor(data.followed & np.append(chosen[1:], False))[rows]
    level, generator = _level(rotation, channels), torch.Generator().manual_seed(seed)
    standardise = nn.Sequential(level, Standardise(level(windows.double()).numpy()))
    coder = Coder(standardise(windows), channels, classes=sum(data.targets.counts))
    initialise(coder, generator)
    loss = CoderLoss(data.windows, standardise, coder, counts=data.targets.counts, rotation=rotation)
    job = TrainingJob(loss, (rows, followed, codes), noise=2 + NOISE + WIDTH, generator=generator)
    size = min(max(32, len(rows) // BATCHES), schedule.batch_size)
    train(job, replace(schedule, batch_size=size), progress=progress)
    return nn.Sequential(standardise, coder).eval()


def _level(rotation: Rotation | None, channels: int) -> nn.Module:
    """What comes before all else: where nobody knows how a device lies, what its channels rest at is taken off."""
    return RemoveLevel(channels) if rotation is not None and rotation.unknown else nn.Identity()
