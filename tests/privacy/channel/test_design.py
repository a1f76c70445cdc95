"""The designed channel is the cheapest that keeps the promise: known optima, brute force, and the edges."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.recordings import promises

from deeprotect.errors import PolicyError
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.channel import design as designs
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.design import design
from deeprotect.privacy.channel.promises import NamedPromise
from deeprotect.privacy.channel.ratios import worst

seeds = st.integers(0, 10**6)


def wrong(codes):
    return 1.0 - np.eye(codes)


def person(counts, epsilon=1.0, recordings=60):
    (promise,) = promises(counts, epsilon=epsilon, recordings=recordings)
    return promise


def random_box(rng, codes, epsilon):
    """Any set of conditionals."""
    inside = rng.dirichlet(np.ones(codes))
    low, high = inside * rng.random(codes), inside + rng.random(codes) * (1 - inside)
    ends = np.floor(low * UNIT).astype(int), np.ceil(high * UNIT).astype(int)
    return NamedPromise("person", epsilon, ("a", "b"), 99, *(tuple(end.tolist()) for end in ends))


def randomised_response(codes, epsilon):
    other = 1 / (np.exp(epsilon) + codes - 1)
    return np.full((codes, codes), other) + (np.exp(epsilon) * other - other) * np.eye(codes)


def log_ratio(probabilities, promise):
    """The largest log ratio of two conditionals of the set."""
    box = [end / UNIT for end in promise.box]
    most, least = ((worst(sign * probabilities, *box) * probabilities).sum(axis=0) for sign in (1, -1))
    used = probabilities.max(axis=0) > 1e-9
    return np.log(most[used] / least[used]).max()


@pytest.mark.parametrize("codes", range(2, 21))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 5.0, 10.0])
def test_ldp_with_equal_priors_is_randomised_response(codes, epsilon):
    found = design(wrong(codes), np.ones(codes), ldp_epsilon=epsilon)
    assert np.abs(found.probabilities - randomised_response(codes, epsilon)).max() < 1e-9
    assert found.expected_cost == pytest.approx((codes - 1) / (np.exp(epsilon) + codes - 1), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.0, 12.0), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8).filter(lambda p: sum(p) > 0.1))
def test_ldp_reaches_the_limit_for_any_prior(epsilon, prior):
    found = design(wrong(len(prior)), prior, ldp_epsilon=epsilon)
    assert 1 - found.expected_cost == pytest.approx(best_accuracy(epsilon, prior), abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.2])
def test_it_is_no_worse_than_subset_selection_where_that_wins(epsilon):
    codes, size = 6, 2
    outputs = [{z} for z in range(codes)] + [set(pair) for pair in combinations(range(codes), size)]
    # An app that is content when the truth is among what it is told.
    cost = np.array([[float(z not in output) for output in outputs] for z in range(codes)])
    found = design(cost, np.ones(codes), ldp_epsilon=epsilon)
    hit = size * np.exp(epsilon) / (size * np.exp(epsilon) + codes - size)
    assert found.expected_cost <= 1 - hit + 1e-9
    assert found.expected_cost < design(wrong(codes), np.ones(codes), ldp_epsilon=epsilon).expected_cost - 0.05


def corners(low, high):
    """All vertices of {low ≤ p ≤ high, Σp = 1}: every coordinate but one at an end."""
    found = []
    for free in range(len(low)):
        others = [z for z in range(len(low)) if z != free]
        for ends in product(*[(low[z], high[z]) for z in others]):
            p = np.zeros(len(low))
            p[others], p[free] = ends, 1 - sum(ends)
            if low[free] - 1e-12 <= p[free] <= high[free] + 1e-12:
                found.append(p)
    return found


def brute_force(cost, prior, promise):
    """One row for each output and each pair of corners of the set."""
    codes, outputs = cost.shape
    ends = corners(*(end / UNIT for end in promise.box))
    rows = []
    for p, other, output in product(ends, ends, range(outputs)):
        row = np.zeros((codes, outputs))
        row[:, output] = p * np.exp(-promise.epsilon) - other
        rows.append(row.ravel())
    total = np.kron(np.eye(codes), np.ones(outputs))
    objective = (prior[:, None] * cost).ravel()
    return linprog(objective, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=total, b_eq=np.ones(codes)).fun


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([(2, 2), (2, 3), (3, 3), (3, 2), (4, 3)]), st.floats(0.05, 4.0))
def test_the_named_optimum_is_that_of_brute_force(seed, size, epsilon):
    codes, outputs = size
    rng = np.random.default_rng(seed)
    cost, prior = rng.random((codes, outputs)), rng.dirichlet(np.ones(codes))
    promise = random_box(rng, codes, epsilon)
    found = design(cost, prior, promises=[promise])
    assert found.expected_cost == pytest.approx(brute_force(cost, prior, promise), abs=2e-7)
    assert log_ratio(found.probabilities, promise) <= epsilon + 1e-6


def test_a_small_programme_keeps_the_promises_and_loses_little(monkeypatch):
    """All sets share one λ for each output."""
    rng = np.random.default_rng(3)
    counts = rng.dirichlet(np.full(5, 5.0), size=(6, 3))
    found = promises(counts, recordings=300, given=tuple("abcdef"))
    exact = design(wrong(5), np.ones(5), promises=found)
    monkeypatch.setattr(designs, "_EXACT", 0)
    smaller = design(wrong(5), np.ones(5), promises=found)
    assert max(log_ratio(smaller.probabilities, each) for each in found) <= 1.0 + 1e-6
    assert exact.expected_cost - 1e-6 <= smaller.expected_cost <= exact.expected_cost + 0.01


def test_one_code_costs_nothing():
    assert design([[0.0]], [1.0], ldp_epsilon=1.0).probabilities.tolist() == [[1.0]]
    assert design([[0.0, 1.0]], [1.0], promises=[person([[3], [4]])]).probabilities.tolist() == [[1.0, 0.0]]


def test_a_set_of_everything_is_ldp():
    everything = NamedPromise("person", 1.5, ("a", "b"), 1, (0,) * 4, (UNIT,) * 4)
    unseen = design(wrong(4), np.ones(4), promises=[everything])
    assert np.abs(unseen.probabilities - randomised_response(4, 1.5)).max() < 1e-8


@given(st.integers(1, 6), seeds, st.booleans())
def test_without_budget_all_codes_are_answered_alike(codes, seed, named):
    prior = np.random.default_rng(seed).dirichlet(np.ones(codes))
    promise = {"promises": [person(np.ones((2, codes)), 0.0)]} if named else {"ldp_epsilon": 0.0}
    found = design(wrong(codes), prior, **promise)
    assert (found.probabilities == found.probabilities[0]).all()
    assert found.expected_cost == pytest.approx(1 - prior.max(), abs=1e-6)


@pytest.mark.parametrize("epsilon", [40.0, 1e6, 1e300, float("inf")])
def test_a_huge_budget_changes_hardly_anything(epsilon):
    assert design(wrong(5), np.ones(5), ldp_epsilon=epsilon).expected_cost < 1e-6
    secret = person([[9, 0, 0, 0, 0], [0, 9, 9, 9, 9]], epsilon)
    assert design(wrong(5), np.ones(5), promises=[secret]).expected_cost < 1e-6


def test_a_code_of_prior_zero_is_still_answered_well():
    found = design(wrong(3), [0.5, 0.5, 0.0], promises=[person([[9, 9, 9], [9, 9, 9]], 9.0)])
    assert found.probabilities[2, 2] == pytest.approx(1.0)


def test_distortion_decides_between_equally_cheap_channels():
    cost = np.zeros((2, 3))
    distortion = [[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]
    found = design(cost, [0.5, 0.5], ldp_epsilon=1.0, distortion=distortion)
    assert found.probabilities[:, 1] == pytest.approx([1.0, 1.0])


def test_all_promises_bind_at_once():
    first = person([[40, 30, 20, 10], [38, 31, 20, 11], [42, 28, 20, 10]], 0.8)
    (second,) = promises([[90, 60, 30, 20], [20, 30, 60, 90]], epsilon=0.5, inference="gender", classes=("f", "m"))
    both = design(wrong(4), np.ones(4), promises=[first, second], ldp_epsilon=2.0)
    assert log_ratio(both.probabilities, first) <= 0.8 + 1e-6
    assert log_ratio(both.probabilities, second) <= 0.5 + 1e-6
    assert (both.probabilities.max(axis=0) <= np.exp(2.0 + 1e-6) * both.probabilities.min(axis=0)).all()
    for alone in ({"promises": [first]}, {"promises": [second]}, {"ldp_epsilon": 2.0}):
        assert design(wrong(4), np.ones(4), **alone).expected_cost <= both.expected_cost + 1e-7


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 5), st.floats(0.1, 3.0))
def test_more_budget_and_more_recordings_never_cost_more(seed, codes, epsilon):
    rng = np.random.default_rng(seed)
    counts, prior = 1 + rng.integers(0, 40, (3, codes)), rng.dirichlet(np.ones(codes))
    cost = [
        design(wrong(codes), prior, promises=[person(counts, more * epsilon, 40 * times)]).expected_cost
        for times, more in ((1, 1.0), (1, 1.5), (5, 1.0))
    ]
    assert max(cost[1:]) <= cost[0] + 1e-6


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 5), st.floats(0.1, 4.0))
def test_ldp_implies_every_named_promise(seed, codes, epsilon):
    promise = random_box(np.random.default_rng(seed), codes, epsilon)
    ldp = design(wrong(codes), np.ones(codes), ldp_epsilon=epsilon)
    named = design(wrong(codes), np.ones(codes), promises=[promise])
    assert log_ratio(ldp.probabilities, promise) <= epsilon + 1e-9
    assert named.expected_cost <= ldp.expected_cost + 1e-7


@pytest.mark.parametrize(
    ("cost", "prior", "promise", "says"),
    [
        (wrong(2), [1, 1], {}, "promises nothing"),
        (wrong(2), [1, 1, 1], {"ldp_epsilon": 1.0}, "one prior for each code"),
        (wrong(2), [0, 0], {"ldp_epsilon": 1.0}, "not all zero"),
        (wrong(2), [-1, 2], {"ldp_epsilon": 1.0}, "non-negative"),
        ([[0, np.nan], [1, 0]], [1, 1], {"ldp_epsilon": 1.0}, "finite"),
        (wrong(2), [1, 1], {"ldp_epsilon": -1.0}, "negative"),
        (wrong(2), [1, 1], {"ldp_epsilon": float("nan")}, "negative"),
        (wrong(2), [1, 1], {"promises": [person([[1, 2, 3]] * 2)]}, "3 codes"),
        (wrong(2), [1, 1], {"promises": [person([[1, 2]] * 2)] * 2}, "twice"),
        (wrong(2), [1, 1], {"ldp_epsilon": 1.0, "distortion": [[1.0]]}, "distortion"),
    ],
)
def test_wrong_input_is_refused_in_one_line(cost, prior, promise, says):
    with pytest.raises(PolicyError, match=says) as refused:
        design(cost, prior, **promise)
    assert "\n" not in str(refused.value)
