"""Training of coders: cross-entropy on shifted, rotated and mixed windows; cross-fitted scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from deeprotect.bundle.network import Network
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import triads
from deeprotect.signals import Channel, Hold
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import WIDTH, Coder
from deeprotect.training.erasing import EraseDirections, erasing
from deeprotect.training.export import COARSE, to_network
from deeprotect.training.labelled_windows import MISSING, LabelledWindows, Labels, Targets
from deeprotect.training.networks import RemoveLevel, Standardise, initialise
from deeprotect.training.splits import ONE_WINDOW, Mask, folds
from deeprotect.training.trainer import Progress, Schedule, TrainingJob, train

ANGLE = 0.3
"""Standard deviation of the rotation angle, in radians; the axis has any direction."""
NOISE = 4
"""Standard normal numbers per rotation."""


@dataclass(frozen=True)
class Rotation:
    """Rotates the three axes of each sensor together; samples are scaled to [0, 1], and rotated in their units.

    People wear a device differently more than they move differently. Without rotations a coder recognises known people
    a little better, and strangers worse: docs/results.md#strangers

    `unknown`: a device may lie in any way, so the means of its channels carry no information.
    """

    triads: tuple[tuple[int, int, int], ...]
    low: Tensor
    width: Tensor
    unknown: bool = False

    @classmethod
    def of(cls, policy: Policy) -> Self | None:
        """None if the policy keeps orientations, or no freed sensor has three axes."""
        channels, unknown = policy.schema().channels, policy.training.orientation == "unknown"
        triads = triads_of(channels)
        if policy.training.orientation == "kept" or not (triads or unknown):
            return None
        low = torch.tensor([channel.low for channel in channels], dtype=torch.float32)
        width = torch.tensor([each.high - each.low for each in channels], dtype=torch.float32)
        return cls(triads, low, width, unknown)

    def __call__(self, windows: Tensor, noise: Tensor) -> Tensor:
        """Rotate each flat window (row, value) by a rotation of its own from noise (row, 4)."""
        turns = matrices(noise[:, :3], ANGLE * noise[:, 3])
        series = torch.unflatten(windows, -1, (-1, len(self.low))) * self.width + self.low
        for triad in self.triads:
            series[..., triad] = torch.einsum("rij,rtj->rti", turns, series[..., triad])
        return ((series - self.low) / self.width).flatten(-2)


def matrices(axes: Tensor, angles: Tensor) -> Tensor:
    """Rotation matrices (row, 3, 3) around axes (row, 3) of any length (Rodrigues)."""
    x, y, z = (axes / axes.norm(dim=1, keepdim=True).clamp(min=1e-6)).unbind(dim=1)
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).reshape(-1, 3, 3)
    sine, versed = torch.sin(angles)[:, None, None], (1 - torch.cos(angles))[:, None, None]
    turns: Tensor = torch.eye(3) + sine * cross + versed * (cross @ cross)
    return turns


def triads_of(channels: Sequence[Channel]) -> tuple[tuple[int, int, int], ...]:
    """Triples of channel numbers that are x, y and z of one sensor, in one unit."""
    found = triads([channel.name for channel in channels])
    return tuple(three for three in found if len({channels[place].unit for place in three}) == 1)


SMOOTHING = 0.02
SCHEDULE = Schedule(max_epochs=80, max_steps=3200, batch_size=256, learning_rate=1e-2, patience=1_000_000)
RARITY = 16
"""Rarity of mixup: on average 3 % of another window. With more, a coder needs more epochs."""
BATCHES = 12
"""A small table is cut into at least this many batches, each of at least 32 windows."""


@dataclass(frozen=True)
class CoderData:
    """Windows (row, value) in order of time, whether the next row continues each, and the labels of useful inferences.

    All coders share it; each learns from some of its rows. `erased` holds labels whose linear directions are hidden
    from it.
    """

    windows: Tensor
    followed: Mask
    targets: Targets
    erased: Sequence[Labels] = ()

    @classmethod
    def of(cls, windows: LabelledWindows, targets: Targets, policy: Policy) -> "CoderData":
        erased = [windows.labels[name] for name in policy.erased]
        return cls(torch.tensor(windows.flat, dtype=torch.float32), windows.followed, targets, erased)

    @property
    def labelled(self) -> Mask:
        """Mask of the rows that have a label of some inference."""
        return np.asarray((self.targets.codes != MISSING).any(axis=1))


class CoderLoss(nn.Module):
    """Cross-entropy of a coder on windows that start anywhere in a row, each rotated and mixed with another window."""

    def __init__(
        self,
        windows: Tensor,
        standardise: nn.Module,
        coder: Coder,
        *,
        targets: Targets,
        rotation: Rotation | None = None,
    ) -> None:
        super().__init__()
        self.rotation = rotation
        self.standardise = standardise
        self.coder = coder
        self._windows = windows
        self._counts = list(targets.counts)
        values = [targets.values_of(column) for column in range(len(targets.counts))]
        self._ranks = [None if each is None else torch.tensor(each.argsort().argsort()) for each in values]

    def forward(self, rows: Tensor, followed: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        start, share, turn, hidden = torch.split(noise, [1, 1, NOISE, WIDTH], dim=-1)
        windows = self._started(rows, followed, start)
        windows = self.standardise(windows if self.rotation is None else self.rotation(windows, turn))
        # Mixup (Zhang et al. 2018): mostly the window itself, occasionally up to half of another.
        own = 1 - 0.5 * torch.special.ndtr(share) ** RARITY
        scores = self.coder(own * windows + (1 - own) * windows.roll(1, 0), hidden)
        own = own[:, 0]
        right, other = (self._cross_entropy(scores, each) for each in (codes, codes.roll(1, 0)))
        loss: Tensor = (own * right + (1 - own) * other).mean()
        return loss

    def _started(self, rows: Tensor, followed: Tensor, start: Tensor) -> Tensor:
        """Windows that start in a row and end in the next, at an offset from a standard normal number.

        Without a next row the window is the row itself: a coder must not learn an utterance without its beginning.
        """
        values, channels = self._windows.shape[1], self.coder.channels
        samples = values // channels
        steps = (torch.special.ndtr(start[:, 0]) * samples).long().clamp(max=samples - 1) * followed
        from_every_start = self._windows.flatten().unfold(0, values, channels)
        return torch.index_select(from_every_start, 0, rows * samples + steps)

    def _cross_entropy(self, scores: Tensor, codes: Tensor) -> Tensor:
        """Loss per row, summed over the inferences that the row has a label of."""
        losses = [
            functional.cross_entropy(
                block, codes[:, column], ignore_index=MISSING, label_smoothing=SMOOTHING, reduction="none"
            )
            if rank is None
            else ordinal_cross_entropy(block, rank, codes[:, column])
            for column, (block, rank) in enumerate(
                zip(torch.split(scores, self._counts, dim=-1), self._ranks, strict=True)
            )
        ]
        return torch.stack(losses).sum(dim=0)


STEEP = 4.0
"""Weight of a score's rise from one level to the next: keeps scores of many levels within their bounds."""


