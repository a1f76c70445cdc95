"""The horizon is about where a simulated best attacker gets there, and says so as a time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom
from tests.recordings import recorded

from deeprotect.privacy.channel.horizon import described, in_words
from deeprotect.training.fitting.horizons import accuracy, chernoff, draws_until, horizons

distributions = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed).dirichlet(np.ones(4), size=2))


def between(first, second):
    return chernoff(np.array([first, second]))[0, 1]


def test_chernoff_information_has_its_known_values():
    assert chernoff(np.array([[0.25, 0.75], [0.25, 0.75]])) == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert between([0.25, 0.75], [0.75, 0.25]) == pytest.approx(-math.log(2 * math.sqrt(0.25 * 0.75)), rel=1e-3)
    assert between([1.0, 0.0], [0.0, 1.0]) == math.inf
    assert between([1.0, 0.0], [0.9, 0.1]) == pytest.approx(-math.log(0.9), rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(distributions)
def test_chernoff_information_is_the_largest_over_all_shares(pair):
    first, second = pair
    shares = np.linspace(0.001, 0.999, 9999)[:, None]
    exponents = -np.log((first**shares * second ** (1 - shares)).sum(axis=1))
    assert between(first, second) == pytest.approx(exponents.max(), rel=1e-3)
    assert between(first, second) == pytest.approx(between(second, first), rel=1e-9)


def test_without_a_draw_classes_are_guessed_and_with_many_known():
    information = chernoff(np.random.default_rng(0).dirichlet(np.ones(5), size=7))
    assert accuracy(0.0, information) == pytest.approx(1 / 7, abs=1e-6)
    assert accuracy(1e6, information) == pytest.approx(1.0, abs=1e-9)
    assert accuracy(10.0, information[:2, :2]) == pytest.approx(float(ndtr(np.sqrt(20 * information[0, 1]))), abs=1e-9)


def exact_pair(error):
    """Draws until a best attacker tells two binary outputs with this error apart three times in four."""
    draws = np.arange(1, 20_001, 2)  # of an odd number one side has more
    right = binom.cdf(draws // 2, draws, error)
    return int(draws[np.argmax(right >= 0.75)])


@pytest.mark.parametrize("error", [0.3, 0.4, 0.45, 0.49])
def test_two_classes_are_told_apart_when_binomial_tails_say_so(error):
    released = np.array([[error, 1 - error], [1 - error, error]])
    assert draws_until(0.75, chernoff(released)) == pytest.approx(exact_pair(error), rel=0.25, abs=2)


def simulated(released, share, *, seed=0, attackers=500):
    """The least number of draws, to a few percent, with which the likeliest class is right so often."""
    rng, draws = np.random.default_rng(seed), 1
    while _right(released, draws, rng, attackers) < share:
        draws = max(draws + 1, int(1.08 * draws))
    return draws


def _right(released, draws, rng, attackers):
    right = []
    for truth, probabilities in enumerate(released):
        counts = rng.multinomial(draws, probabilities, size=attackers)
        likelihood = counts @ np.log(released).T
        best = likelihood >= likelihood.max(axis=1, keepdims=True) - 1e-9
        right.append((best[:, truth] / best.sum(axis=1)).mean())
    return np.mean(right)


def through(codes, epsilon):
    """Randomised response."""
    weights = 1.0 + (math.exp(epsilon) - 1.0) * np.eye(codes)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("codes", "classes", "alike", "epsilon"),
    [(2, 2, 5.0, 2.0), (7, 10, 5.0, 3.0), (7, 10, 50.0, 3.0), (3, 30, 20.0, 5.0), (12, 36, 3.0, 5.0)],
)
def test_a_simulated_best_attacker_gets_there_when_it_says(codes, classes, alike, epsilon):
    rng = np.random.default_rng(1)
    read = 0.1 * rng.dirichlet(np.ones(codes)) + 0.9 * np.eye(codes)[0]
    released = rng.dirichlet(alike * read + 0.02, size=classes) @ through(codes, epsilon)
    information, share = chernoff(released), 0.5 if classes > 2 else 0.75
    assert 0.6 < draws_until(share, information) / simulated(released, share) < 1.5
    pair = np.array(np.unravel_index(information.argmax(), information.shape))
    estimate, found = draws_until(0.75, information[np.ix_(pair, pair)]), simulated(released[pair], 0.75)
    assert abs(estimate - found) <= max(1.5, 0.4 * found)


def found(counts, epsilon=3.0):
    given = ("walk", "still")[: len(counts)]
    return list(horizons(recorded(counts, recordings=20, given=given), through(2, epsilon)))


def test_each_useful_class_has_its_horizon_and_the_shortest_is_described():
    both = found([[[200, 20], [198, 22], [201, 19]], [[20, 200], [40, 180], [100, 120]]])
    walk, still = both
    assert (walk.given, still.given) == ("walk", "still")
    assert still.of_all < walk.of_all
    assert still.classes == 3
    (line,) = described(both, seconds_per_draw=30.0)
    assert line.startswith("an attacker is right about “person” half of the time: after about")
    assert f"({still.of_all:.0f} draws); " in line
    assert "still" not in line
    assert "and about its easiest two classes three times in four: after about" in line
    assert line.endswith("at one draw every 30 s, all of the most telling useful class")


def test_a_channel_that_hides_more_lasts_longer():
    counts = [[[200, 20], [150, 70]], [[20, 200], [70, 150]]]
    few, many = (min(each.of_all for each in found(counts, epsilon)) for epsilon in (3.0, 0.3))
    assert 1 <= few < many


def test_classes_that_no_recording_tells_apart_are_never_told_apart():
    (alike,) = found([[[30, 10], [30, 10], [0, 0]]])
    assert (alike.classes, alike.of_all, alike.of_pair) == (2, None, None)  # nobody knows about Eve
    (line,) = described([alike], seconds_per_draw=1.0)
    assert "never, as far as calibration shows" in line
    assert not list(described([], seconds_per_draw=1.0))


@pytest.mark.parametrize(
    ("draws", "seconds", "said"),
    [
        (80, 30.0, "after about 40 minutes (80 draws)"),
        (1, 2.0, "after about 2 seconds (1 draw)"),
        (119, 1.0, "after about 120 seconds (119 draws)"),
        (12_345, 1.0, "after about 3.4 hours (12,345 draws)"),
        (100_000, 2.0, "after about 2.3 days (100,000 draws)"),
        (10**8, 2.0, "after about 6.3 years (100,000,000 draws)"),
    ],
)
def test_a_number_of_draws_is_said_as_a_time_of_two_digits(draws, seconds, said):
    assert in_words(draws, seconds) == said
