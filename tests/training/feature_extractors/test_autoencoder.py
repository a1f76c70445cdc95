"""The default autoencoder: bounded features that carry the useful labels, windows that stay in range."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from deeprotect.errors import InputError
from deeprotect.training.feature_extractors.autoencoder import Autoencoder
from deeprotect.training.feature_extractors.feature_extractor import PCA

QUICK: dict[str, Any] = {"hidden": 32, "batch_size": 64, "max_epochs": 15, "random_state": 0}


def ringing(count: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Loud noise in five directions, and a faint tone whose sign is the label."""
    generator = np.random.default_rng(5)
    label = generator.integers(0, 2, count)
    time = np.arange(20)
    tone = (2 * label[:, None] - 1) * np.sin(2 * np.pi * 5 * time / 20 + 0.3)
    loud = generator.normal(size=(count, 5)) @ generator.normal(size=(5, 20))
    return np.clip(0.5 + 0.03 * tone + 0.04 * loud, 0, 1), label


def readable(features: np.ndarray, label: np.ndarray) -> float:
    half = len(label) // 2
    return float(RidgeClassifier().fit(features[:half], label[:half]).score(features[half:], label[half:]))


@pytest.mark.parametrize("loss", ["ridge", "softmax", "hinge"])
def test_two_features_carry_a_label_that_two_principal_components_lose(loss: str) -> None:
    X, label = ringing()
    known = label.astype(object)
    known[::7] = None
    model = Autoencoder(2, loss=loss, **QUICK).fit(X[:300], known[:300])
    assert readable(PCA(2).fit_transform(X), label) < 0.65
    assert readable(model.transform(X), label) > 0.85


def test_features_and_windows_stay_in_their_boxes_whatever_comes_in() -> None:
    X, label = ringing(100)
    model = Autoencoder(**{**QUICK, "max_epochs": 2}).fit(X, label)
    wild = np.random.default_rng(0).normal(scale=1e3, size=(50, 20))
    features = model.transform(wild)
    assert np.abs(features).max() <= 1.0
    windows = model.inverse_transform(100.0 * features)
    assert windows.min() >= 0.0
    assert windows.max() <= 1.0


def test_the_same_seed_gives_the_same_features() -> None:
    X, label = ringing(100)
    first, second = (Autoencoder(**{**QUICK, "max_epochs": 2}).fit(X, label).transform(X) for _ in range(2))
    assert np.array_equal(first, second)


def test_without_labels_it_rebuilds_windows() -> None:
    X, _ = ringing()
    model = Autoencoder(5, **{**QUICK, "max_epochs": 40}).fit(X)
    error = np.square(model.inverse_transform(model.transform(X)) - X).mean()
    assert error < 0.5 * X.var(axis=0).mean()


def test_a_wrong_choice_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="loss"):
        Autoencoder(loss="cubic").fit(*ringing(50))
