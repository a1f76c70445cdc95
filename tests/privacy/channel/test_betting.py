"""Ends of intervals from independent recordings: too small as seldom as they say, however windows go together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom
from tests.recordings import correlated

from deeprotect.privacy.channel.betting import UNIT, least_end, upper_ends

seeds = st.integers(0, 10**6)


@pytest.mark.parametrize("mean", [0.02, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("recordings", [14, 40, 150])
@pytest.mark.parametrize("miss", [0.2, 0.05, 0.001])
def test_an_end_is_too_small_as_seldom_as_stated_where_recordings_go_wrong_as_a_whole(mean, recordings, miss):
    """All windows of a recording alike is the worst there is; the probability is a sum of binomial ones, exactly."""
    wrong = np.arange(recordings + 1)
    ends = upper_ends((np.arange(recordings)[:, None] < wrong).astype(float), miss=miss)
    assert binom.pmf(wrong, recordings, mean)[ends < mean * UNIT].sum() <= miss


def test_recordings_may_be_of_different_kinds():
    """Independent is enough: half of the recordings are hardly ever wrong, and the others often."""
    rng, kinds = np.random.default_rng(0), np.tile([0.01, 0.39], 20)
    shares = (rng.random((4000, 40)) < kinds).astype(float)
    missed = (upper_ends(shares.T, miss=0.05) < kinds.mean() * UNIT).mean()
    assert missed <= 0.05


@given(seeds, st.integers(1, 60), st.floats(1e-6, 0.4))
def test_a_mean_lies_below_its_end(seed, recordings, miss):
    shares = np.random.default_rng(seed).dirichlet(np.full(4, 0.5), size=recordings)
    ends = upper_ends(shares, miss=miss)
    assert (shares.mean(axis=0) * UNIT <= ends).all()
    assert (ends <= UNIT).all()


@given(seeds, st.integers(1, 40))
def test_larger_shares_and_a_smaller_miss_give_a_larger_end_and_none_is_below_the_least(seed, recordings):
    rng = np.random.default_rng(seed)
    shares = rng.random((recordings, 3))
    ends = upper_ends(shares, miss=0.01)
    assert (upper_ends(shares + rng.random(shares.shape) * (1 - shares), miss=0.01) >= ends).all()
    assert (upper_ends(shares, miss=0.001) >= ends).all()
    assert (ends >= least_end(recordings, miss=0.01)).all()


def test_one_recording_says_nothing_and_a_share_of_all_has_no_end():
    assert upper_ends(np.zeros((1, 1)), miss=0.01)[0] > 0.98 * UNIT
    assert upper_ends(np.ones((500, 1)), miss=0.01)[0] == UNIT
    assert upper_ends(np.zeros((0, 2)), miss=0.01).tolist() == [UNIT, UNIT]


@pytest.mark.parametrize("miss", [0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("recordings", [12, 60, 360])
def test_what_was_never_seen_has_an_end_that_no_other_bound_could_halve(recordings, miss):
    """A share of 1 − miss^(1/n) is missed by all of n recordings with probability `miss`."""
    least = 1 - miss ** (1 / recordings)
    assert least <= least_end(recordings, miss=miss) / UNIT <= 2 * least


@pytest.mark.long
@pytest.mark.parametrize("correlation", [0.0, 0.03, 0.1, 0.3, 0.9])
def test_an_end_is_too_small_as_seldom_as_stated_however_windows_of_a_recording_go_together(correlation):
    rng, missed, trials = np.random.default_rng(7), 0, 2000
    for _ in range(trials):
        shares = correlated(rng, [0.9, 0.1], recordings=30, windows=27, correlation=correlation)[:, 1:]
        missed += upper_ends(shares, miss=0.05)[0] < 0.1 * UNIT
    assert missed <= 0.05 * trials


def test_windows_counted_as_if_independent_would_not_hold():
    """Why recordings are counted: intervals of 810 windows miss most of the time."""
    rng, missed = np.random.default_rng(2), 0
    for _ in range(300):
        wrong = round(810 * correlated(rng, [0.9, 0.1], recordings=30, windows=27, correlation=0.3)[:, 1].mean())
        ends = beta.ppf([0.025, 0.975], [wrong, wrong + 1], [811 - wrong, 810 - wrong])
        missed += not ends[0] <= 0.1 <= ends[1]
    assert missed / 300 > 0.3


def test_ends_are_far_below_hoeffdings_where_shares_are_small():
    shares = np.random.default_rng(1).beta(1, 19, size=(60, 1))
    hoeffding = shares.mean() + np.sqrt(np.log(1 / 1e-4) / 120)
    assert shares.mean() < upper_ends(shares, miss=1e-4)[0] / UNIT < shares.mean() + 0.6 * (hoeffding - shares.mean())
