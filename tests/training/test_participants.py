"""A bundle's numbers never equal a participant's own values."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.training.conftest import gym

from deeprotect.bundle.layers.rounding import Quantise
from deeprotect.bundle.layers.structure import Concatenation
from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.labelled_windows import read_windows
from deeprotect.training.networks import power_of_two

SAME = 1e-6


@pytest.fixture(scope="module")
def table():
    """One of five people swings far wider than anybody else, now and then."""
    table = gym(seconds=12)
    wild = np.array(table["person"]) == "p4"
    random = np.random.default_rng(1)
    wider = np.where(wild & (random.uniform(size=len(wild)) < 0.05), random.uniform(1.3, 1.7, len(wild)), 1.0)
    for place, name in enumerate(("acc_x", "acc_y")):
        table = table.set_column(place, name, pa.array(np.asarray(table[name]) * wider))
    return table


@pytest.fixture(scope="module")
def windows(table, gym_policy):
    return read_windows(table, gym_policy)


@pytest.fixture(scope="module")
def protection(windows, gym_policy):
    privacy = {"epsilon": 2.0}
    return learn(FittedModels(windows), gym_policy.vary(privacy=privacy, training={"max_epochs": 2}))


def test_no_extreme_level_of_a_participant_is_among_the_numbers_of_a_bundle(windows, protection):
    levels = levels_of(windows, protection)
    extremes = np.concatenate([levels.min(axis=0), levels.max(axis=0)])
    extremes = extremes[np.abs(extremes) > 1]  # weights crowd around zero: a small number is among them by chance
    assert len(extremes) >= 4
    assert not found(extremes, numbers_of(protection))


def test_no_sample_of_the_wild_participant_is_among_the_numbers_of_a_bundle(windows, protection):
    wild = windows.flat[windows.labels["person"] == "p4"]
    others = windows.flat[windows.labels["person"] != "p4"]
    unlike = wild[((wild < others.min()) | (wild > others.max())) & (wild > 0) & (wild < 1)]
    assert len(unlike) > 5
    assert not found(unlike, numbers_of(protection))


def test_ends_of_a_clip_box_are_coarse(windows, gym_policy):
    privacy, training = {"mechanism": "laplace", "guarantee": "ldp"}, {"feature_extractor": "pca"}
    box = learn(FittedModels(windows), gym_policy.vary(privacy=privacy, training=training)).mechanism.box
    low, high = np.array(box.low), np.array(box.high)
    step = power_of_two(high - low) / 256
    assert np.array_equal(low / step, np.rint(low / step))
    assert np.array_equal(high / step, np.rint(high / step))


def test_numbers_of_a_bundle_are_found_when_they_are_there(protection):
    numbers = numbers_of(protection)
    assert found(numbers[[5, 500, -1]], numbers)


def levels_of(windows, protection):
    """As they are before anything is rounded."""
    shift, factor = (each[0, :, 0].astype(np.float64) for each in protection.encoder.layers[0].ramps)
    series = ((windows.flat - shift) * factor).reshape(len(windows.flat), -1, 2)
    return np.concatenate([getattr(series, name)(axis=1) for name in ("mean", "std", "min", "max")], axis=1)


def numbers_of(protection):
    """Every number that a bundle is made of: of both networks, of the mechanism and of what describes them."""
    tensors = TensorWriter()
    layers = [protection.encoder.to_json(tensors), protection.decoder.to_json(tensors)]
    facts = [layers, protection.mechanism.to_json(), protection.mechanism.certificate(), protection.made_of]
    plain = [float(each) for each in _leaves(json.loads(json.dumps(facts))) if isinstance(each, int | float)]
    ramps = [each.ravel() for layer in _quantising(protection.encoder.layers) for each in layer.ramps]
    arrays = [*tensors.arrays.values(), *ramps, protection.decoder.windows]
    return np.concatenate([*(array.astype(np.float64).ravel() for array in arrays), plain])


def _quantising(layers):
    for layer in layers:
        if isinstance(layer, Quantise):
            yield layer
        for branch in layer.branches if isinstance(layer, Concatenation) else ():
            yield from _quantising(branch)


def found(wanted, numbers):
    """Which of the wanted numbers are there, digit by digit."""
    numbers = np.sort(numbers)
    place = np.searchsorted(numbers, wanted).clip(1, len(numbers) - 1)
    away = np.minimum(np.abs(numbers[place] - wanted), np.abs(numbers[place - 1] - wanted))
    return wanted[away <= SAME * np.abs(wanted)].tolist()


def _leaves(value):
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    else:
        yield value
