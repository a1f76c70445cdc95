"""Scripts: counted, numbered, decoded by dynamic programming, and drawn by exact randomised response."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deeprotect.errors import BundleError, PolicyError
from deeprotect.privacy.channel.ratios import WHOLE
from deeprotect.privacy.channel.scripts import WASTED, ScriptResponse, Scripts, keep_for
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms import mechanism as mechanisms

SMALL = st.builds(Scripts, st.integers(2, 4), st.integers(3, 5), st.integers(0, 2), st.integers(1, 3))


def every(scripts):
    """All sequences of the alphabet, by brute force."""
    found = list(product(range(scripts.labels), repeat=scripts.slots))
    return np.array([each for each in found if np.count_nonzero(np.diff(each)) <= scripts.changes])


def response(scripts, epsilon, **facts):
    labels = scripts.labels
    return ScriptResponse.of(scripts, epsilon, prior=(1 / labels,) * labels, cost=1.0 - np.eye(labels), **facts)


def test_six_labels_and_twenty_slots_are_576_scripts_of_one_change():
    assert Scripts(6, 20, 1, 1).count == 6 + 6 * 5 * 19 == 576


@given(SMALL)
@settings(max_examples=40, deadline=None)
def test_each_sequence_of_few_changes_has_one_number_and_each_number_one_sequence(scripts):
    sequences = every(scripts)
    numbers = scripts.numbers(sequences)
    assert sorted(numbers.tolist()) == list(range(scripts.count))
    assert np.array_equal(scripts.sequences(numbers), sequences)


def test_numbers_come_back_where_no_list_of_all_scripts_could_be_made():
    scripts = Scripts(6, 60, 4, 1)
    numbers = np.random.default_rng(0).integers(scripts.count, size=2000)
    sequences = scripts.sequences(numbers)
    assert scripts.count > 10**9
    assert np.array_equal(scripts.numbers(sequences), numbers)
    assert (np.count_nonzero(np.diff(sequences, axis=1), axis=1) <= 4).all()


@given(SMALL, st.integers(0, 2**32 - 1), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_no_script_has_more_support_than_the_likeliest(scripts, seed, spread):
    support = np.random.default_rng(seed).integers(-spread, spread, size=(7, scripts.slots, scripts.labels))
    found = scripts.sequences(scripts.likeliest(support))
    totals = support[:, np.arange(scripts.slots)[None], every(scripts)].sum(axis=2)
    own = support[np.arange(7)[:, None], np.arange(scripts.slots)[None], found].sum(axis=1)
    assert np.array_equal(own, totals.max(axis=1))


def test_without_evidence_nothing_changes():
    scripts = Scripts(3, 6, 2, 1)
    assert scripts.likeliest(np.zeros((1, 6, 3), dtype=np.int64)).tolist() == [0]
    late = np.zeros((1, 6, 3), dtype=np.int64)
    late[0, :2, 2] = 5  # a short episode: the slots after its end say nothing
    assert scripts.sequences(scripts.likeliest(late)).tolist() == [[2] * 6]


def test_an_episode_is_decoded_alike_alone_and_among_others():
    scripts = Scripts(4, 9, 2, 1)
    support = np.random.default_rng(1).integers(-3, 4, size=(40, 9, 4))
    alone = np.concatenate([scripts.likeliest(each[None]) for each in support])
    assert np.array_equal(scripts.likeliest(support), alone)


@pytest.mark.parametrize(("epsilon", "changes"), [(5.0, 1), (10.0, 1), (15.0, 2), (18.0, 3)])
def test_without_a_number_of_changes_there_are_as_many_as_epsilon_pays_for(epsilon, changes):
    scripts = Scripts.fitting(6, 20, changes=None, windows=15, epsilon=epsilon)
    assert scripts.changes == changes
    assert changes == 1 or 1 - response(scripts, epsilon).kept <= WASTED


def test_alphabets_that_cannot_be_are_refused_with_what_to_change():
    with pytest.raises(PolicyError, match="use longer slots or fewer changes"):
        Scripts(64, 1000, 4, 1)
    with pytest.raises(PolicyError, match="must be between 0 and 2"):
        Scripts(3, 3, 3, 1)


@given(st.integers(2, 10**9), st.floats(0.01, 40.0))
@settings(max_examples=200, deadline=None)
def test_real_epsilon_never_exceeds_the_stated_one_and_hardly_falls_short(count, epsilon):
    keep = keep_for(count, epsilon)
    ratio = 1 + Fraction(keep * count, WHOLE - keep)
    more = 1 + Fraction((keep + 2) * count, WHOLE - keep - 2)
    assert math.log(ratio) <= epsilon * (1 + 1e-15) + 1e-15
    assert math.log(more) >= epsilon * (1 - 1e-12) - 1e-12


def test_a_response_that_keeps_too_much_cannot_be_made():
    scripts = Scripts(3, 4, 1, 1)
    fine = response(scripts, 2.0)
    facts = {"prior": fine.prior, "cost": fine.cost}
    with pytest.raises(PolicyError, match="above the stated 2"):
        ScriptResponse(Event("ldp", 2.0), fine.keep + 10**6, scripts, **facts)
    body = fine.to_json()
    assert mechanisms.load(body).certificate() == fine.certificate()
    for altered in ({"changes": 2}, {"slots": 9}, {"labels": 4}, {"keep": str(WHOLE - 1)}, {"keep": "-1"}):
        with pytest.raises(BundleError):
            mechanisms.load({**body, **altered})


def test_scripts_leave_as_often_as_the_integers_say():
    scripts, runs = Scripts(2, 3, 1, 2), 60_000
    made = response(scripts, 1.5)
    drawn = made.privatise(np.full((runs, 1), 3.0), entropy=SeededEntropy(5))[:, 0].astype(int)
    counts = np.bincount(drawn, minlength=scripts.count)
    other = (1 - made.kept) / scripts.count
    expected = runs * np.where(np.arange(scripts.count) == 3, made.kept + other, other)
    assert ((counts - expected) ** 2 / expected).sum() < 30  # chi-squared, 5 degrees of freedom


def test_all_windows_of_an_episode_show_one_script():
    scripts = Scripts(3, 4, 1, 2)
    made = response(scripts, 3.0, variants=5)
    numbers = np.arange(scripts.count, dtype=np.float64)[:, None]
    windows = made.repeat(numbers, np.full(scripts.count, 8), entropy=SeededEntropy(1))
    labels = made.output_of(windows).reshape(-1, 8)
    assert np.array_equal(labels[:, ::2], scripts.sequences(np.arange(scripts.count)))
    assert np.array_equal(labels[:, ::2], labels[:, 1::2])
    short = made.repeat(numbers[:2], np.array([3, 8]), entropy=SeededEntropy(1))
    assert len(short) == 11


def test_any_number_is_a_script_also_where_none_was_read():
    made = response(Scripts(3, 4, 1, 1), 40.0)
    drawn = made.privatise(np.array([[np.nan], [-5.0], [np.inf], [7.4]]), entropy=SeededEntropy(0))
    assert drawn[:, 0].tolist() == [0.0, 0.0, made.scripts.count - 1, 7.0]


def test_the_expected_error_is_the_mean_over_scripts():
    scripts = Scripts(3, 4, 2, 1)
    made = response(scripts, 2.0)
    junk = scripts.sequences(np.arange(scripts.count))
    wrong = np.mean([np.mean(junk != label) for label in range(3)])
    assert made.expected_error() == pytest.approx((1 - made.kept) * wrong)
