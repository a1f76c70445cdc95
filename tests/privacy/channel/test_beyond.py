"""Nobody names a secret more often than the useful labels tell plus what misread draws can: by enumeration of laws."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws import bound, named_rightly, names_the_secret_by_its_error

from deeprotect.privacy.channel.betting import UNIT, least_end
from deeprotect.privacy.channel.beyond import (
    STEPS,
    Excess,
    apart,
    at_most,
    excesses,
    furthest_rows,
    mean_excess,
    misread_draws,
    needed,
)
from deeprotect.privacy.channel.design import design, make, round_rows
from deeprotect.privacy.channel.ratios import WHOLE
from deeprotect.privacy.channel.scripts import ScriptResponse, Scripts

seeds = st.integers(0, 10**6)
ROOM = 1e-12  # of sums of floats


def randomised_response(codes, epsilon):
    return make(design(1.0 - np.eye(codes), np.ones(codes), ldp_epsilon=epsilon))


def rows(rng, codes, outputs, *, evenly=1.0):
    return round_rows(rng.dirichlet(np.full(outputs, evenly), size=codes))


def law(rng, *shape):
    """A joint law of everything, often near its corners."""
    return rng.dirichlet(np.full(np.prod(shape), rng.choice([0.02, 0.1, 1.0]))).reshape(shape)


@given(st.integers(2, 8), st.floats(0.01, 12.0))
@settings(max_examples=30, deadline=None)
def test_tau_of_randomised_response_is_the_closed_form_and_below_what_ldp_allows(codes, epsilon):
    tau = float(apart(randomised_response(codes, epsilon)))
    grown = np.expm1(epsilon)
    assert tau == pytest.approx(grown / (grown + codes), abs=1e-6)
    assert tau <= grown / (grown + 2)


@given(seeds, st.integers(1, 6), st.integers(1, 6))
def test_tau_is_exactly_the_largest_total_variation_of_two_rows(seed, codes, outputs):
    weights = rows(np.random.default_rng(seed), codes, outputs)
    pairs = (sum(max(0, a - b) for a, b in zip(*pair, strict=True)) for pair in product(weights, repeat=2))
    assert furthest_rows(weights) == Fraction(max(pairs), WHOLE)


def test_tau_of_rows_that_share_nothing_is_one_and_of_a_single_row_none():
    assert furthest_rows(((WHOLE, 0), (0, WHOLE))) == 1
    assert furthest_rows(((1, WHOLE - 1), (1, WHOLE - 1))) == 0
    assert apart(SimpleNamespace(name="laplace")) is None


def test_a_script_is_told_from_another_by_what_is_kept_alone():
    scripts = Scripts(2, 3, 1, 1)
    response = ScriptResponse.of(scripts, 4.0, prior=(0.5, 0.5), cost=1.0 - np.eye(2))
    assert apart(response) == Fraction(response.keep, WHOLE)


@given(seeds, st.integers(0, 400))
def test_an_excess_is_never_too_small_and_hardly_too_large(seed, most):
    tau = Fraction(int(np.random.default_rng(seed).integers(0, WHOLE, dtype=np.uint64)), WHOLE)
    found = excesses(tau, most)
    exact = 1 - (1 - tau) ** most
    assert exact <= Fraction(int(found[-1]), UNIT) <= exact + Fraction(most + 1, 1 << 29)
    assert found[0] == 0


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_nobody_names_a_secret_more_often_than_the_bound_says_whatever_draws_have_to_do_with_each_other(draws):
    """Thousands of laws of a secret, of useful classes and of codes; the best observer by enumeration."""
    rng, near = np.random.default_rng(draws), 0.0
    for _ in range(1500):
        codes, secrets = rng.integers(2, 4, size=2)
        weights = rows(rng, codes, rng.integers(2, 5), evenly=rng.choice([0.1, 1.0]))
        joint = law(rng, secrets, *[codes] * (2 * draws))
        blind, right, most = named_rightly(joint, weights)
        assert blind - ROOM <= most
        assert right <= most + ROOM
        near = max(near, (right - blind) / (most - blind) if most > blind + 0.05 else 0.0)
    assert near > 0.3  # laws that come close were among them


def test_a_held_draw_counts_against_any_fixed_reading_of_its_windows_labels():
    """Three windows, one code; the ideal coder takes what most windows are, and a secret may sit in the order."""
    rng = np.random.default_rng(0)
    sequences = np.array(list(product(range(2), repeat=3)))
    most_of = (sequences.sum(axis=1) > 1).astype(int)
    for _ in range(2000):
        weights, joint = rows(rng, 2, 3), law(rng, 3, 8, 2)  # secret, sequence of labels, code
        blind = joint.sum(axis=2).max(axis=0).sum()
        wrong = sum(joint[:, u, c].sum() for u, c in product(range(8), range(2)) if c != most_of[u])
        seen = np.einsum("suc,co->so", joint, np.array(weights, dtype=float) / WHOLE)
        assert seen.max(axis=0).sum() <= blind + float(furthest_rows(weights)) * wrong + ROOM


@pytest.mark.parametrize("slots", [(0,), (1, 2), (0, 1, 2)])
def test_of_a_script_only_the_slots_that_are_seen_must_be_read_rightly(slots):
    rng, scripts = np.random.default_rng(0), Scripts(2, 3, 1, 1)
    response = ScriptResponse.of(scripts, 2.0, prior=(0.5, 0.5), cost=1.0 - np.eye(2))
    kept, shown = response.kept, scripts.sequences(np.arange(scripts.count))[:, list(slots)]
    drawn = kept * np.eye(scripts.count) + (1 - kept) / scripts.count
    outputs = np.unique(shown, axis=0, return_inverse=True)[1].ravel()
    seen = drawn @ np.eye(outputs.max() + 1)[outputs]
    for _ in range(500):
        joint = law(rng, 3, scripts.count, scripts.count)  # secret, script of the true labels, script read
        wrong = (shown[:, None] != shown[None]).any(axis=2)
        misread = joint.sum(axis=0)[wrong].sum()
        right = np.einsum("sgc,co->so", joint, seen).max(axis=0).sum()
        assert right <= joint.sum(axis=2).max(axis=0).sum() + float(apart(response)) * misread + ROOM
    assert misread < joint.sum(axis=0)[~np.eye(scripts.count, dtype=bool)].sum() or len(slots) == 3


def test_a_coder_that_writes_the_secret_into_its_errors_reaches_the_bound():
    """Two equally likely secrets, one useful class; every error says which one. Exactly, in fractions."""
    channel = randomised_response(3, 2.0)
    assert names_the_secret_by_its_error(channel.weights) == bound(apart(channel))


def test_many_people_written_into_rare_errors_come_close_to_the_bound():
    people, misread = 63, 0.1
    channel = randomised_response(people + 1, 12.0)
    joint = np.zeros((people, people + 1, people + 1))
    joint[:, 0, 0] = (1 - misread) / people
    joint[np.arange(people), 0, 1 + np.arange(people)] = misread / people
    blind, right, most = named_rightly(joint, channel.weights)
    assert blind == pytest.approx(1 / people)
    assert right - blind > 0.95 * (most - blind)


def test_two_draws_that_tell_nothing_each_may_tell_all_together_and_the_bound_of_two_draws_knows():
    """The secret is the exclusive or of two errors."""
    weights = randomised_response(2, 4.0).weights
    joint = np.zeros((2, 2, 2, 2, 2))  # secret, two useful classes, two codes
    for first, second in product(range(2), repeat=2):
        joint[first ^ second, 0, 0, first, second] = 0.25
    alone = joint.sum(axis=(2, 4))
    blind, right, most = named_rightly(alone, weights)
    assert right == pytest.approx(blind) == pytest.approx(0.5)
    blind, right, most = named_rightly(joint, weights)
    assert right > 0.9
    assert right <= most + ROOM


def test_what_useful_labels_tell_together_belongs_to_the_guesser_and_not_to_the_coder():
    """The secret is the exclusive or of two useful labels: one label tells nothing of it, both tell all."""
    joint = np.zeros((2, 2, 2, 2, 2))
    for first, second in product(range(2), repeat=2):
        joint[first ^ second, first, second, first, second] = 0.25
    blind, right, most = named_rightly(joint, randomised_response(2, 4.0).weights)
    assert blind == most == 1.0
    assert right < 1.0


def test_each_draw_of_a_recording_is_in_a_stretch_and_the_last_stretch_ends_with_it():
    misread = np.array([True, False, False, True, False, False, True])
    draws = np.arange(7)
    assert misread_draws(misread, draws, length=1).tolist() == misread.astype(int).tolist()
    assert misread_draws(misread, draws, length=3).tolist() == [1, 1, 1]  # 0–2, 3–5 and 4–6
    assert misread_draws(misread, draws, length=7).tolist() == misread_draws(misread, draws, length=99).tolist() == [3]


def test_a_draw_counts_once_for_all_its_slots():
    misread, draws = np.array([True, True, False, True, True, True]), np.array([0, 0, 0, 1, 1, 2])
    assert misread_draws(misread, draws, length=6).tolist() == [3]
    assert misread_draws(misread, draws, length=3).tolist() == [1, 2]


@given(seeds, st.integers(1, 40), st.integers(1, 12))
def test_the_mean_of_a_recording_is_never_too_small(seed, count, length):
    rng = np.random.default_rng(seed)
    misread, tau = rng.random(count) < 0.2, Fraction(9, 10)
    exact = [1 - (1 - tau) ** int(n) for n in misread_draws(misread, np.arange(count), length=length)]
    found = mean_excess(misread, np.arange(count), length=length, tau=tau)
    assert sum(exact) / len(exact) <= found <= sum(exact) / len(exact) + Fraction(1, 10**6)


@given(st.lists(st.fractions(0, 1), min_size=1, max_size=60))
def test_a_summary_rounds_each_recording_up_to_a_square_and_by_no_more_than_a_step(means):
    found = Excess.of(means)
    assert found.recordings == len(means)
    mean = sum(means) / len(means)
    assert mean <= found.mean <= mean + Fraction(2, STEPS)
    if len(means) < needed():
        assert found.end is found.interval is None
        assert max(found.counts) == len(means)  # all at their mean: no recording's own
        return
    low, high = found.interval
    assert 0 <= low <= found.mean <= high + ROOM <= 1 + ROOM
    assert found.end >= found.mean


def test_no_bound_is_claimed_of_less_than_a_dozen_recordings_for_none_would_be_below_a_quarter():
    assert needed() == 12
    assert Excess.of([Fraction(0)] * 11).end is None
    assert Excess.of([Fraction(0)] * 12).end < Fraction(1, 4)
    assert least_end(11, miss=0.05) >= UNIT // 4


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5, 0.95])
def test_the_upper_end_holds_however_the_draws_of_a_recording_go_wrong_together(correlation):
    """Recordings of 30 draws; the end covers the mean in 95 % of trials and more, as the binomial margin allows."""
    rng, trials, misread, tau = np.random.default_rng(1), 200, 0.1, Fraction(98, 100)
    table = excesses(tau, 30) / UNIT
    spread = np.inf if correlation == 0 else 1 / correlation - 1
    covered = 0
    shares = misread if spread == np.inf else rng.beta(misread * spread, (1 - misread) * spread, size=10**5)
    truth = table[rng.binomial(10, shares, size=10**5)].mean()
    for _ in range(trials):
        own = misread if spread == np.inf else rng.beta(misread * spread, (1 - misread) * spread, size=(25, 1))
        wrong = rng.random((25, 30)) < own
        found = Excess.of([mean_excess(each, np.arange(30), length=10, tau=tau) for each in wrong])
        covered += float(found.end) >= truth
    assert covered >= 0.95 * trials - 2 * np.sqrt(trials * 0.95 * 0.05)


def test_what_is_more_than_certain_is_certain():
    assert at_most(0.9, Fraction(1, 2)) == 1.0
    assert at_most(0.1, Fraction(1, 4)) == pytest.approx(0.35)
