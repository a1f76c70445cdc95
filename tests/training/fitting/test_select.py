"""The mechanism that `auto` takes: all are read by the same apps, on the same windows."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.training.fitting import builders as choosing
from deeprotect.training.fitting.fitted_models import HELD_OUT, FittedModels
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.splits import measurable


@pytest.fixture
def read_at(monkeypatch, gym_windows):
    """Apps read the channel in so many windows of a hundred, and each rival in half; its own book expects 0.59.

    Gives the names of what was built.
    """
    names = []
    channel = TrainedProtector(
        None,
        None,
        None,
        {"expected_accuracy": 0.59, "expected_cost": 0.41},
        coded=np.zeros(len(gym_windows), dtype=int),
    )

    def readings(share, validation):
        classes = np.array(["run", "still", "walk"])
        right = validation.held_out.labels["activity"][:, None].astype(str) == classes
        return {"activity": (classes, np.where(right, share, (1 - share) / 2))}

    def reading(share):
        monkeypatch.setattr(choosing, "build", lambda name, *_: names.append(name) or channel)
        monkeypatch.setattr(choosing, "_through_channel", lambda _, validation: readings(share, validation))
        monkeypatch.setattr(
            choosing, "_through", lambda name, validation, _: names.append(f"try {name}") or readings(0.5, validation)
        )
        return names

    return reading


def test_what_a_channel_expects_of_itself_does_not_count(gym_windows, gym_policy, read_at):
    names = read_at(0.26)
    policy = gym_policy.vary(privacy={"epsilon": 5.0, "guarantee": "ldp"})
    made = choosing.select(FittedModels(gym_windows), policy)
    assert names == ["channel", "try laplace", "laplace"]
    assert made.made_of["chosen_for_expected_accuracy"] == pytest.approx({"channel": 0.26, "laplace": 0.5})


def test_a_mechanism_that_cannot_win_is_not_tried_and_no_bound_stands_for_what_to_expect(
    gym_windows, gym_policy, read_at
):
    names = read_at(0.9)
    policy = gym_policy.vary(privacy={"epsilon": 1.0, "guarantee": "ldp"})
    made = choosing.select(FittedModels(gym_windows), policy)
    assert names == ["channel"]
    assert made.made_of["chosen_for_expected_accuracy"] == pytest.approx({"channel": 0.9})


def test_one_that_might_win_is_tried(gym_windows, gym_policy, read_at):
    names = read_at(0.6)
    policy = gym_policy.vary(privacy={"epsilon": 5.0, "guarantee": "ldp"})
    made = choosing.select(FittedModels(gym_windows), policy)
    assert names == ["channel", "try laplace"]
    assert made.made_of["chosen_for_expected_accuracy"] == pytest.approx({"channel": 0.6, "laplace": 0.5})


def test_where_misreadings_have_costs_the_limit_says_nothing(gym_windows, gym_policy, read_at):
    names = read_at(0.9)
    costs = {"activity": {"run": {"walk": 0.1}}}
    policy = gym_policy.vary(privacy={"epsilon": 1.0, "guarantee": "ldp"}, training={"cost_matrix": costs})
    made = choosing.select(FittedModels(gym_windows), policy)
    assert names == ["channel", "try laplace"]
    found = made.made_of["chosen_for_expected_cost"]
    assert found["channel"] < found["laplace"] < 0.5


@pytest.mark.long
def test_all_are_measured_on_the_same_windows(gym_windows, gym_policy):
    """Windows that are held out tell nothing here: no mechanism can be read there, and none may be expected to be."""
    policy = gym_policy.vary(privacy={"epsilon": 8.0, "guarantee": "ldp", "mechanism": "auto"})
    models = FittedModels(gym_windows)
    _, rest = measurable(gym_windows, held_out=HELD_OUT, seed=0, hold=models.longest)
    samples = gym_windows.samples.copy()
    samples[rest] = samples[np.random.default_rng(0).permutation(np.flatnonzero(rest))]
    made = choosing.select(FittedModels(replace(gym_windows, samples=samples)), policy)
    expected = made.made_of["chosen_for_expected_accuracy"]
    assert max(expected.values()) < 0.55, "three classes of equal shares: chance is a third"
    assert made.made_of.get("expected_accuracy", 1.0) > 0.7, "the book itself counts over all windows"
