"""The noise drawn is the noise that OpenDP's own exact sampler draws.

OpenDP takes its bits from the operating system, so each run is new: at 1e-7 for each of eight tests, all of them
together raise a false alarm in less than one run in a million.
"""

import functools
import os
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.sampling import DiscreteLaplace, round_up

try:
    import opendp.prelude as dp
except ModuleNotFoundError:
    if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1":
        raise
    pytest.skip("needs opendp; install deeprotect[dev]", allow_module_level=True)

dp.enable_features("contrib")
COUNT = 40_000
FALSE_ALARM = 1e-7
NARROW = [Fraction(1, 2), Fraction(1), Fraction(7, 4), Fraction(12)]
WIDE = [Fraction(50), round_up(Fraction(24576.123)), Fraction(2**30)]


@functools.cache
def theirs(scale):
    """OpenDP reads the same fraction, for these scales are floating-point numbers."""
    assert Fraction(float(scale)) == scale
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * COUNT))


def ours(scale):
    return DiscreteLaplace((scale,)).draw(COUNT, entropy=SeededEntropy(21))[:, 0]


def chi_squared(first, second, *, scale):
    """p-value of equal frequencies, over the values expected more than 50 times and the two tails."""
    reach = int(float(scale) * np.log(COUNT * np.tanh(0.5 / float(scale)) / 50))
    edges = np.arange(-reach, reach + 2) - 0.5
    grid_steps = [np.bincount(np.searchsorted(edges, sample), minlength=len(edges) + 1) for sample in (first, second)]
    return stats.chi2_contingency(np.array(grid_steps), correction=False).pvalue


@pytest.mark.parametrize("scale", NARROW)
def test_frequencies_are_those_of_opendp(scale):
    assert chi_squared(ours(scale), theirs(scale), scale=scale) > FALSE_ALARM


@pytest.mark.parametrize("scale", [*WIDE, NARROW[-1]])
def test_the_distribution_function_is_that_of_opendp(scale):
    assert stats.ks_2samp(ours(scale), theirs(scale)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", NARROW[1:])
def test_a_seventh_less_noise_than_opendp_would_be_seen(scale):
    assert chi_squared(ours(scale * 6 / 7), theirs(scale), scale=scale) < FALSE_ALARM


@pytest.mark.parametrize("scale", WIDE)
def test_a_third_less_wide_noise_than_opendp_would_be_seen(scale):
    assert stats.ks_2samp(ours(scale * 2 / 3), theirs(scale)).pvalue < FALSE_ALARM


def test_zero_counted_twice_would_be_seen():
    scale = Fraction(12)
    sample = ours(scale)
    doubled = np.where((sample == 1) & (np.arange(COUNT) % 2 == 0), 0, sample)
    assert chi_squared(doubled, theirs(scale), scale=scale) < FALSE_ALARM
