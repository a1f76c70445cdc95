"""The bound is valid: as often as it says, for one attack and for several together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.auditing.distinguisher import CONFIDENCE, confidence_of_each, lower_bound

SHARES = st.floats(0.01, 0.9)


@given(SHARES, SHARES, st.integers(0, 10**6))
def test_the_bound_stays_below_the_true_ratio_as_often_as_it_says(p, q, seed):
    rng, runs, trials = np.random.default_rng(seed), 500, 2_000
    bounds = lower_bound(rng.binomial(runs, p, trials), rng.binomial(runs, q, trials), runs)
    truth = max(0.0, np.log(p / q))
    assert (bounds > truth + 1e-12).mean() < 0.05


@given(st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=4), st.integers(0, 10**6))
def test_bounds_of_several_attacks_hold_together(attacks, seed):
    rng, runs, trials = np.random.default_rng(seed), 500, 2_000
    each, wrong = confidence_of_each(len(attacks)), np.zeros(trials, dtype=bool)
    for p, q in attacks:
        bounds = lower_bound(rng.binomial(runs, p, trials), rng.binomial(runs, q, trials), runs, confidence=each)
        wrong |= bounds > max(0.0, np.log(p / q)) + 1e-12
    assert wrong.mean() < 1 - CONFIDENCE


def test_the_most_that_runs_can_show_is_the_textbook_value():
    assert lower_bound(100_000, 0, 100_000) == pytest.approx(10.2, abs=0.02)
    assert lower_bound(0, 0, 100) == lower_bound(100, 100, 100) == lower_bound(0, 100, 100) == 0


def test_more_confidence_shows_less():
    assert lower_bound(900, 10, 1_000, confidence=0.99) < lower_bound(900, 10, 1_000)
