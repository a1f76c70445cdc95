"""The sets hold together as often as they say, window after window of a recording alike or not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.recordings import correlated, promises, recorded

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.betting import UNIT, lower_ends, needed, upper_ends
from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.privacy.channel.promises import NamedPromise, miss_of_an_end
from deeprotect.privacy.channel.ratios import worst

seeds = st.integers(0, 10**6)


@pytest.mark.long
@pytest.mark.parametrize("correlation", [0.0, 0.03, 0.1, 0.3, 0.9])
def test_all_sets_hold_together_as_often_as_stated_however_windows_of_a_recording_go_together(correlation):
    """Seventy cells of eight codes, of thirty recordings with 27 windows each; people differ by the Dirichlet."""
    rng, held, trials = np.random.default_rng(7), 0, 40
    for _ in range(trials):
        usual = 0.12 * rng.dirichlet(np.ones(8), size=(7, 10)) + 0.88 * np.eye(8)[:7, None]
        cells = [
            [correlated(rng, mean, recordings=30, windows=27, correlation=correlation) for mean in people]
            for people in usual
        ]
        found, rest = RecordedShares("person", tuple("abcdefghij"), cells, 3.0, tuple("1234567")).calibrated(
            confidence=0.95
        )
        assert not rest
        held += all(
            (low <= people * UNIT).all() and (people * UNIT <= high).all()
            for people, (low, high) in zip(usual, (each.box for each in found), strict=True)
        )
    assert held >= 0.95 * trials


def test_ends_are_far_below_hoeffdings_where_shares_are_small():
    shares = np.random.default_rng(1).beta(1, 19, size=(60, 1))
    hoeffding = shares.mean() + np.sqrt(np.log(1 / 1e-4) / 120)
    assert shares.mean() < upper_ends(shares, miss=1e-4)[0] / UNIT < shares.mean() + 0.6 * (hoeffding - shares.mean())


def test_the_old_sets_of_windows_would_not_hold():
    """Why recordings are counted: intervals of 810 windows as if independent miss most of the time."""
    from scipy.stats import beta

    rng, missed = np.random.default_rng(2), 0
    for _ in range(300):
        wrong = round(810 * correlated(rng, [0.9, 0.1], recordings=30, windows=27, correlation=0.3)[:, 1].mean())
        ends = beta.ppf([0.025, 0.975], [wrong, wrong + 1], [811 - wrong, 810 - wrong])
        missed += not ends[0] <= 0.1 <= ends[1]
    assert missed / 300 > 0.3


def test_all_inferences_all_cells_and_both_ends_share_the_miss():
    each = miss_of_an_end(0.95, inferences=2, cells=70, codes=8)
    assert each * 2 * 70 * 16 <= 0.05
    assert each * 2 * 70 * 16 == pytest.approx(0.05)
    assert miss_of_an_end(0.9, inferences=1, cells=1, codes=2) == pytest.approx(0.05)  # two codes are one share


def test_a_set_is_around_those_of_all_classes_and_names_none_of_their_shares():
    rng = np.random.default_rng(3)
    cells = [rng.dirichlet([9, 2, 1], size=n) for n in (30, 44)]
    ((promise,), rest) = RecordedShares("person", ("ann", "bob"), [cells], 1.0).calibrated(confidence=0.95)
    miss = miss_of_an_end(0.95, inferences=1, cells=2, codes=3)
    assert promise.low == tuple(np.minimum(*(lower_ends(cell, miss=miss) for cell in cells)).tolist())
    assert promise.high == tuple(np.maximum(*(upper_ends(cell, miss=miss) for cell in cells)).tolist())
    assert (promise.classes, promise.recordings, rest) == (("ann", "bob"), 30, [])


def test_classes_with_too_few_recordings_are_promised_nothing_and_listed_with_what_is_needed():
    least = needed(miss_of_an_end(0.95, inferences=1, cells=6, codes=2))
    many = [[least, least, least - 1], [least, 1, 0]]
    shares = recorded(np.ones((2, 3, 2)), recordings=many, given=("walk", "still"), classes=("ann", "bob", "eve"))
    (walk,), (eve, still) = shares.calibrated(confidence=0.95)
    assert (walk.given, walk.classes, walk.recordings) == ("walk", ("ann", "bob"), least)
    assert (eve.given, eve.classes, eve.recordings, eve.needed) == ("walk", ("eve",), least - 1, least)
    assert (still.given, still.classes, still.recordings) == ("still", ("ann", "bob", "eve"), 0)


def test_two_inferences_are_known_less_well_than_one():
    counts = [[30, 20, 10], [10, 20, 30]]
    ((one,), (two,)) = promises(counts), promises(counts, inferences=2)
    assert all(a > b for a, b in zip(one.low, two.low, strict=True))
    assert all(a < b for a, b in zip(one.high, two.high, strict=True))


def test_one_code_is_certain():
    ((only,)) = promises([[3], [5]])
    assert (only.low, only.high) == ((UNIT,), (UNIT,))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 6), st.booleans())
def test_extremes_are_those_of_a_linear_programme(seed, codes, ties):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (codes, 4)) / 2 if ties else rng.random((codes, 4))
    inside = rng.dirichlet(np.full(codes, 0.5))
    low, high = inside * rng.random(codes), inside + rng.random(codes) * (1 - inside)
    for j in range(4):
        for sign in (1, -1):
            best = linprog(
                -sign * weights[:, j], A_eq=np.ones((1, codes)), b_eq=[1.0], bounds=np.stack([low, high], axis=1)
            ).fun
            found = (worst(sign * weights, low, high) * weights).sum(axis=0)
            assert sign * found[j] == pytest.approx(-best, abs=1e-8)


@pytest.mark.parametrize("confidence", [0.49, 1.0, float("nan")])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(PolicyError, match="confidence"):
        recorded([[1, 2], [2, 1]]).calibrated(confidence=confidence)


NOT_A_LINE = ["a\nb", "a\x1b[2Kb", "\u202eb", "a\u2028b", "\x00", "", "a" * 101]


@pytest.mark.parametrize("name", NOT_A_LINE)
def test_names_that_are_not_one_printable_line_are_refused_and_not_repeated(name):
    for inference, classes in ((name, ("a", "b")), ("person", (name, "b"))):
        with pytest.raises(PolicyError, match="printable line") as refused:
            NamedPromise(inference, 1.0, classes, 20, (0, 0), (UNIT, UNIT))
        assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("classes", "recordings", "low", "high", "epsilon"),
    [
        (("a",), 20, (0, 0), (UNIT, UNIT), 1.0),
        (("a", "a"), 20, (0, 0), (UNIT, UNIT), 1.0),
        (("a", "b"), 0, (0, 0), (UNIT, UNIT), 1.0),
        (("a", "b"), 1 << 21, (0, 0), (UNIT, UNIT), 1.0),
        (("a", "b"), 20, (-1, 0), (UNIT, UNIT), 1.0),
        (("a", "b"), 20, (0, 0), (UNIT + 1, UNIT), 1.0),
        (("a", "b"), 20, (9, 0), (8, UNIT), 1.0),
        (("a", "b"), 20, (UNIT, 1), (UNIT, UNIT), 1.0),
        (("a", "b"), 20, (0, 0), (1, 1), 1.0),
        (("a", "b"), 20, (0,), (UNIT, UNIT), 1.0),
        (("a", "b"), 20, (), (), 1.0),
        (("a", "b"), 20, (0, 0), (UNIT, UNIT), -1.0),
        (("a", "b"), 20, (0, 0), (UNIT, UNIT), float("nan")),
    ],
)
def test_sets_that_are_none_are_refused(classes, recordings, low, high, epsilon):
    with pytest.raises(PolicyError, match="person"):
        NamedPromise("person", epsilon, classes, recordings, low, high)
