"""Directions of sensitive inferences are taken out before a coder learns, and what it reads beside them stays."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeClassifier
from tests.fibres import neighbours
from tests.training.conftest import POLICY

from deeprotect.bundle.layers.erasing import Erase
from deeprotect.errors import PolicyError
from deeprotect.policy import Policy
from deeprotect.training.codebook.coder_training import CoderData, fit_coder
from deeprotect.training.erasing import EraseDirections, erasing
from deeprotect.training.export import COARSE, to_network
from deeprotect.training.labelled_windows import Targets

CHANNELS = 2
LINES = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def policy():
    return Policy.from_tables(POLICY).vary(privacy={"guarantee": "rldp"})


@pytest.fixture(scope="module")
def coder(gym_windows, policy):
    data = CoderData.of(gym_windows, Targets.read(gym_windows.targets(["activity"]), len(gym_windows)), policy)
    return to_network(fit_coder(data, data.labelled, channels=CHANNELS, seed=0), gym_windows.flat, COARSE)


def people(count, values, classes, random):
    """Windows whose classes differ in their means, along random lines."""
    truth = random.integers(classes, size=count)
    flat = 0.5 + 0.05 * random.normal(size=(count, values)) + 0.03 * random.normal(size=(classes, values))[truth]
    return np.clip(flat, 0, 1), truth.astype(str).astype(object)


@settings(max_examples=25)
@given(LINES, st.integers(2, 9))
def test_pivots_move_no_other_place_by_more_than_about_one(seed, classes):
    flat, truth = people(300, 24, classes, np.random.default_rng(seed))
    layer = erasing(flat, [truth])
    assert len(layer.pivots) == (1 if classes == 2 else classes - 1)
    assert np.abs(layer.directions).max() <= 1.02


@settings(max_examples=25)
@given(LINES)
def test_the_layer_gives_what_the_coder_learns_from(seed):
    flat, truth = people(300, 24, 5, np.random.default_rng(seed))
    module = EraseDirections(erasing(flat, [truth]))
    found, wanted = to_network(module, flat, COARSE)(flat), module(torch.tensor(flat)).numpy()
    np.testing.assert_allclose(found, wanted, atol=2e-3)


def test_the_classifiers_that_gave_the_directions_read_one_class_everywhere():
    flat, truth = people(900, 24, 4, np.random.default_rng(3))
    module = EraseDirections(erasing(flat, [truth]))
    erased = to_network(module, flat, COARSE)(flat)
    classifier = RidgeClassifier(alpha=1e-3).fit(flat, truth.astype(str))
    assert classifier.score(flat, truth.astype(str)) > 0.5
    assert len(np.unique(classifier.predict(erased))) == 1


def test_a_coder_behind_the_erasure_begins_with_it_and_reads_as_well(coder, gym_windows):
    assert isinstance(coder.layers[0], Erase)
    names = np.array(["run", "still", "walk"])[coder(gym_windows.flat).argmax(axis=1)]
    known = gym_windows.labelled("activity")
    assert np.mean(names[known] == gym_windows.labels["activity"][known]) > 0.95


def test_windows_of_equal_y_have_the_same_scores_bit_by_bit(coder):
    one, other = neighbours(coder.layers[0], np.random.default_rng(0), count=200)
    np.testing.assert_array_equal(coder(one), coder(other))


def test_directions_are_those_of_the_windows_learnt_from_alone(gym_windows, policy):
    data = CoderData.of(gym_windows, Targets.read(gym_windows.targets(["activity"]), len(gym_windows)), policy)
    half = np.arange(len(gym_windows)) < len(gym_windows) // 2
    layers = []
    for rest in (0.0, 0.9):
        changed = torch.where(torch.tensor(half)[:, None], data.windows, rest * data.windows)
        module = fit_coder(replace(data, windows=changed), half, channels=CHANNELS, seed=0)
        layers.append(to_network(module, changed.numpy()[half], COARSE).layers[0])
    np.testing.assert_array_equal(layers[0].others, layers[1].others)


def test_nothing_left_or_nothing_to_hide_is_refused():
    flat, truth = people(100, 4, 9, np.random.default_rng(0))
    with pytest.raises(PolicyError, match="nothing would be left"):
        erasing(flat, [truth])
    with pytest.raises(PolicyError, match=r"no class of inferences\.sensitive"):
        erasing(flat, [np.full(100, "one", dtype=object)])
