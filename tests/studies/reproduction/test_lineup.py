"""Nobody names the class of a sequence more often than the attacker of a line-up does."""

import numpy as np
import pytest

from studies.reproduction.lineup import lineup_accuracy, upper_limit


def response(codes, epsilon):
    weights = 1.0 + (np.exp(epsilon) - 1.0) * np.eye(codes)
    return weights / weights.sum(axis=1, keepdims=True)


def test_alike_suspects_are_guessed_and_two_that_differ_once_are_told_apart_as_one_draw_allows():
    assert lineup_accuracy(np.zeros((4, 9), dtype=int), response(3, 2.0), runs=50, seed=0) == pytest.approx(1 / 4)
    once = np.zeros((2, 9), dtype=int)
    once[1, 4] = 1
    exact = 0.5 + 0.5 * (np.exp(2) - 1) / (np.exp(2) + 2)  # half the distance of two rows of randomised response
    assert lineup_accuracy(once, response(3, 2.0), runs=40_000, seed=0) == pytest.approx(exact, abs=0.01)


def test_it_grows_with_draws_and_with_epsilon():
    codes = np.array([[0] * 40, [1] * 40])
    found = [lineup_accuracy(codes[:, :t], response(2, e), runs=4000, seed=1) for t, e in ((1, 1), (10, 1), (40, 1))]
    assert found[0] < found[1] < found[2] <= 1.0
    assert lineup_accuracy(codes[:, :1], response(2, 3.0), runs=4000, seed=1) > found[0]


def test_an_attacker_who_knows_only_distributions_does_no_better():
    """Sequences that stay where they start: their pattern in time tells more than their marginals, and is covered."""
    rng, channel, draws = np.random.default_rng(2), response(2, 1.0), 12
    starts = np.array([0.7, 0.3])  # of code 1, for two classes; a recording keeps its code
    lineups = [
        lineup_accuracy(
            np.repeat((rng.random(2) < starts)[:, None].astype(int), draws, axis=1), channel, runs=60, seed=n
        )
        for n in range(400)
    ]
    ones = np.arange(draws + 1)
    from scipy.stats import binom

    given_code = np.array([binom.pmf(ones, draws, channel[code, 1]) for code in (0, 1)])
    given_class = np.stack([1 - starts, starts], axis=1) @ given_code
    best = given_class.max(axis=0).sum() / 2
    assert np.mean(lineups) > best
    assert upper_limit(np.array(lineups), confidence=0.95) > np.mean(lineups)
