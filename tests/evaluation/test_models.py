"""Inference models by name."""

import numpy as np
import pytest

from deeprotect.errors import InputError
from deeprotect.evaluation.models import MODELS, train


def _clouds(classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(classes, size=200)
    labels = np.array([f"class {number}" for number in numbers], dtype=object)
    return np.eye(4)[numbers] + rng.normal(0, 0.15, (200, 4)), labels


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_tells_apart_what_is_apart(name: str, classes: int) -> None:
    windows, labels = _clouds(classes)
    unseen, truth = _clouds(classes, seed=1)
    assert np.mean(train(name, windows, labels, seed=0).predict(unseen) == truth.astype(str)) > 0.95


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    windows, labels = _clouds(3)
    first, second = (train(name, windows, labels, seed=7).scores(windows) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_finite_and_one_per_class(name: str) -> None:
    windows, labels = _clouds(2)
    scores = train(name, windows, labels, seed=0).scores(windows)
    assert scores.shape == (200, 2)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_single_class_is_always_guessed(name: str) -> None:
    model = train(name, np.zeros((5, 2)), np.array(["only"] * 5, dtype=object), seed=0)
    assert model.predict(np.ones((3, 2))).tolist() == ["only"] * 3


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="ridge"):
        train("oracle", *_clouds(2), seed=0)


def test_no_labels_are_refused() -> None:
    with pytest.raises(InputError, match="label"):
        train("ridge", np.empty((0, 2)), np.empty(0, dtype=object), seed=0)
