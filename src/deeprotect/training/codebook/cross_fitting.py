"""Coders over folds: one to ship, and for each window one that did not learn from it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder_training import SCHEDULE, CoderData, fit_coders
from deeprotect.training.dataset import LabelledWindows
from deeprotect.training.labels import Targets
from deeprotect.training.splits import Mask, contiguous, folds
from deeprotect.training.trainer import Schedule

FOLDS = 5
HELD_OUT = 0.2
SHORTER, WORTH_A_TRIAL = 5, 20
"""A schedule of at least so many epochs is tried against one that is so many times shorter."""


def cross_fit(windows: LabelledWindows, targets: Targets, policy: Policy) -> tuple[nn.Module, Tensor]:
    """The coder learnt from all labelled windows, and each window's scores by one that learnt from other folds."""
    parts = folds(windows, count=FOLDS, seed=policy.training.seed)
    labelled = np.asarray((targets.codes >= 0).any(axis=1))
    data = [_data(windows, targets, side & labelled) for side in (labelled, *(train for train, _ in parts))]
    fit = partial(fit_coders, channels=len(policy.stream.channels), seed=policy.training.seed)
    past, future = contiguous(windows, held_out=HELD_OUT, seed=policy.training.seed)
    earlier, later = (_data(windows, targets, part & labelled) for part in (past, future))
    schedule = _right_length(partial(fit, [earlier]), later, _schedules(policy))
    coder, *crossed = fit(data, schedule=schedule)
    scores = torch.empty(len(windows), sum(targets.counts))
    for (_, test), other in zip(parts, crossed, strict=True):
        scores[torch.tensor(test)] = _scores(other, windows.flat[test])
    return coder, scores


def _schedules(policy: Policy) -> list[Schedule]:
    """The policy's epochs, and a fifth of them: on some tables a coder soon overfits, on others it learns on."""
    epochs = min(policy.training.max_epochs or SCHEDULE.max_epochs, SCHEDULE.max_epochs)
    whole = replace(SCHEDULE, max_epochs=epochs)
    short = replace(whole, max_epochs=-(-epochs // SHORTER), max_steps=whole.max_steps // SHORTER)
    return [whole, short] if epochs >= WORTH_A_TRIAL else [whole]


def _right_length(fit: Callable[..., list[nn.Sequential]], later: CoderData, schedules: Sequence[Schedule]) -> Schedule:
    """The schedule whose coder classifies later windows best: overfitting helps between windows, not after them."""
    if len(schedules) == 1:
        return schedules[0]
    return max(schedules, key=lambda schedule: _accuracy(fit(schedule=schedule)[0], later))


def _accuracy(coder: nn.Sequential, data: CoderData) -> float:
    """The share of labels that the coder gets right, all inferences together."""
    blocks = torch.split(_scores(coder, data.windows), list(data.targets.counts), dim=-1)
    named = np.stack([block.argmax(dim=-1).numpy() for block in blocks], axis=1)
    known = data.targets.codes >= 0
    return float((named == data.targets.codes)[known].sum() / max(1, known.sum()))


def _data(windows: LabelledWindows, targets: Targets, part: Mask) -> CoderData:
    side = windows[part]
    return CoderData(side.flat, side.following.reshape(len(side), -1), Targets(targets.codes[part], targets.classes))


def _scores(coder: nn.Module, flat: Floats) -> Tensor:
    with torch.inference_mode():
        scores: Tensor = coder(torch.tensor(flat, dtype=torch.float32))
    return scores
