"""The training loop: early stopping keeps the best, and what is held out is contiguous and spread."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from deeprotect.training.trainer import EarlyStopping, Schedule, TrainingJob, hold_out, train


class Distance(nn.Module):
    """Squared distance of one number to the mean of the rows."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.tensor([start]))

    def forward(self, rows: Tensor, codes: Tensor, noise: Tensor) -> Tensor:
        return (self.place - rows).square().mean()


def job(start: float, train: float, held_out: float) -> TrainingJob:
    def rows(value: float) -> tuple[Tensor, Tensor]:
        return torch.full((8, 1), value), torch.zeros(8, 0, dtype=torch.int64)

    generator = torch.Generator().manual_seed(0)
    return TrainingJob(Distance(start), rows(train), held_out=rows(held_out), noise=0, generator=generator)


def test_the_weights_of_the_best_check_are_kept() -> None:
    learner = job(0.0, train=10.0, held_out=2.0)
    train(learner, Schedule(max_epochs=200, max_steps=200, batch_size=8, learning_rate=0.2, patience=500))
    assert learner.objective.place.item() == pytest.approx(2.0, abs=0.2)


def test_a_model_that_makes_no_progress_stops() -> None:
    learner = job(0.0, train=10.0, held_out=0.0)
    train(learner, Schedule(max_epochs=200, max_steps=200, batch_size=8, learning_rate=0.2, patience=5))
    assert abs(learner.objective.place.item()) < 0.5


def test_without_held_out_rows_the_last_weights_stay() -> None:
    learner = job(0.0, train=10.0, held_out=0.0)
    nothing = tuple(rows[:0] for rows in learner.held_out)
    schedule = Schedule(max_epochs=200, max_steps=200, batch_size=8, learning_rate=0.2, patience=5)
    train(replace(learner, held_out=nothing), schedule)
    assert learner.objective.place.item() == pytest.approx(10.0, abs=0.3)


def test_later_progress_does_not_count_once_training_has_stopped() -> None:
    model = Distance(1.0)
    stopping = EarlyStopping(model, patience=1)
    assert not stopping.stop(1.0)
    model.place.data.fill_(2.0)
    assert stopping.stop(1.5)
    stopping.restore()
    assert model.place.item() == 1.0


def test_long_data_gets_fewer_passes() -> None:
    schedule = Schedule(max_epochs=100, max_steps=1000, batch_size=8, learning_rate=0.1, patience=5)
    assert [schedule.epochs(steps) for steps in (1, 10, 100, 10**6)] == [100, 100, 10, 1]


@given(rows=st.integers(20, 3000), share=st.floats(0.05, 0.5))
def test_held_out_rows_are_a_share_in_runs_and_never_all(rows: int, share: float) -> None:
    aside = hold_out(rows, share)
    assert 0 < aside.sum() < rows
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], aside.astype(int), [0]]))))[::2]
    assert (runs[:-1] == min(8, rows // 20)).all()


@pytest.mark.parametrize(("rows", "share"), [(5, 0.2), (100, 0.0)])
def test_nothing_is_held_out_of_little_data_or_on_wish(rows: int, share: float) -> None:
    assert not hold_out(rows, share).any()
