"""The mechanism that `auto` takes, and which ones it need not try."""

import pytest

from deeprotect.training.fitting import select as choosing
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.fitting.trained import TrainedProtector


@pytest.fixture
def tried(monkeypatch):
    """Names of what is tried beside a channel of which so much is expected; trying it finds an accuracy of 0.5."""
    names = []

    def expecting(accuracy):
        channel = TrainedProtector(None, None, None, {"expected_accuracy": accuracy, "expected_cost": 1 - accuracy})
        monkeypatch.setattr(choosing, "build", lambda *_: channel)
        monkeypatch.setattr(choosing, "_validated", lambda name, *_: names.append(name) or 0.5)
        return names

    return expecting


def test_a_mechanism_that_cannot_win_is_not_tried(gym_windows, gym_policy, tried):
    names = tried(0.9)
    policy = gym_policy.vary(privacy={"epsilon": 1.0, "guarantee": "ldp"})
    made = choosing.select(FittedModels(gym_windows), policy)
    assert names == []
    assert 0.5 < made.made_of["chosen_for_expected_accuracy"]["laplace"] < 0.9


def test_one_that_might_win_is_tried(gym_windows, gym_policy, tried):
    names = tried(0.6)
    policy = gym_policy.vary(privacy={"epsilon": 5.0, "guarantee": "ldp"})
    made = choosing.select(FittedModels(gym_windows), policy)
    assert names == ["laplace"]
    assert made.made_of["chosen_for_expected_accuracy"] == {"channel": 0.6, "laplace": 0.5}


def test_where_misreadings_have_costs_the_limit_says_nothing(gym_windows, gym_policy, tried):
    names = tried(0.9)
    costs = {"activity": {"run": {"walk": 0.1}}}
    policy = gym_policy.vary(privacy={"epsilon": 1.0, "guarantee": "ldp"}, training={"cost_matrix": costs})
    choosing.select(FittedModels(gym_windows), policy)
    assert names == ["laplace"]
