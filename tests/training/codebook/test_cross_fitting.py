"""Coders over folds."""

import numpy as np
import pytest
import torch
from torch import nn

from deeprotect.training.codebook import cross_fitting as crossfit
from deeprotect.training.codebook.coder_training import SCHEDULE, CoderData
from deeprotect.training.labels import Targets


class Fixed(nn.Module):
    """The same class for every window."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def forward(self, windows):
        return torch.eye(2)[[self.number] * len(windows)]


def data(*labels):
    names = np.array([[label] for label in labels], dtype=object)
    windows = np.zeros((len(labels), 3))
    return CoderData(windows, windows, Targets.read(names, len(labels)))


def test_a_short_schedule_is_tried_where_there_is_time_to_overfit(gym_policy):
    whole, short = crossfit._schedules(gym_policy.vary(training={"max_epochs": 50}))
    assert (whole.max_epochs, short.max_epochs) == (50, 10)
    assert short.max_steps * 5 == whole.max_steps
    (only,) = crossfit._schedules(gym_policy.vary(training={"max_epochs": 6}))
    assert only.max_epochs == 6


@pytest.mark.parametrize(("later", "chosen"), [("aab", 0), ("abb", 1)])
def test_later_windows_decide_how_long_a_coder_learns(gym_policy, later, chosen):
    schedules = crossfit._schedules(gym_policy.vary(training={"max_epochs": 50}))
    coders = dict(zip(schedules, (Fixed(0), Fixed(1)), strict=True))
    found = crossfit._right_length(lambda *, schedule: [coders[schedule]], data(*later), schedules)
    assert found is schedules[chosen]


def test_a_single_schedule_costs_no_trial():
    assert crossfit._right_length(lambda **_: pytest.fail("trained"), data("a", "b"), [SCHEDULE]) is SCHEDULE


def test_every_window_is_coded_by_a_coder_that_did_not_see_it(gym_windows, gym_policy, monkeypatch):
    seen = []

    def fit(several, **_):
        seen.extend({row.tobytes() for row in each.windows} for each in several)
        return [Fixed(0) for _ in several]

    monkeypatch.setattr(crossfit, "fit_coders", fit)
    policy = gym_policy.vary(training={"max_epochs": 6})
    targets = Targets.read(gym_windows.targets(["activity"]), len(gym_windows))
    targets = Targets(np.minimum(targets.codes, 1), (targets.classes[0][:2],))
    _, scores = crossfit.cross_fit(gym_windows, targets, policy)
    assert (scores == torch.tensor([1.0, 0.0])).all()
    whole, *folds = seen
    assert len(folds) == crossfit.FOLDS
    assert all(fold < whole for fold in folds)
    assert set.intersection(*folds) == set()
