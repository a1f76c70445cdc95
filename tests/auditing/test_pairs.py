"""The search finds far inputs of every mechanism, and neighbours where neighbours are asked for."""

from itertools import product

import numpy as np
import pytest
from tests.mutations import protectors
from tests.networks import affine

from deeprotect.auditing.pairs import candidates, farthest
from deeprotect.auditing.views import View
from deeprotect.bundle import Bundle
from deeprotect.privacy.box import Box
from deeprotect.privacy.mechanisms import laplace

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


def test_an_encoder_that_gives_all_windows_one_code_hides_no_far_pair(monkeypatch):
    sound = farthest(protectors.coded(), candidates(protectors.coded()), runs=RUNS)
    encode = Bundle.encode
    monkeypatch.setattr(Bundle, "encode", lambda self, private: encode(self, private[:1]).repeat(len(private), axis=0))
    mixed = farthest(protectors.coded(), candidates(protectors.coded()), runs=RUNS)
    assert mixed.allowed == sound.allowed == pytest.approx(protectors.EPSILON)


@pytest.mark.parametrize("make", [protectors.coded, protectors.on_samples, protectors.clipped])
def test_what_two_inputs_allow_is_what_their_codes_allow_once_the_pipe_has_rounded_them(make):
    bundle = make()
    pair = farthest(bundle, candidates(bundle), runs=RUNS)
    assert 0.9 * protectors.EPSILON < pair.allowed <= protectors.EPSILON * (1 + 1e-12)


def test_what_a_channel_allows_is_over_all_that_it_may_show_and_not_over_one_output():
    seen = View(lambda _: None, lambda codes: codes, chances=np.array([[0.8, 0.15, 0.05], [0.5, 0.1, 0.4]]))
    assert seen.allowed(np.array([[0.0], [1.0]])) == pytest.approx(np.log(8))
    assert seen.allowed(np.array([[1.0], [1.0]])) == 0
    assert View(lambda _: None, lambda codes: codes, chances=np.eye(2)).allowed(np.array([[0.0], [1.0]])) == np.inf
