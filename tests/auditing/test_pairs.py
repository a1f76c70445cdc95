"""The search finds far inputs of every mechanism, and neighbours where neighbours are asked for."""

from itertools import product

import numpy as np
import pytest
from tests.mutations import protectors
from tests.networks import affine

from deeprotect.auditing.audit import attack, of_windows
from deeprotect.auditing.pairs import candidates, farthest, neighbours
from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.privacy.box import Box
from deeprotect.privacy.mechanisms import laplace
from deeprotect.privacy.mechanisms.relaxed import basis
from deeprotect.privacy.mechanisms.subspace import subspace

RUNS = 8_000


def linear(weights, epsilon=2.0) -> Bundle:
    """Noise on Wx, clipped to what it reaches; the decoder is its transpose."""
    low, high = np.minimum(weights, 0).sum(axis=1), np.maximum(weights, 0).sum(axis=1)
    noise = laplace.certified(Box(tuple(low.tolist()), tuple(high.tolist())), epsilon)
    networks = {"encoder": affine(weights.T), "decoder": affine(weights)}
    return protectors.bundle(noise, weights.shape[1], **networks)


def _largest_distance(weights) -> float:
    """max ‖W(x − x')‖₁ over the unit cube: one of the sign vectors gives it."""
    return max(np.abs(np.array(signs) @ weights).sum() for signs in product((-1, 1), repeat=len(weights)))


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_farthest_codes_of_a_linear_encoder(seed):
    weights = np.random.default_rng(seed).normal(size=(3, 8))
    bundle = linear(weights)
    found = farthest(bundle, candidates(bundle), runs=RUNS)
    assert found.allowed > 0.98 * _largest_distance(weights) / bundle.mechanism.noise_scales[0]
    assert found.allowed <= bundle.mechanism.event.epsilon


def test_relaxed_neighbours_lie_in_the_box_and_differ_along_the_directions_only():
    directions = basis(np.random.default_rng(4).normal(size=(6, 2)))
    bundle = protectors.bundle(subspace(directions, 2.0, inferences=("person",)), 6)
    pair = neighbours(bundle)
    difference = (pair.second - pair.first)[0]
    assert min(pair.first.min(), pair.second.min()) >= 0
    assert max(pair.first.max(), pair.second.max()) <= 1
    assert np.allclose(directions @ (directions.T @ difference), difference, atol=1e-9)
    assert 0.95 * 2.0 < pair.allowed <= 2.0
    finding = attack(of_windows(bundle, None), pair, guarantee="rldp", claim=2.0, runs=RUNS)
    assert 0.3 < finding.epsilon < 2.3


def test_a_mechanism_without_directions_has_no_relaxed_neighbours():
    with pytest.raises(InputError, match="any two windows"):
        neighbours(protectors.on_samples())


def test_an_encoder_that_gives_all_windows_one_code_hides_no_far_pair(monkeypatch):
    sound = farthest(protectors.coded(), candidates(protectors.coded()), runs=RUNS)
    encode = Bundle.encode
    monkeypatch.setattr(Bundle, "encode", lambda self, private: encode(self, private[:1]).repeat(len(private), axis=0))
    mixed = farthest(protectors.coded(), candidates(protectors.coded()), runs=RUNS)
    assert mixed.allowed == sound.allowed == pytest.approx(protectors.EPSILON)
