"""Coders over folds."""

import numpy as np
import pytest
from torch import nn

from deeprotect.training.codebook import coder_training
from deeprotect.training.codebook.coder_training import SCHEDULE
from deeprotect.training.labelled_windows import Targets


def counting(number: int, values: int) -> nn.Module:
    """Its own number for every window, as a score."""
    layer = nn.Linear(values, 3)
    nn.init.zeros_(layer.weight)
    nn.init.constant_(layer.bias, number)
    return layer


@pytest.fixture
def fits(monkeypatch):
    """Rows and schedule of each coder that would have been trained."""
    seen = []

    def fit(data, chosen, *, schedule, progress, **_):
        seen.append((chosen, schedule))
        progress(0.5)
        progress(1.0)
        return counting(len(seen) - 1, data.windows.shape[1])

    monkeypatch.setattr(coder_training, "fit_coder", fit)
    return seen


@pytest.fixture
def targets(gym_windows):
    found = Targets.read(gym_windows.targets(["activity"]), len(gym_windows))
    found.codes[::11] = -1
    return found


def test_every_window_is_scored_by_a_coder_that_did_not_learn_from_it(gym_windows, gym_policy, targets, fits):
    _, scores = coder_training.cross_fit(gym_windows, targets, gym_policy)
    assert len(fits) == 1 + coder_training.FOLDS
    for row, number in enumerate(scores[:, 0].astype(int).tolist()):
        assert number >= 1
        assert not fits[number][0][row]


def test_the_shipped_coder_learns_from_every_labelled_window(gym_windows, gym_policy, targets, fits):
    coder, _ = coder_training.cross_fit(gym_windows, targets, gym_policy)
    assert not coder(gym_windows.flat).any()
    assert np.array_equal(fits[0][0], targets.codes[:, 0] >= 0)
    assert not any(chosen[targets.codes[:, 0] < 0].any() for chosen, _ in fits)


@pytest.mark.parametrize(("asked", "given"), [(None, SCHEDULE.max_epochs), (6, 6), (10_000, SCHEDULE.max_epochs)])
def test_a_policy_may_ask_for_fewer_epochs(gym_windows, gym_policy, targets, fits, asked, given):
    coder_training.cross_fit(gym_windows, targets, gym_policy.vary(training={"max_epochs": asked}))
    assert {schedule.max_epochs for _, schedule in fits} == {given}


def test_progress_goes_from_coder_to_coder(gym_windows, gym_policy, targets, fits):
    shares = []
    coder_training.cross_fit(gym_windows, targets, gym_policy, progress=shares.append)
    halves = 2 * (1 + coder_training.FOLDS)
    assert shares == pytest.approx([(place + 1) / halves for place in range(halves)])
