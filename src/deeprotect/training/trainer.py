"""One loop that trains a batch of equally shaped objectives with Adam, each stopped early on its own held-out rows."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

Rows = tuple[Tensor, ...]
State = dict[str, Tensor]


@dataclass(frozen=True)
class Schedule:
    """How long and how fast; the step size rises for a third of the way, then falls to zero along a cosine."""

    max_epochs: int
    max_steps: int
    batch_size: int
    learning_rate: float
    patience: int

    def epochs(self, steps: int) -> int:
        """Passes over rows that make `steps` batches."""
        return max(1, min(self.max_epochs, self.max_steps // steps))


@dataclass(frozen=True)
class TrainingJob:
    """An objective whose forward(windows, codes, noise) is its loss, its rows, and its own randomness.

    `noise` counts the standard normal numbers that the objective wants beside each row.
    """

    objective: nn.Module
    train: Rows
    held_out: Rows
    noise: int
    generator: torch.Generator

    def batch(self, rows: Rows, index: Tensor) -> Rows:
        drawn = torch.randn(len(index), self.noise, generator=self.generator)
        return (*(values[index] for values in rows), drawn)

    def shape(self, schedule: Schedule) -> tuple[object, ...]:
        """Jobs of one shape can share a loop: same weights, same batches, same number of steps."""
        size = min(schedule.batch_size, len(self.train[0]))
        steps = -(-len(self.train[0]) // size)
        weights = tuple((name, value.shape) for name, value in self.objective.state_dict().items())
        return size, steps, len(self.held_out[0]) > 0, weights


def train(jobs: Sequence[TrainingJob], schedule: Schedule) -> None:
    """Train every job's objective in place; those of one shape run as one batch, with equal results."""
    groups: dict[tuple[object, ...], list[TrainingJob]] = {}
    for job in jobs:
        groups.setdefault(job.shape(schedule), []).append(job)
    for (size, steps, *_), group in groups.items():
        best = _Group(group, schedule).run(int(str(size)), int(str(steps)))
        for place, job in enumerate(group):
            job.objective.load_state_dict({name: values[place] for name, values in best.items()}, strict=False)


class _Group:
    """Equally shaped jobs, their weights stacked along a leading model axis."""

    def __init__(self, jobs: Sequence[TrainingJob], schedule: Schedule) -> None:
        self._jobs = jobs
        self._schedule = schedule
        self._weights, self._buffers = stack_module_state([job.objective for job in jobs])
        self._skeleton = copy.deepcopy(jobs[0].objective).to("meta")
        # One noise draw for all checks, so that checks differ by the weights alone.
        self._checks = [job.batch(rows := job.held_out, torch.arange(len(rows[0]))) for job in jobs]

    def run(self, size: int, steps: int) -> State:
        """The weights of each job's best check (of the last step where nothing is held out)."""
        learning = [value for value in self._weights.values() if value.requires_grad]
        optimiser = torch.optim.Adam(learning, lr=self._schedule.learning_rate, fused=True)
        scheduler = _scheduler(optimiser, self._schedule, steps=steps)
        stopping = EarlyStopping(self._weights, patience=self._schedule.patience)
        for _ in range(self._schedule.epochs(steps)):
            self._skeleton.train()
            orders = [_order(job, size * steps) for job in self._jobs]
            for step in range(steps):
                here = slice(step * size, (step + 1) * size)
                optimiser.zero_grad()
                self._losses(orders, here).sum().backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                scheduler.step()
            if stopping.stop(self._check()):
                break
        return stopping.best

    def _losses(self, orders: list[Tensor], here: slice) -> Tensor:
        batches = [job.batch(job.train, order[here]) for job, order in zip(self._jobs, orders, strict=True)]
        if len(batches) == 1:  # vmap costs more than it saves on a single model
            return self._loss(*self._state(0), batches[0])[None]
        stacked = tuple(torch.stack(values) for values in zip(*batches, strict=True))
        return torch.vmap(self._loss)(self._weights, self._buffers, stacked)

    def _loss(self, weights: State, buffers: State, batch: Rows) -> Tensor:
        loss: Tensor = functional_call(self._skeleton, (weights, buffers), batch)
        return loss

    def _state(self, place: int) -> tuple[State, State]:
        weights, buffers = (
            {name: value[place] for name, value in stack.items()} for stack in (self._weights, self._buffers)
        )
        return weights, buffers

    @torch.no_grad()
    def _check(self) -> Tensor | None:
        """Held-out loss of each job; None when the jobs have no held-out rows."""
        if not len(self._checks[0][0]):
            return None
        self._skeleton.eval()
        return torch.stack([self._loss(*self._state(place), rows) for place, rows in enumerate(self._checks)])


class EarlyStopping:
    """Remembers each model's best weights, and says when all models have been without progress for long enough."""

    def __init__(self, weights: State, *, patience: int) -> None:
        self._weights = weights
        self._patience = patience
        self._lowest = torch.full((len(next(iter(weights.values()))),), torch.inf)
        self._waited = torch.zeros_like(self._lowest)
        self.best = {name: value.detach().clone() for name, value in weights.items()}

    def stop(self, losses: Tensor | None) -> bool:
        going = self._waited < self._patience
        better = going if losses is None else going & (losses < self._lowest)
        for name, value in self._weights.items():
            self.best[name][better] = value.detach()[better]
        if losses is None:
            return False
        self._lowest = torch.where(better, losses, self._lowest)
        self._waited = torch.where(better, 0.0, torch.where(going, self._waited + 1, self._waited))
        return bool((self._waited >= self._patience).all())


def _scheduler(
    optimiser: torch.optim.Optimizer, schedule: Schedule, *, steps: int
) -> torch.optim.lr_scheduler.OneCycleLR:
    return torch.optim.lr_scheduler.OneCycleLR(
        optimiser, schedule.learning_rate, total_steps=schedule.epochs(steps) * steps, cycle_momentum=False
    )


def hold_out(rows: int, share: float) -> NDArray[np.bool_]:
    """Evenly spread runs of neighbouring rows: neighbours in time look alike, so single rows would flatter the model,
    and one run at the end may be a single person or activity."""
    if share <= 0.0 or rows < 20:
        return np.zeros(rows, dtype=bool)
    run = min(8, rows // 20)
    period = max(2, round(1 / share))
    return np.asarray((np.arange(rows) // run) % period == period - 1)


def _order(job: TrainingJob, count: int) -> Tensor:
    """A shuffle of the training rows, its beginning repeated to fill the last batch."""
    rows = len(job.train[0])
    shuffled = torch.randperm(rows, generator=job.generator)
    return shuffled[torch.arange(count) % rows]
