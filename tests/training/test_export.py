"""A bundle computes in numpy what torch trained, up to rounding."""

import numpy as np
import pytest
import torch
from torch import nn

from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.training.codebook.coder import SCORE_BITS, Coder
from deeprotect.training.export import COARSE, FINE, Precision, to_network
from deeprotect.training.feature_extractors.autoencoder import Autoencoder
from deeprotect.training.feature_extractors.feature_extractor import PCA, FeatureExtractor
from deeprotect.training.feature_extractors.paper_autoencoder import PaperAutoencoder
from deeprotect.training.networks import Standardise, initialise

WINDOWS = np.random.default_rng(0).random((1000, 12))
LABELS = WINDOWS[:, 0] > 0.5
EXTRACTORS: list[FeatureExtractor] = [
    PCA(),
    PaperAutoencoder(max_iter=5, random_state=0),
    Autoencoder(max_epochs=2, random_state=0),
]


@pytest.mark.parametrize("feature_extractor", EXTRACTORS, ids=repr)
def test_the_exported_networks_agree_with_the_estimator(feature_extractor: FeatureExtractor) -> None:
    features = feature_extractor.fit(WINDOWS, LABELS).transform(WINDOWS)
    encoder, decoder = (
        to_network(feature_extractor.encoder(), WINDOWS),
        to_network(feature_extractor.decoder(), features),
    )
    rebuilt = feature_extractor.inverse_transform(features)
    np.testing.assert_allclose(encoder(WINDOWS), features, atol=2e-3)
    np.testing.assert_allclose(decoder(features), rebuilt, atol=2e-3)


@pytest.mark.parametrize(("samples", "channels"), [(1, 1), (4, 3), (10, 6), (50, 2), (128, 2)])
def test_the_coder_agrees_with_torch(samples: int, channels: int) -> None:
    windows = np.random.default_rng(1).random((700, samples * channels))
    module = coder(windows, channels, classes=5)
    with torch.inference_mode():
        scores = module(torch.tensor(windows, dtype=torch.float32)).numpy()
    found = to_network(module, windows, COARSE)(windows)
    np.testing.assert_array_equal(found, np.rint(found))
    np.testing.assert_allclose(found / 2**SCORE_BITS, scores, atol=0.1 * scores.std())


@pytest.mark.parametrize("precision", [COARSE, FINE])
def test_sums_of_a_coder_stay_exact_for_windows_of_any_length(precision: Precision) -> None:
    for samples in (3, 40, 300):
        windows = np.random.default_rng(1).random((100, samples * 6))
        network = to_network(coder(windows, 6, classes=30), windows, precision)
        assert network.bounds.whole  # a network whose sums are not cannot be made


def test_a_coder_of_a_wrist_fits_in_a_hundred_kilobytes() -> None:
    windows = np.random.default_rng(1).random((100, 60))
    tensors = TensorWriter()
    to_network(coder(windows, 6, classes=7), windows, COARSE).to_json(tensors)
    assert len(tensors.to_bytes()) < 100_000


def coder(windows: np.ndarray, channels: int, *, classes: int) -> nn.Sequential:
    standardise = Standardise(windows)
    rows = standardise(torch.tensor(windows, dtype=torch.float32))
    network = initialise(Coder(rows, channels, classes=classes), torch.Generator().manual_seed(0))
    for _ in range(30):  # in training mode: batch normalisation moves away from the identity
        network(rows)
    return nn.Sequential(standardise, network).eval()


def test_the_bytes_are_the_same_every_time() -> None:
    network = to_network(Autoencoder(max_epochs=1, random_state=0).fit(WINDOWS, LABELS).encoder(), WINDOWS)
    written = []
    for _ in range(2):
        tensors = TensorWriter()
        written.append((network.to_json(tensors), tensors.to_bytes()))
    assert written[0] == written[1]


def test_a_sigmoid_of_large_numbers_is_exported_without_a_warning() -> None:
    values = np.array([[-1e4, 1e4], [-800.0, 3.0], [0.0, 800.0]])
    np.testing.assert_allclose(
        to_network(nn.Sigmoid(), values)(values), 1 / (1 + np.exp(-values.clip(-30, 30))), atol=2e-3
    )