def ordinal_cross_entropy(scores: Tensor, rank: Tensor, codes: Tensor) -> Tensor:
    """Ordinal loss per row, from scores (row, code); `rank` is each code's place among all levels. 0 without a label.

    A score's rise from one level to the next is the logit of lying beyond that level (Frank and Hall 2001): the highest
    score is at the median, where falling more becomes likelier than rising more, and not at the mode.
    """
    rises = STEEP * scores[:, rank.argsort()].diff(dim=1)
    known = codes != MISSING
    level = rank[codes.clamp(min=0)]
    beyond = (level[:, None] > torch.arange(rises.shape[1])).float()
    smooth = beyond * (1 - SMOOTHING) + SMOOTHING / 2
    return functional.binary_cross_entropy_with_logits(rises, smooth, reduction="none").sum(dim=1) * known


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
    """Fit a network (flat windows to scores) to the chosen rows, independently of all others."""
    rows = torch.tensor(np.flatnonzero(chosen))
    windows, codes = data.windows[rows], torch.tensor(data.targets.codes)[rows]
    followed = torch.tensor(data.followed & np.append(chosen[1:], False))[rows]
    # If the device may lie in any way, subtract the channels' means first.
    level = RemoveLevel(channels) if rotation is not None and rotation.unknown else nn.Identity()
    first = nn.Sequential(_without_directions(data, chosen), level)
    generator = torch.Generator().manual_seed(seed)
    standardise = nn.Sequential(first, Standardise(first(windows.double()).numpy()))
    coder = Coder(standardise(windows), channels, classes=sum(data.targets.counts))
    initialise(coder, generator)
    loss = CoderLoss(data.windows, standardise, coder, targets=data.targets, rotation=rotation)
    job = TrainingJob(loss, (rows, followed, codes), noise=2 + NOISE + WIDTH, generator=generator)
    size = min(max(32, len(rows) // BATCHES), schedule.batch_size)
    train(job, replace(schedule, batch_size=size), progress=progress)
    return nn.Sequential(standardise, coder).eval()


def _without_directions(data: CoderData, chosen: Mask) -> nn.Module:
    """Erase directions first, computed from the chosen rows, so that a coder is independent of the others."""
    if not data.erased:
        return nn.Identity()
    windows = data.windows[torch.tensor(chosen)].double().numpy()
    return EraseDirections(erasing(windows, [column[chosen] for column in data.erased]))


FOLDS = 4


def cross_fit(
    windows: LabelledWindows,
    targets: Targets,
    policy: Policy,
    *,
    hold: Hold = ONE_WINDOW,
    progress: Progress = lambda _: None,
) -> tuple[Network, Floats]:
    """Fit a coder to all labelled windows, and score each window by a coder fitted to other folds; both in the whole
    numbers of a release.

    All windows of an episode are scored by one coder, which learnt from none of them.
    """
    data, seed = CoderData.of(windows, targets, policy), policy.training.seed
    parts = folds(windows, count=FOLDS, seed=seed, hold=hold)
    fit = _fitting(data, policy)
    coder = fit(data.labelled, seed=seed, progress=_part(progress, 0))
    scores = np.empty((len(windows), sum(targets.counts)))
    for place, (learnt, test) in enumerate(parts, start=1):
        other = fit(learnt & data.labelled, seed=seed + place, progress=_part(progress, place))
        scores[test] = other(windows.flat[test])
    return coder, scores


def _fitting(data: CoderData, policy: Policy) -> Callable[..., Network]:
    channels, rotation, most = len(policy.stream.channels), Rotation.of(policy), SCHEDULE.max_epochs
    schedule = replace(SCHEDULE, max_epochs=min(policy.training.max_epochs or most, most))
    return partial(_fitted, data, channels=channels, rotation=rotation, schedule=schedule)


def _fitted(data: CoderData, chosen: Mask, **options: Any) -> Network:
    """Fit a coder to the chosen windows and convert it as for a bundle."""
    return to_network(fit_coder(data, chosen, **options), data.windows.numpy()[chosen], COARSE)


def _part(progress: Progress, place: int) -> Progress:
    """Progress of one of several fits, as a share of all."""
    return lambda share: progress((place + share) / (1 + FOLDS))
