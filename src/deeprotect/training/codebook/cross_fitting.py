"""Coders over folds: one to ship, and for each window one that did not learn from it."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from deeprotect.policy import Policy
from deeprotect.signals import Hold
from deeprotect.training.codebook.coder_training import SCHEDULE, CoderData, fit_coder
from deeprotect.training.codebook.rotation import Rotation
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.labels import Targets
from deeprotect.training.splits import ONE_WINDOW, folds
from deeprotect.training.trainer import Progress, Schedule

FOLDS = 4
AT_ONCE = 4096
"""Windows that are scored in one go, so that memory does not grow with a table."""


def cross_fit(
    windows: LabelledWindows,
    targets: Targets,
    policy: Policy,
    *,
    hold: Hold = ONE_WINDOW,
    progress: Progress = lambda _: None,
) -> tuple[nn.Module, Tensor]:
    """The coder learnt from all labelled windows, and each window's scores by one that learnt from other folds.

    All windows of an episode are scored by one coder, which learnt from none of them.
    """
    data, seed = CoderData.of(windows, targets), policy.training.seed
    parts = folds(windows, count=FOLDS, seed=seed, hold=hold)
    channels, rotation = len(policy.stream.channels), Rotation.of(policy)
    fit = partial(fit_coder, data, channels=channels, rotation=rotation, schedule=_schedule(policy))
    coder = fit(data.labelled, seed=seed, progress=_part(progress, 0))
    scores = torch.empty(len(windows), sum(targets.counts))
    for place, (train, test) in enumerate(parts, start=1):
        other = fit(train & data.labelled, seed=seed + place, progress=_part(progress, place))
        scores[torch.tensor(test)] = _scores(other, data.windows[torch.tensor(test)])
    return coder, scores


def _schedule(policy: Policy) -> Schedule:
    return replace(SCHEDULE, max_epochs=min(policy.training.max_epochs or SCHEDULE.max_epochs, SCHEDULE.max_epochs))


def _part(progress: Progress, place: int) -> Progress:
    """Progress of one of the fits, as a share of all."""
    return lambda share: progress((place + share) / (1 + FOLDS))


def _scores(coder: nn.Module, windows: Tensor) -> Tensor:
    with torch.inference_mode():
        return torch.cat([coder(part) for part in torch.split(windows, AT_ONCE)])
