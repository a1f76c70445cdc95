"""Batches in which one window differs show what windows by themselves cannot, and nothing of sound protectors."""

import numpy as np
import pytest
from tests.mutations import mixing, protectors

from deeprotect.auditing.audit import attack, of_batches
from deeprotect.auditing.batches import OneDiffers, batches, most_telling, observed
from deeprotect.auditing.distinguisher import outputs_of
from deeprotect.auditing.pairs import candidates, farthest
from deeprotect.bundle import Bundle
from deeprotect.privacy.mechanisms import laplace
from deeprotect.privacy.sampling import DiscreteLaplace

RUNS = 1_000


def _pair(bundle):
    return farthest(bundle, candidates(bundle), runs=RUNS)


def _shown(bundle, batch, pair, *, claim=protectors.EPSILON):
    observer = of_batches(bundle, batch, outputs_of(bundle))
    return attack(observer, pair, guarantee="ldp", claim=claim, runs=RUNS).epsilon


def _most_telling(bundle, pair):
    return most_telling(bundle, pair, batches(pair, candidates(bundle)), outputs=outputs_of(bundle))


@pytest.mark.parametrize("make", [protectors.on_samples, protectors.coded])
def test_of_sound_protectors_batches_show_no_more_than_the_claim(make):
    bundle = make()
    pair = _pair(bundle)
    assert 0.3 < _shown(bundle, _most_telling(bundle, pair), pair) < protectors.EPSILON + 0.4


def test_batches_vary_in_size_place_and_company():
    pair = _pair(protectors.on_samples())
    made = list(batches(pair, candidates(protectors.on_samples())))
    places = {(len(batch.others) + 1, batch.place) for batch in made}
    assert {size for size, _ in places} == {2, 8, 32}
    assert all({(size, 0), (size, size - 1)} <= places for size, _ in places)
    assert any(0 < place < size - 1 for size, place in places)
    assert len({batch.found.split(", ")[1] for batch in made}) == 3


def test_both_inputs_have_the_same_others():
    pair = _pair(protectors.on_samples())
    batch = next(iter(batches(pair, candidates(protectors.on_samples()))))
    first, second = (batch.draw(side, np.random.default_rng(0)) for side in (pair.first, pair.second))
    differs = (first != second).any(axis=1)
    assert np.flatnonzero(differs).tolist() == [batch.place]


@pytest.mark.parametrize("make", [protectors.on_samples, protectors.coded])
def test_a_code_given_to_all_windows_is_shown_above_the_claim(make, monkeypatch):
    mixing.first_code_for_all(monkeypatch)
    bundle = make()
    pair = _pair(bundle)
    batch = _most_telling(bundle, pair)
    assert batch.place == 0
    assert _shown(bundle, batch, pair) > protectors.EPSILON + 1


def test_noise_that_windows_share_is_shown_above_the_claim(monkeypatch):
    draw = DiscreteLaplace.draw
    monkeypatch.setattr(
        DiscreteLaplace, "draw", lambda self, count, *, entropy: draw(self, 1, entropy=entropy).repeat(count, 0)
    )
    bundle = protectors.on_samples()
    pair = _pair(bundle)
    assert _shown(bundle, _most_telling(bundle, pair), pair) > protectors.EPSILON + 1


def test_a_decoder_that_mixes_is_post_processing_and_shows_nothing_above_an_ldp_claim(monkeypatch):
    mixing.decoder_adds_the_mean(monkeypatch)
    bundle = protectors.on_samples()
    pair = _pair(bundle)
    assert _shown(bundle, _most_telling(bundle, pair), pair) < protectors.EPSILON + 0.4


def _vote(monkeypatch):
    """Every released window is the batch's commonest."""
    decode = Bundle.decode

    def commonest(self, noisy_code):
        index, counts = np.unique(noisy_code, return_counts=True)
        return decode(self, np.full(noisy_code.shape, index[counts.argmax()]))

    monkeypatch.setattr(Bundle, "decode", commonest)


def test_long_windows_are_seen_in_few_numbers():
    bundle = protectors.bundle(laplace.baseline(300, 2.0), 300)
    pool = np.zeros((1, 300))
    batch = OneDiffers(np.ones((3, 300)), place=1, found="")
    parts = list(observed(bundle, pool, 5, batch=batch, outputs=None))
    assert np.concatenate(parts).shape == (5, 3 * 128)
