"""Every feature extractor keeps scikit-learn's rules and the shared face."""

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from deeprotect.errors import InputError
from deeprotect.training.feature_extractors.autoencoder import Autoencoder
from deeprotect.training.feature_extractors.feature_extractor import PCA, FeatureExtractor
from deeprotect.training.feature_extractors.paper_autoencoder import PaperAutoencoder
from studies.features.sparse import BlindCompressiveSensing
from studies.features.transforms import DCT, DFT, Haar

EXTRACTORS: list[FeatureExtractor] = [
    DFT(),
    DCT(),
    Haar(),
    PCA(),
    BlindCompressiveSensing(max_iter=2, steps=5, random_state=0),
    PaperAutoencoder(max_iter=2, random_state=0),
    Autoencoder(max_epochs=2, hidden=8, random_state=0),
]


@parametrize_with_checks(EXTRACTORS)
def test_a_feature_extractor_is_a_scikit_learn_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


def rows(count: int = 60, values: int = 12) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.random((count, values))
    return X, np.stack([X[:, 0] > 0.5, (3 * X[:, 1]).astype(int)], axis=1).astype(object)


@pytest.mark.parametrize("feature_extractor", EXTRACTORS, ids=repr)
def test_windows_come_back_in_their_own_shape(feature_extractor: FeatureExtractor) -> None:
    X, y = rows()
    y[:5, 0] = None
    features = feature_extractor.fit(X, y).transform(X)
    assert features.shape == (60, 7)
    assert feature_extractor.inverse_transform(features).shape == X.shape


@pytest.mark.parametrize("feature_extractor", EXTRACTORS, ids=repr)
def test_more_features_than_values_are_lowered_to_the_values(feature_extractor: FeatureExtractor) -> None:
    X, y = rows(values=5)
    assert feature_extractor.fit(X, y).transform(X).shape == (60, 5)


@pytest.mark.parametrize("feature_extractor", EXTRACTORS, ids=repr)
def test_the_modules_compute_what_the_estimator_does(feature_extractor: FeatureExtractor) -> None:
    import torch

    X, y = rows()
    features = feature_extractor.fit(X, y).transform(X)
    encoded = feature_extractor.encoder()(torch.tensor(X, dtype=torch.float32))
    assert encoded.dtype == torch.float32
    np.testing.assert_allclose(encoded.numpy(), features, atol=1e-5)
    decoded = feature_extractor.decoder()(torch.tensor(features, dtype=torch.float32))
    np.testing.assert_allclose(decoded.numpy(), feature_extractor.inverse_transform(features), atol=1e-5)


@pytest.mark.parametrize("feature_extractor", EXTRACTORS, ids=repr)
def test_training_leaves_the_global_generators_alone(feature_extractor: FeatureExtractor) -> None:
    import torch

    X, y = rows()
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]
    feature_extractor.fit(X, y)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # type: ignore[index]


def test_no_features_at_all_are_refused() -> None:
    with pytest.raises(InputError, match="n_features"):
        PCA(n_features=0).fit(np.zeros((4, 2)))


def test_features_of_another_feature_extractor_are_refused() -> None:
    X, y = rows()
    with pytest.raises(InputError, match="7"):
        PCA().fit(X, y).inverse_transform(X)
