"""The code of a window is a function of that window: trained networks, and one that would tell its place."""

import numpy as np
import pytest
from tests.bundle.layers.test_layers import BLOCKS
from threadpoolctl import threadpool_limits

from deeprotect.bundle import network as networks
from deeprotect.bundle.layers.layer import Bounds
from deeprotect.bundle.layers.products import Affine, Product
from deeprotect.bundle.layers.rounding import Clip, Round
from deeprotect.bundle.layers.structure import prepare
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError
from studies.benchmark.made_up import Shape, encoder


@pytest.fixture(scope="module", params=[(50, 6), (10, 6), (64, 32)], ids=str)
def coder(request):
    samples, channels = request.param
    shape = Shape(channels=channels, samples=samples, codes=30)
    scores = Network(encoder(shape).layers[:-1], samples * channels)  # the decision would hide a last bit
    return scores, shape.windows(600).reshape(600, -1)


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 2])
def test_trained_networks_give_equal_bits_in_every_block_at_every_place_and_with_any_threads(
    coder, threads, monkeypatch
):
    network, rows = coder
    alone = np.concatenate([network(row[None]) for row in rows])
    monkeypatch.setattr(networks, "_blas", lambda: ())  # so that nobody lowers the number of threads
    with threadpool_limits(threads):
        for size in BLOCKS:
            for first in (0, 1, 5):
                cut = [network(rows[start : start + size]) for start in range(first, len(rows), size)]
                assert np.array_equal(np.concatenate(cut), alone[first:])


def place_telling(rows):
    """A product with one output rounds the last rows of a block otherwise: what the attack was made of."""
    weights = np.random.default_rng(3).normal(size=(301, 1)).astype(np.float32)
    return (weights.T @ np.ascontiguousarray(rows.T)).T


def test_float32_would_tell_places_here():
    """Otherwise the next test would show nothing on this machine."""
    same = np.tile(np.random.default_rng(4).normal(size=(1, 301)).astype(np.float32), (503, 1))
    told = {len(set(place_telling(same[:size])[:, 0].tolist())) for size in range(1, 504)}
    if told == {1}:
        pytest.skip("this machine's products round alike at every place")


def test_a_network_that_tells_its_place_in_float32_cannot_be_written_down():
    """Weights whose sum float32 would round run in float64, and are exact; beyond that they are refused."""
    random = np.random.default_rng(3)
    weights = random.integers(-32_767, 32_768, size=(301, 1)).astype(np.int32)
    product = Product(weights, np.zeros(1, np.int32), 0, np.zeros(1, np.int32))
    rows = random.integers(-(1 << 20), 1 << 20, size=(301, 1)).astype(np.float32)
    step = prepare((Affine(product),), Bounds.between(-(2.0**20), 2.0**20, (301,))).step
    wanted = int(weights[:, 0].astype(object) @ rows[:, 0].astype(object))
    for size in range(1, 20):
        assert set(step(rows.repeat(size, axis=1), None)[0].tolist()) == {wanted}
    with pytest.raises(BundleError, match="not rounded"):
        Network((Affine(product),), 301)
    large = Bounds.between(-(2.0**36), 2.0**36, (301,))
    with pytest.raises(BundleError, match="exact"):
        prepare((Affine(product), Round(Clip(0, 1))), large)
