"""The designed channel is the cheapest that keeps the promise: known optima, brute force, and the edges."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from deeprotect.errors import PolicyError
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.channel import design as designs
from deeprotect.privacy.channel.calibration import confidence_intervals, extremes
from deeprotect.privacy.channel.design import SensitiveCounts, design

seeds = st.integers(0, 10**6)


def wrong(codes):
    return 1.0 - np.eye(codes)


def person(counts, epsilon=1.0):
    counts = np.asarray(counts)
    return SensitiveCounts("person", tuple(f"p{number}" for number in range(len(counts))), counts, epsilon)


def randomised_response(codes, epsilon):
    other = 1 / (np.exp(epsilon) + codes - 1)
    return np.full((codes, codes), other) + (np.exp(epsilon) * other - other) * np.eye(codes)


def log_ratio(probabilities, secret, confidence=0.95):
    """The largest log ratio of two different classes over their confidence sets."""
    least, most = extremes(probabilities, *confidence_intervals(secret.counts, confidence=confidence))
    used = probabilities.max(axis=0) > 1e-9
    pairs = [(a, b) for a in range(len(least)) for b in range(len(least)) if a != b]
    return max((np.log(most[a, used] / least[b, used]).max() for a, b in pairs), default=0.0)


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


def brute_force(cost, prior, secret, confidence=0.95):
    """One row for each output, pair of classes and pair of corners of their confidence sets."""
    codes, outputs = cost.shape
    low, high = confidence_intervals(secret.counts, confidence=confidence)
    sets = [corners(*ends) for ends in zip(low, high, strict=True)]
    rows = []
    for a, b in product(range(len(sets)), repeat=2):
        for p, other, output in product(sets[a], sets[b], range(outputs)):
            if a != b:
                row = np.zeros((codes, outputs))
                row[:, output] = p * np.exp(-secret.epsilon) - other
                rows.append(row.ravel())
    total = np.kron(np.eye(codes), np.ones(outputs))
    objective = (prior[:, None] * cost).ravel()
    return linprog(objective, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=total, b_eq=np.ones(codes)).fun


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([(2, 2, 2), (2, 3, 3), (3, 3, 2), (3, 2, 4)]), st.floats(0.05, 4.0))
def test_the_named_optimum_is_that_of_brute_force(seed, size, epsilon):
    codes, outputs, classes = size
    rng = np.random.default_rng(seed)
    cost, prior = rng.random((codes, outputs)), rng.dirichlet(np.ones(codes))
    secret = person(rng.integers(0, 60, (classes, codes)), epsilon)
    found = design(cost, prior, secrets=[secret])
    assert found.expected_cost == pytest.approx(brute_force(cost, prior, secret), abs=2e-7)
    assert log_ratio(found.probabilities, secret) <= epsilon + 1e-6


@pytest.mark.parametrize(("setting", "loss"), [("_EXACT", 1e-3), ("_LARGE", 0.05)])
def test_small_programmes_keep_the_promise_and_lose_little(monkeypatch, setting, loss):
    rng = np.random.default_rng(3)
    usual = rng.dirichlet(np.full(5, 5.0))
    secret = person(np.array([rng.multinomial(200, rng.dirichlet(usual * 60)) for _ in range(8)]), 1.0)
    exact = design(wrong(5), usual, secrets=[secret])
    monkeypatch.setattr(designs, setting, 0)
    smaller = design(wrong(5), usual, secrets=[secret])
    assert log_ratio(smaller.probabilities, secret) <= 1.0 + 1e-6
    assert exact.expected_cost - 1e-6 <= smaller.expected_cost <= exact.expected_cost + loss


def test_sixty_classes_all_bind():
    rng = np.random.default_rng(0)
    usual = rng.dirichlet(np.full(10, 3.0))
    secret = person(np.array([rng.multinomial(300, rng.dirichlet(usual * 50)) for _ in range(60)]), 2.0)
    found = design(wrong(10), usual, secrets=[secret])
    assert log_ratio(found.probabilities, secret) == pytest.approx(2.0, abs=1e-6)
    assert found.expected_cost == pytest.approx(0.25480174, abs=1e-6)  # found by cutting planes as well


def test_one_code_costs_nothing():
    assert design([[0.0]], [1.0], ldp_epsilon=1.0).probabilities.tolist() == [[1.0]]
    assert design([[0.0, 1.0]], [1.0], secrets=[person([[3], [4]])]).probabilities.tolist() == [[1.0, 0.0]]


def test_one_class_is_no_secret():
    assert design(wrong(4), np.ones(4), secrets=[person([[5, 0, 9, 1]])]).expected_cost == pytest.approx(0.0)


def test_classes_never_seen_are_given_ldp():
    unseen = design(wrong(4), np.ones(4), secrets=[person(np.zeros((2, 4)), 1.5)])
    assert np.abs(unseen.probabilities - randomised_response(4, 1.5)).max() < 1e-8
    one = design(wrong(4), np.ones(4), secrets=[person([[0, 0, 0, 0], [50, 60, 40, 50]], 1.5)])
    spread = np.log(one.probabilities.max(axis=0) / one.probabilities.min(axis=0)).max()
    assert 1.5 <= spread <= 3.0 + 1e-6  # at most ε above and ε below the class that was seen


@given(st.integers(1, 6), seeds, st.booleans())
def test_without_budget_all_codes_are_answered_alike(codes, seed, named):
    prior = np.random.default_rng(seed).dirichlet(np.ones(codes))
    promise = {"secrets": [person(np.ones((2, codes)), 0.0)]} if named else {"ldp_epsilon": 0.0}
    found = design(wrong(codes), prior, **promise)
    assert (found.probabilities == found.probabilities[0]).all()
    assert found.expected_cost == pytest.approx(1 - prior.max(), abs=1e-6)


@pytest.mark.parametrize("epsilon", [40.0, 1e6, 1e300, float("inf")])
def test_a_huge_budget_changes_hardly_anything(epsilon):
    assert design(wrong(5), np.ones(5), ldp_epsilon=epsilon).expected_cost < 1e-6
    secret = person([[9, 0, 0, 0, 0], [0, 9, 9, 9, 9]], epsilon)
    assert design(wrong(5), np.ones(5), secrets=[secret]).expected_cost < 1e-6


def test_a_code_of_prior_zero_is_still_answered_well():
    found = design(wrong(3), [0.5, 0.5, 0.0], secrets=[person([[9, 9, 9]])])
    assert found.probabilities[2, 2] == pytest.approx(1.0)


def test_distortion_decides_between_equally_cheap_channels():
    cost = np.zeros((2, 3))
    distortion = [[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]
    found = design(cost, [0.5, 0.5], ldp_epsilon=1.0, distortion=distortion)
    assert found.probabilities[:, 1] == pytest.approx([1.0, 1.0])


def test_all_promises_bind_at_once():
    rng = np.random.default_rng(5)
    first = person(rng.multinomial(400, [0.4, 0.3, 0.2, 0.1], size=3), 0.8)
    second = SensitiveCounts("gender", ("f", "m"), np.array([[90, 60, 30, 20], [20, 30, 60, 90]]), 0.5)
    both = design(wrong(4), np.ones(4), secrets=[first, second], ldp_epsilon=2.0)
    assert log_ratio(both.probabilities, first, 0.975) <= 0.8 + 1e-6  # two secrets share a miss of 0.05
    assert log_ratio(both.probabilities, second, 0.975) <= 0.5 + 1e-6
    assert np.log(both.probabilities.max(axis=0) / both.probabilities.min(axis=0)).max() <= 2.0 + 1e-6
    for alone in ({"secrets": [first]}, {"secrets": [second]}, {"ldp_epsilon": 2.0}):
        assert design(wrong(4), np.ones(4), **alone).expected_cost <= both.expected_cost + 1e-7


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 5), st.floats(0.1, 3.0))
def test_more_budget_and_more_windows_never_cost_more(seed, codes, epsilon):
    rng = np.random.default_rng(seed)
    counts, prior = rng.integers(0, 40, (3, codes)), rng.dirichlet(np.ones(codes))
    cost = [
        design(wrong(codes), prior, secrets=[person(times * counts, more * epsilon)]).expected_cost
        for times, more in ((1, 1.0), (1, 1.5), (25, 1.0))
    ]
    assert max(cost[1:]) <= cost[0] + 1e-6


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 5), st.floats(0.1, 4.0))
def test_ldp_implies_every_named_promise(seed, codes, epsilon):
    rng = np.random.default_rng(seed)
    secret = person(rng.integers(0, 20, (3, codes)), epsilon)
    ldp = design(wrong(codes), np.ones(codes), ldp_epsilon=epsilon)
    named = design(wrong(codes), np.ones(codes), secrets=[secret])
    assert log_ratio(ldp.probabilities, secret) <= epsilon + 1e-9
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
        (wrong(2), [1, 1], {"secrets": [person([[1, 2, 3]])]}, "3 codes"),
        (wrong(2), [1, 1], {"secrets": [person([[1, 2]]), person([[1, 2]])]}, "twice"),
        (wrong(2), [1, 1], {"secrets": [person([[1, 2], [2, 1]])], "confidence": 0.2}, "confidence"),
        (wrong(2), [1, 1], {"ldp_epsilon": 1.0, "distortion": [[1.0]]}, "distortion"),
    ],
)
def test_wrong_input_is_refused_in_one_line(cost, prior, promise, says):
    with pytest.raises(PolicyError, match=says) as refused:
        design(cost, prior, **promise)
    assert "\n" not in str(refused.value)
