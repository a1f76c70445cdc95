"""Coders over folds: one to ship, and for each window one that did not learn from it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.labels import Targets
from deeprotect.training.naming import SCHEDULE, Job, fit_coders
from deeprotect.training.splits import Mask, contiguous, folds
from deeprotect.training.trainer import Schedule
from deeprotect.training.windows import Indices, LabelledWindows

FOLDS = 5
HELD_OUT = 0.2
SHORTER, WORTH_A_TRIAL = 5, 20
"""A schedule of at least so many epochs is tried against one that is so many times shorter."""


class Codes(nn.Module):
    """Scores of all inferences side by side to the number of the joint class, as a column of floats."""

    table: Tensor

    def __init__(self, counts: Sequence[int], table: Indices) -> None:
        super().__init__()
        self._counts = list(counts)
        self.register_buffer("table", torch.tensor(table))

    def forward(self, scores: Tensor) -> Tensor:
        joint = torch.zeros_like(scores[:, 0], dtype=torch.int64)
        for count, block in zip(self._counts, torch.split(scores, self._counts, dim=-1), strict=True):
            joint = joint * count + block.argmax(dim=-1)
        return self.table[joint][:, None].to(scores.dtype)


def cross_fit(
    windows: LabelledWindows, targets: Targets, policy: Policy, *, table: Indices
) -> tuple[nn.Module, Indices]:
    """The encoder learnt from all labelled windows, and each window's code by one that learnt from other folds.

    `table` says which code each joint class gets.
    """
    parts = folds(windows, count=FOLDS, seed=policy.training.seed)
    labelled = np.asarray((targets.codes >= 0).any(axis=1))
    jobs = [_job(windows, targets, side & labelled) for side in (labelled, *(train for train, _ in parts))]
    fit = partial(fit_coders, channels=len(policy.stream.channels), seed=policy.training.seed)
    past, future = contiguous(windows, held_out=HELD_OUT, seed=policy.training.seed)
    earlier, later = (_job(windows, targets, part & labelled) for part in (past, future))
    schedule = _right_length(partial(fit, [earlier]), later, _schedules(policy))
    coders = fit(jobs, schedule=schedule)
    encoder, *crossed = (nn.Sequential(coder, Codes(targets.counts, table)).eval() for coder in coders)
    coded = np.empty(len(windows), dtype=np.int64)
    for (_, test), other in zip(parts, crossed, strict=True):
        coded[test] = _code(other, windows.flat[test])
    return encoder, coded


def _schedules(policy: Policy) -> list[Schedule]:
    """The policy's epochs, and a fifth of them: on some tables a coder soon learns by heart, on others it learns on."""
    epochs = min(policy.training.max_epochs or SCHEDULE.max_epochs, SCHEDULE.max_epochs)
    whole = replace(SCHEDULE, max_epochs=epochs)
    short = replace(whole, max_epochs=-(-epochs // SHORTER), max_steps=whole.max_steps // SHORTER)
    return [whole, short] if epochs >= WORTH_A_TRIAL else [whole]


def _right_length(fit: Callable[..., list[nn.Sequential]], later: Job, schedules: Sequence[Schedule]) -> Schedule:
    """The schedule whose coder names later windows best: what is learnt by heart helps between windows, not after."""
    if len(schedules) == 1:
        return schedules[0]
    return max(schedules, key=lambda schedule: _share_named(fit(schedule=schedule)[0], later))


def _share_named(coder: nn.Sequential, job: Job) -> float:
    """The share of labels that the coder gets right, all inferences together."""
    with torch.inference_mode():
        blocks = torch.split(coder(torch.tensor(job.windows, dtype=torch.float32)), list(job.targets.counts), dim=-1)
    named = np.stack([block.argmax(dim=-1).numpy() for block in blocks], axis=1)
    known = job.targets.codes >= 0
    return float((named == job.targets.codes)[known].sum() / max(1, known.sum()))


def _job(windows: LabelledWindows, targets: Targets, part: Mask) -> Job:
    side = windows[part]
    return Job(side.flat, side.following.reshape(len(side), -1), Targets(targets.codes[part], targets.classes))


def _code(encoder: nn.Module, flat: Floats) -> Indices:
    with torch.inference_mode():
        return np.asarray(encoder(torch.tensor(flat, dtype=torch.float32))[:, 0].numpy(), dtype=np.int64)
