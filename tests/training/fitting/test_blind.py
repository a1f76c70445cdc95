"""The guesser from true useful labels uses their whole sequence, and nothing else."""

import numpy as np
import pytest

from deeprotect.training.fitting.blind import KnownLabels, blind


def told(labels, secret, *, draw=None):
    """Recordings (recording, window), each of one secret."""
    labels = np.asarray(labels)
    number, recording = labels.ravel().astype(np.int64), np.repeat(np.arange(len(labels)), labels.shape[1])
    draws = np.arange(number.size) if draw is None else np.asarray(draw)
    return KnownLabels(number, np.repeat(np.asarray(secret, dtype=str), labels.shape[1]), recording, draws)


def exclusive_or(seed, recordings=200):
    """Two labels each; the secret is whether they differ."""
    labels = np.random.default_rng(seed).integers(2, size=(recordings, 2))
    return told(labels, np.where(labels[:, 0] == labels[:, 1], "same", "other"))


def test_a_secret_in_two_labels_together_is_guessed_from_two_and_not_from_one():
    learn, test = exclusive_or(0), exclusive_or(1)
    assert blind(learn, test, size=1).accuracy < 0.65
    assert blind(learn, test, size=2).accuracy > 0.98


def test_a_secret_in_the_mix_is_guessed_the_better_the_more_draws_are_told():
    def side(seed):
        rng = np.random.default_rng(seed)
        secret = rng.integers(2, size=60)
        return told(rng.random((60, 32)) < np.where(secret, 0.6, 0.4)[:, None], np.array(["a", "b"])[secret])

    learn, test = side(0), side(1)
    few, some, many = (blind(learn, test, size=size).accuracy for size in (1, 8, 32))
    assert 0.5 < few < some < many


def test_labels_that_say_nothing_leave_the_commonest_answer():
    rng = np.random.default_rng(0)
    secret = np.array(["a", "a", "a", "b"] * 20)
    learn, test = (told(rng.integers(3, size=(80, 4)), secret) for _ in range(2))
    assert blind(learn, test, size=1).accuracy == pytest.approx(0.75, abs=0.03)
    assert blind(learn, test, size=4).accuracy == pytest.approx(0.75, abs=0.06)


def test_a_pool_of_held_draws_knows_the_labels_of_all_their_windows():
    side = told([[0, 1, 1, 1, 0, 0]], ["a"], draw=[0, 0, 1, 1, 2, 2])
    assert side.counts(side.pools(2), 2).tolist() == [[1, 3], [2, 0]]


def test_a_pool_never_crosses_a_recording_or_a_change_of_the_secret():
    side = KnownLabels(np.zeros(6, int), np.array(list("aaabbb")), np.array([0, 0, 1, 1, 1, 1]), np.arange(6))
    assert side.pools(9).tolist() == [0, 0, 1, 2, 2, 2]
    assert side.pools(2).tolist() == [0, 0, 1, 2, 2, 3]
