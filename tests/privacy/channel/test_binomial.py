"""Binomial tails: against fractions, against scipy, and where they are certain."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.privacy.channel.binomial import at_least, at_most

UNIT = 1 << 30


def exactly(x, n, p):
    return sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(x + 1))


@st.composite
def cases(draw):
    n = draw(st.integers(1, 60))
    near = st.integers(0, n).flatmap(lambda x: st.integers(x * UNIT // n - 2, x * UNIT // n + 2))
    grid = draw(st.one_of(st.integers(0, UNIT), near, st.sampled_from([0, 1, UNIT - 1, UNIT])))
    return draw(st.integers(-1, n)), n, min(max(grid, 0), UNIT)


@given(cases())
def test_tails_are_the_sums_of_their_terms(case):
    x, n, grid = case
    wanted = exactly(x, n, Fraction(grid, UNIT))
    given_x, given_n, p = np.array([x]), np.array([n]), np.array([grid / UNIT])
    below, above = at_most(given_x, given_n, p)[0], at_least(given_x + 1, given_n, p)[0]
    assert below == pytest.approx(float(wanted), rel=1e-12, abs=1e-15)
    assert above == pytest.approx(float(1 - wanted), rel=1e-12, abs=1e-15)
    if x <= n * grid / UNIT:  # what intervals rest on: small tails, to the last digits
        assert below == pytest.approx(float(wanted), rel=1e-12, abs=0)


@pytest.mark.parametrize("largest", [1_000, 1_000_000])
def test_tails_of_many_windows_are_those_of_scipy(largest):
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(0)
    n = rng.integers(1, largest, size=3000)
    x = (rng.random(3000) ** 2 * n).astype(np.int64)
    p = np.clip(x / n + rng.normal(size=3000) * 4 * np.sqrt(x + 1.0) / n, 0, 1)
    wanted = special.betaincc(x + 1.0, n - x, p)
    seen = wanted > 1e-100
    assert seen.sum() > 2500
    np.testing.assert_allclose(at_most(x, n, p)[seen], wanted[seen], rtol=1e-8)
    np.testing.assert_allclose(at_least(x + 1, n, p), special.betainc(x + 1.0, n - x, p), rtol=1e-8, atol=1e-9)


def test_tails_fall_as_the_chance_grows():
    grid = np.linspace(0, 1, 2001)
    x, n = np.full(2001, 17), np.full(2001, 400)
    tails = at_most(x, n, grid)
    assert tails[0] == 1
    assert tails[-1] == 0
    assert (np.diff(tails) <= 1e-14).all()
