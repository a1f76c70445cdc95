"""Code books for draws that are held."""

import numpy as np
import pytest

from deeprotect.signals import Hold
from deeprotect.training.codebook import coder_training
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.splits import contiguous, folds

HOLD = Hold(5, 5)


def test_all_windows_of_an_episode_are_scored_by_a_coder_that_learnt_from_none_of_them(gym_windows):
    episodes = gym_windows.episodes(HOLD)
    parts = folds(gym_windows, count=coder_training.FOLDS, seed=0, hold=HOLD)
    assert (np.sum([test for _, test in parts], axis=0) == 1).all()
    for train, test in parts:
        assert not set(episodes[train]) & set(episodes[test])


def test_an_episode_is_on_one_side_of_a_split(gym_windows):
    train, test = contiguous(gym_windows, held_out=0.3, seed=0, hold=HOLD)
    episodes = gym_windows.episodes(HOLD)
    assert test.any()
    assert train.any()
    assert not set(episodes[train]) & set(episodes[test])


@pytest.fixture(scope="module")
def models(gym_windows):
    return FittedModels(gym_windows, HOLD)


@pytest.fixture(scope="module")
def held(gym_policy):
    return gym_policy.vary(privacy={"every": "4 s", "epsilon": 5.0, "guarantee": "ldp"})


def test_a_policy_in_seconds_is_a_hold_in_windows(held):
    assert held.hold == HOLD
    assert held.seconds_per_draw == 4.0


@pytest.mark.long
def test_an_episode_has_one_code_and_is_read_no_worse_than_a_window(models, held, gym_windows):
    codes = models.codes(held)
    alone, pooled = codes.book(Hold()), codes.book(HOLD)
    episodes = gym_windows.episodes(HOLD)
    assert all(len(set(pooled.coded[episodes == episode])) == 1 for episode in np.unique(episodes))
    names = np.array(pooled.codes)
    right = [np.mean(names[book.coded] == gym_windows.labels["activity"]) for book in (alone, pooled)]
    assert right[1] >= right[0]


def test_a_protector_releases_as_many_windows_as_it_was_given(models, held, gym_windows):
    from deeprotect.privacy.entropy import SeededEntropy
    from deeprotect.signals.windowing import run_lengths

    protector = learn(models, held)
    released = protector.release(gym_windows.flat, run_lengths(gym_windows.episodes(HOLD)), entropy=SeededEntropy(0))
    assert released.windows.shape == gym_windows.flat.shape
