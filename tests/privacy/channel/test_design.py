"""The designed channel is the cheapest that keeps the promise: known optima, brute force, and the edges."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from deeprotect.errors import PolicyError
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.channel.design import design

seeds = st.integers(0, 10**6)


def wrong(codes):
    return 1.0 - np.eye(codes)


def randomised_response(codes, epsilon):
    other = 1 / (np.exp(epsilon) + codes - 1)
    return np.full((codes, codes), other) + (np.exp(epsilon) * other - other) * np.eye(codes)


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


def brute_force(cost, prior, epsilon):
    """One row for each output and each pair of codes."""
    codes, outputs = cost.shape
    rows = []
    for (z, other), output in product(permutations(range(codes), 2), range(outputs)):
        row = np.zeros((codes, outputs))
        row[z, output], row[other, output] = np.exp(-epsilon), -1.0
        rows.append(row.ravel())
    total = np.kron(np.eye(codes), np.ones(outputs))
    objective = (prior[:, None] * cost).ravel()
    return linprog(objective, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=total, b_eq=np.ones(codes)).fun


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from([(2, 2), (2, 3), (3, 3), (3, 2), (4, 3)]), st.floats(0.05, 4.0))
def test_the_optimum_is_that_of_brute_force(seed, size, epsilon):
    codes, outputs = size
    rng = np.random.default_rng(seed)
    cost, prior = rng.random((codes, outputs)), rng.dirichlet(np.ones(codes))
    found = design(cost, prior, ldp_epsilon=epsilon)
    assert found.expected_cost == pytest.approx(brute_force(cost, prior, epsilon), abs=2e-7)


def test_one_code_costs_nothing():
    assert design([[0.0]], [1.0], ldp_epsilon=1.0).probabilities.tolist() == [[1.0]]
    assert design([[0.0, 1.0]], [1.0], ldp_epsilon=1.0).probabilities.tolist() == [[1.0, 0.0]]


@given(st.integers(1, 6), seeds)
def test_without_budget_all_codes_are_answered_alike(codes, seed):
    prior = np.random.default_rng(seed).dirichlet(np.ones(codes))
    found = design(wrong(codes), prior, ldp_epsilon=0.0)
    assert (found.probabilities == found.probabilities[0]).all()
    assert found.expected_cost == pytest.approx(1 - prior.max(), abs=1e-6)


@pytest.mark.parametrize("epsilon", [40.0, 1e6, 1e300, float("inf")])
def test_a_huge_budget_changes_hardly_anything(epsilon):
    assert design(wrong(5), np.ones(5), ldp_epsilon=epsilon).expected_cost < 1e-6


def test_a_code_of_prior_zero_is_answered_by_what_costs_it_least():
    cost = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.9, 0.2, 0.0]]
    found = design(cost, [0.5, 0.5, 0.0], ldp_epsilon=5.0)
    assert found.probabilities[2, 1] > 0.99


def test_distortion_decides_between_equally_cheap_channels():
    cost = np.zeros((2, 3))
    distortion = [[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]
    found = design(cost, [0.5, 0.5], ldp_epsilon=1.0, distortion=distortion)
    assert found.probabilities[:, 1] == pytest.approx([1.0, 1.0])


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 5), st.floats(0.1, 3.0))
def test_more_budget_never_costs_more(seed, codes, epsilon):
    prior = np.random.default_rng(seed).dirichlet(np.ones(codes))
    less, more = (design(wrong(codes), prior, ldp_epsilon=each).expected_cost for each in (epsilon, 1.5 * epsilon))
    assert more <= less + 1e-6


@pytest.mark.parametrize(
    ("cost", "prior", "promise", "says"),
    [
        (wrong(2), [1, 1, 1], {"ldp_epsilon": 1.0}, "one prior for each code"),
        (wrong(2), [0, 0], {"ldp_epsilon": 1.0}, "not all zero"),
        (wrong(2), [-1, 2], {"ldp_epsilon": 1.0}, "non-negative"),
        ([[0, np.nan], [1, 0]], [1, 1], {"ldp_epsilon": 1.0}, "finite"),
        (wrong(2), [1, 1], {"ldp_epsilon": -1.0}, "negative"),
        (wrong(2), [1, 1], {"ldp_epsilon": float("nan")}, "negative"),
        (wrong(2), [1, 1], {"ldp_epsilon": 1.0, "distortion": [[1.0]]}, "distortion"),
    ],
)
def test_wrong_input_is_refused_in_one_line(cost, prior, promise, says):
    with pytest.raises(PolicyError, match=says) as refused:
        design(cost, prior, **promise)
    assert "\n" not in str(refused.value)
