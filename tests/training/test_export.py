"""What a bundle runs in numpy is what was trained in torch, number for number."""

import numpy as np
import pytest
import torch
from torch import nn

from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.training.codebook.coder import Coder
from deeprotect.training.codebook.joint_classes import Codes
from deeprotect.training.export import to_network
from deeprotect.training.minimisers.autoencoder import Autoencoder
from deeprotect.training.minimisers.linear import DCT, DFT, PCA, Haar
from deeprotect.training.minimisers.minimiser import Minimiser
from deeprotect.training.minimisers.paper_autoencoder import PaperAutoencoder
from deeprotect.training.minimisers.sparse import BlindCompressiveSensing
from deeprotect.training.networks import Standardise, initialise

WINDOWS = np.random.default_rng(0).random((1000, 12))
LABELS = WINDOWS[:, 0] > 0.5
MINIMISERS: list[Minimiser] = [
    DFT(channels=3),
    DCT(channels=3),
    Haar(channels=3),
    PCA(),
    BlindCompressiveSensing(max_iter=5, steps=10, random_state=0),
    PaperAutoencoder(max_iter=5, random_state=0),
    Autoencoder(max_epochs=2, random_state=0),
    Autoencoder(max_epochs=2, random_state=0, network="conv", channels=3),
]


@pytest.mark.parametrize("minimiser", MINIMISERS, ids=repr)
def test_the_exported_networks_agree_with_the_estimator(minimiser: Minimiser) -> None:
    features = minimiser.fit(WINDOWS, LABELS).transform(WINDOWS)
    encoder, decoder = to_network(minimiser.encoder(), 12), to_network(minimiser.decoder(), 7)
    for count in (1, 1000):
        np.testing.assert_allclose(encoder(WINDOWS[:count]), features[:count], atol=1e-5)
        rebuilt = minimiser.inverse_transform(features[:count])
        np.testing.assert_allclose(decoder(features[:count]), rebuilt, atol=1e-5)


@pytest.mark.parametrize(("samples", "channels"), [(1, 1), (4, 3), (10, 6), (50, 2)])
def test_the_coder_agrees_with_torch(samples: int, channels: int) -> None:
    windows = np.random.default_rng(1).random((700, samples * channels))
    module = coder(windows, channels, classes=5)
    with torch.inference_mode():
        scores = module(torch.tensor(windows, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(to_network(module, windows.shape[1])(windows), scores, atol=1e-5)


def test_codes_agree_with_torch_where_some_are_rejected() -> None:
    windows = np.random.default_rng(2).random((4000, 12))
    codes = Codes((2, 4), np.array([0, 1, 2, 3, 3, 2, 1, 0]), abstain=4)
    module = nn.Sequential(coder(windows, 3, classes=6), codes)
    with torch.inference_mode():
        wanted = module(torch.tensor(windows, dtype=torch.float32)).numpy()
    found = to_network(module, 12)(windows)
    assert set(found[:, 0]) == {0, 1, 2, 3, 4}
    assert (found == wanted).mean() > 0.999  # scores that tie within float32 may fall either way


def coder(windows: np.ndarray, channels: int, *, classes: int) -> nn.Sequential:
    standardise = Standardise(windows)
    rows = standardise(torch.tensor(windows, dtype=torch.float32))
    network = initialise(Coder(rows, channels, classes=classes), torch.Generator().manual_seed(0))
    for _ in range(30):  # in training mode: batch normalisation moves away from the identity
        network(rows)
    return nn.Sequential(standardise, network).eval()


def test_the_bytes_are_the_same_every_time() -> None:
    network = to_network(Autoencoder(max_epochs=1, random_state=0).fit(WINDOWS, LABELS).encoder(), 12)
    written = []
    for _ in range(2):
        tensors = TensorWriter()
        written.append((network.to_json(tensors), tensors.to_bytes()))
    assert written[0] == written[1]
