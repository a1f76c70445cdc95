"""The loop that trains an objective with Adam and stops early on held-out rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR

Rows = tuple[Tensor, ...]
Progress = Callable[[float], None]
"""Called with the completed share of the work, 0 to 1."""


@dataclass(frozen=True)
class Schedule:
    """Length and speed of training; the step size rises for a third of the way, then falls to zero along a cosine."""

    max_epochs: int
    max_steps: int
    batch_size: int
    learning_rate: float
    patience: int

    def epochs(self, steps: int) -> int:
        """Number of passes over the rows that make `steps` batches."""
        return max(1, min(self.max_epochs, self.max_steps // steps))


@dataclass(frozen=True)
class TrainingJob:
    """An objective whose forward(*rows, noise) is its loss, its rows, and its own randomness.

    `noise` is the number of standard normal values that the objective needs per row; `held_out` may be all False.
    """

    objective: nn.Module
    train: Rows
    noise: int
    generator: torch.Generator
    held_out: Rows = ()

    def batch(self, rows: Rows, index: Tensor) -> Rows:
        drawn = torch.randn(len(index), self.noise, generator=self.generator)
        return (*(values[index] for values in rows), drawn)


def train(job: TrainingJob, schedule: Schedule, *, progress: Progress = lambda _: None) -> None:
    """Train the job's objective in place; if rows are held out, keep the weights of the best check."""
    objective, size = job.objective, min(schedule.batch_size, len(job.train[0]))
    steps = -(-len(job.train[0]) // size)
    learning = [value for value in objective.parameters() if value.requires_grad]
    optimiser = torch.optim.Adam(learning, lr=schedule.learning_rate, fused=True)
    total = schedule.epochs(steps) * steps
    scheduler = OneCycleLR(optimiser, schedule.learning_rate, total_steps=total, cycle_momentum=False)
    # One noise draw for all checks, so that checks differ only in the weights.
    check = job.batch(job.held_out, torch.arange(len(job.held_out[0]))) if job.held_out else ()
    stopping = EarlyStopping(objective, patience=schedule.patience)
    for epoch in range(epochs := schedule.epochs(steps)):
        objective.train()
        for index in torch.split(_order(job, size * steps), size):
            optimiser.zero_grad()
            objective(*job.batch(job.train, index)).backward()
            optimiser.step()
            scheduler.step()
        progress((epoch + 1) / epochs)
        if check and len(check[0]) and stopping.stop(_loss(objective, check)):
            break
    stopping.restore()


@torch.no_grad()
def _loss(objective: nn.Module, rows: Rows) -> float:
    objective.eval()
    return float(objective(*rows))


class EarlyStopping:
    """Remembers the weights with the lowest loss, and stops after too many checks without progress."""

    def __init__(self, model: nn.Module, *, patience: int) -> None:
        self._model = model
        self._patience = patience
        self._lowest, self._waited = float("inf"), 0
        self._best: dict[str, Tensor] | None = None

    def stop(self, loss: float) -> bool:
        if loss < self._lowest:
            self._lowest, self._waited = loss, 0
            self._best = {name: value.detach().clone() for name, value in self._model.state_dict().items()}
        else:
            self._waited += 1
        return self._waited >= self._patience

    def restore(self) -> None:
        """Restore the best weights, if there was a check."""
        if self._best is not None:
            self._model.load_state_dict(self._best)


def hold_out(rows: int, share: float) -> NDArray[np.bool_]:
    """Hold out evenly spread runs of neighbouring rows. Neighbours in time resemble each other, so single rows would
    flatter the model, and one run at the end may be a single person or activity."""
    if share <= 0.0 or rows < 20:
        return np.zeros(rows, dtype=bool)
    run = min(8, rows // 20)
    period = max(2, round(1 / share))
    return np.asarray((np.arange(rows) // run) % period == period - 1)


def _order(job: TrainingJob, count: int) -> Tensor:
    """Shuffle the training rows, repeating the first ones to fill the last batch."""
    rows = len(job.train[0])
    shuffled = torch.randperm(rows, generator=job.generator)
    return shuffled[torch.arange(count) % rows]


@cache
def _libraries() -> ThreadpoolController:
    """Cached, because inspecting all libraries of the process takes longer than many fits."""
    return ThreadpoolController()


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit libraries to one thread: layers of a few hundred weights gain nothing from a second one, and waiting for it
    costs 10× on busy cores.

    Results also do not depend on the number of cores: two threads add up matrix products in another order, and one last
    digit of a scale is enough to change the noise.
    """
    before = torch.get_num_threads()
    with _libraries().limit(limits=1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
