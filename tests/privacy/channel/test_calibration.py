"""The confidence sets hold as often as they say, and no mixture over them escapes its extremes."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import beta, multinomial

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.calibration import (
    UNIT,
    SensitiveCounts,
    confidence_intervals,
    confidence_of_each,
    extremes,
    miss_of_each,
    sets,
)

seeds = st.integers(0, 10**6)


def outcomes(windows, codes):
    """Every way in which the windows of a class fall on the codes."""
    rows = [row for row in product(range(windows + 1), repeat=codes) if sum(row) == windows]
    assert len(rows) == comb(windows + codes - 1, codes - 1)
    return np.array(rows)


def cells(windows, codes, classes, *, confidence):
    """The ends for each count: a cell depends on that, and on how many windows, codes and classes there are."""
    found = np.arange(windows + 1)
    counts = np.zeros((windows + 1, codes), dtype=int)
    counts[:, 0], counts[:, 1] = found, windows - found
    tables = [np.resize(counts[start : start + classes], (classes, codes)) for start in range(0, len(counts), classes)]
    return np.hstack([confidence_intervals(table, confidence=confidence) for table in tables])[:, : windows + 1, 0]


def coverage(truths, *, windows, confidence):
    """The probability that all cells of all classes hold together, exactly; `truths` are (class, code)."""
    classes, codes = truths.shape
    counts = outcomes(windows, codes)
    low, high = (ends[counts] for ends in cells(windows, codes, classes, confidence=confidence))
    some = np.resize(counts[len(counts) // 3 :], (classes, codes))
    alone = confidence_intervals(some, confidence=confidence)
    assert (np.resize(low[len(counts) // 3 :], (classes, codes)) == alone[0]).all()
    assert (np.resize(high[len(counts) // 3 :], (classes, codes)) == alone[1]).all()
    holds = [((low <= truth) & (truth <= high)).all(axis=1) for truth in truths]
    return np.prod([multinomial.pmf(counts, windows, p)[h].sum() for p, h in zip(truths, holds, strict=True)])


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 12), st.sampled_from([(2, 25), (3, 10), (4, 6)]), st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_all_classes_hold_together_as_often_as_stated(seed, classes, size, confidence):
    codes, windows = size
    truths = np.random.default_rng(seed).dirichlet(np.full(codes, 0.7), size=classes)
    assert coverage(truths, windows=windows, confidence=confidence) >= confidence


def test_ten_classes_do_not_wear_the_confidence_down():
    """Each class by itself at 0.95 would leave 0.65 of it here, and 0.60 at worst."""
    shares = np.linspace(0.1, 0.5, 10)
    together = coverage(np.stack([shares, 1 - shares], axis=1), windows=60, confidence=0.95)
    assert 0.95 <= together < 0.99


@given(st.floats(0.5, 1.0), st.integers(1, 300))
def test_the_miss_of_a_class_is_never_too_large_and_hardly_too_small(confidence, classes):
    miss = Fraction(miss_of_each(confidence, classes))
    assert (1 - miss) ** classes >= Fraction(confidence)
    assert (1 - miss * (1 + Fraction(1, 10**11))) ** classes < confidence or miss == 0
    assert miss >= (1 - Fraction(confidence)) / classes * (1 - Fraction(1, 10**11))  # no worse than adding misses up


@given(st.floats(0.5, 1.0), st.integers(1, 64))
def test_several_secrets_share_the_miss(confidence, secrets):
    each = confidence_of_each(confidence, secrets)
    assert 1 - secrets * (1 - Fraction(each)) >= Fraction(confidence)
    assert secrets * (1 - Fraction(each)) >= 1 - Fraction(confidence) - secrets * Fraction(1, 2**51)
    assert confidence_of_each(confidence, 1) == confidence


def test_a_secret_beside_another_is_known_less_well():
    person, gender = (SensitiveCounts(name, ("a", "b"), np.array([[30, 20, 10], [10, 20, 30]]), 1.0) for name in "pg")
    ((low, high),) = sets([person], confidence=0.95)
    for wider_low, wider_high in sets([person, gender], confidence=0.95):
        assert (wider_low < low).all()
        assert (high < wider_high).all()
    (expected_low, _) = confidence_intervals(person.counts, confidence=0.975)
    assert np.abs(sets([person, gender], confidence=0.95)[0][0] - expected_low).max() <= 2 / UNIT


def clopper_pearson(found, windows, miss):
    with np.errstate(all="ignore"):
        low = np.where(found > 0, beta.ppf(miss / 2, found, windows - found + 1), 0.0)
        high = np.where(found < windows, beta.ppf(1 - miss / 2, found + 1, windows - found), 1.0)
    return low, high


@settings(deadline=None, max_examples=20)  # each works out dozens of intervals
@given(seeds, st.integers(3, 12), st.integers(1, 3000))
def test_cells_are_never_wider_than_clopper_pearson(seed, codes, windows):
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(windows, rng.dirichlet(np.ones(codes)), size=2)
    low, high = confidence_intervals(counts, confidence=0.95)
    widest_low, widest_high = clopper_pearson(counts, windows, (1 - 0.95**0.5) / codes)
    assert (low >= widest_low - 3 / UNIT).all()
    assert (high <= widest_high + 3 / UNIT).all()
    assert (low <= counts / windows).all()
    assert (counts / windows <= high).all()


def test_small_counts_gain_over_clopper_pearson():
    counts = np.array([[0, 2, 5, 13, 180]])
    low, high = confidence_intervals(counts, confidence=0.95)
    widest_low, widest_high = clopper_pearson(counts, 200, 0.05 / 5)
    assert ((high - low) < 0.998 * (widest_high - widest_low)).all()
    assert (high - low)[0, :4].sum() < 0.975 * (widest_high - widest_low)[0, :4].sum()


def test_two_codes_are_one_proportion():
    low, high = confidence_intervals([[30, 70]], confidence=0.95)
    assert low[0, 0] == 1 - high[0, 1]
    widest_low, widest_high = clopper_pearson(np.array([30]), 100, 0.05)
    assert widest_low <= low[0, 0] < high[0, 0] <= widest_high


def test_a_class_never_seen_may_be_anything():
    low, high = confidence_intervals([[0, 0, 0], [5, 5, 5]], confidence=0.95)
    assert low[0].tolist() == [0, 0, 0]
    assert high[0].tolist() == [1, 1, 1]
    assert (low[1] > 0).all()


def test_one_code_is_certain():
    assert confidence_intervals([[3], [0]], confidence=0.95) == (
        pytest.approx(np.ones((2, 1))),
        pytest.approx(np.ones((2, 1))),
    )


def test_full_confidence_says_nothing():
    low, high = confidence_intervals([[10, 20, 30]], confidence=1.0)
    assert (low == 0).all()
    assert (high == 1).all()


@settings(deadline=None, max_examples=15)  # each works out intervals of thousands of windows
@given(st.lists(st.integers(0, 500), min_size=2, max_size=8))
def test_more_confidence_is_wider_and_more_windows_are_narrower(counts):
    low, high = confidence_intervals([counts], confidence=0.9)
    wider_low, wider_high = confidence_intervals([counts], confidence=0.99)
    assert (wider_low <= low).all()
    assert (high <= wider_high).all()
    more_low, more_high = confidence_intervals([[16 * count for count in counts]], confidence=0.9)
    assert (more_high - more_low <= high - low).all()


def test_ends_are_whole_multiples_of_the_unit():
    low, high = confidence_intervals(np.random.default_rng(0).integers(0, 99, (4, 5)), confidence=0.95)
    assert (low * UNIT == np.rint(low * UNIT)).all()
    assert (high * UNIT == np.rint(high * UNIT)).all()


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6), st.booleans())
def test_extremes_are_those_of_a_linear_programme(seed, codes, ties):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (codes, 4)) / 2 if ties else rng.random((codes, 4))
    low, high = confidence_intervals(rng.integers(0, 9, (2, codes)), confidence=0.95)
    least, most = extremes(weights, low, high)
    for s, j in product(range(2), range(4)):
        box = list(zip(low[s], high[s], strict=True))
        for sign, found in ((1, least), (-1, most)):
            best = linprog(sign * weights[:, j], A_eq=np.ones((1, codes)), b_eq=[1.0], bounds=box).fun
            assert found[s, j] == pytest.approx(sign * best, abs=1e-8)
    assert extremes(weights, low[0], high[0])[0] == pytest.approx(least[0])


@given(seeds, st.integers(1, 10))
def test_no_conditional_in_the_set_leaves_the_extremes(seed, codes):
    rng = np.random.default_rng(seed)
    inside = rng.dirichlet(np.full(codes, 0.5))
    low, high = inside * rng.random(codes), inside + rng.random(codes) * (1 - inside)
    weights = rng.random((codes, 5))
    least, most = extremes(weights, low, high)
    assert (least <= inside @ weights).all()
    assert (inside @ weights <= most).all()


@pytest.mark.parametrize("confidence", [0.49, 1.01, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(PolicyError, match="confidence"):
        confidence_intervals([[1, 2]], confidence=confidence)
    secret = SensitiveCounts("person", ("a",), np.array([[1, 2]]), 1.0)
    with pytest.raises(PolicyError, match="confidence"):
        sets([secret, secret], confidence=confidence)


NOT_A_LINE = ["a\nb", "a\x1b[2Kb", "\u202eb", "a\u2028b", "\x00", "", "a" * 101]


@pytest.mark.parametrize("name", NOT_A_LINE)
def test_names_that_are_not_one_printable_line_are_refused_and_not_repeated(name):
    for inference, classes in ((name, ("a",)), ("person", (name,))):
        with pytest.raises(PolicyError, match="printable line") as refused:
            SensitiveCounts(inference, classes, np.array([[1, 2]]), 1.0)
        assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("classes", "counts", "epsilon"),
    [
        (("a",), [[1, 2], [3, 4]], 1.0),
        (("a", "b"), [1, 2], 1.0),
        ((), np.zeros((0, 2)), 1.0),
        (("a",), [[-1, 2]], 1.0),
        (("a",), [[0.5, 2]], 1.0),
        (("a",), [[np.nan, 2]], 1.0),
        (("a",), [[2**40, 2]], 1.0),
        (("a",), [[1, 2]], -1.0),
        (("a",), [[1, 2]], float("nan")),
    ],
)
def test_counts_that_are_none_are_refused(classes, counts, epsilon):
    with pytest.raises(PolicyError, match="person"):
        SensitiveCounts("person", classes, np.array(counts), epsilon)
