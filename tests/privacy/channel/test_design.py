"""The designed channel is the cheapest that keeps the promise: known optima, brute force, and the edges."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import deeprotect.privacy.channel.design
from deeprotect.errors import PolicyError
from deeprotect.privacy.accuracy_bound import best_accuracy
from deeprotect.privacy.channel.design import design, least_error

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


def numbers_of(seed: int, *, levels: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.dirichlet(np.full(levels, 0.7)), random.permutation(random.uniform(-50, 200, size=levels))


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 12), st.floats(0.0, 12.0))
def test_the_limit_of_a_number_is_what_the_channel_of_least_distance_reaches(seed, levels, epsilon):
    prior, values = numbers_of(seed, levels=levels)
    best = design(np.abs(values[:, None] - values), prior, ldp_epsilon=epsilon).expected_cost
    limit = least_error(epsilon, prior, values)
    assert limit <= best * (1 + 1e-9) + 1e-9
    assert limit >= best - 1e-6 * np.ptp(values)


@settings(max_examples=100, deadline=None)
@given(seeds, st.integers(2, 8), st.integers(2, 6), st.floats(0.01, 60.0))
def test_no_reader_of_any_ldp_channel_is_nearer_than_the_limit_of_a_number(seed, levels, outputs, epsilon):
    prior, values = numbers_of(seed, levels=levels)
    random = np.random.default_rng(seed + 1)
    least = random.uniform(0.1, 1, size=outputs)
    weights = least * np.where(random.uniform(size=(levels, outputs)) < 0.5, 1.0, np.exp(epsilon / 2))
    channel = weights / weights.sum(axis=1, keepdims=True)  # a half of ε for the weights, as much for their sums
    assert (channel.max(axis=0) <= np.exp(epsilon) * channel.min(axis=0) * (1 + 1e-12)).all()
    guesses = np.linspace(values.min(), values.max(), 200)
    errors = (prior[:, None] * channel).T @ np.abs(values[:, None] - guesses)  # (output, guess)
    assert least_error(epsilon, prior, values) <= errors.min(axis=1).sum() * (1 + 1e-9)


def test_prices_that_are_a_little_too_high_are_lowered_until_they_bound(monkeypatch):
    prior, values = numbers_of(3, levels=9)
    best = least_error(2.0, prior, values)
    solved = deeprotect.privacy.channel.design._solve

    def optimistic(objective, epsilon, *, most):
        found, prices = solved(objective, epsilon, most=most)
        return found, prices * 1.01

    monkeypatch.setattr(deeprotect.privacy.channel.design, "_solve", optimistic)
    assert best * 0.5 < least_error(2.0, prior, values) <= best


def test_no_epsilon_leaves_the_median_and_a_large_one_no_error():
    prior, values = [0.2, 0.5, 0.3], [60.0, 80.0, 120.0]
    assert least_error(0.0, prior, values) == pytest.approx(0.2 * 20 + 0.3 * 40)
    assert least_error(50.0, prior, values) == 0.0
    assert least_error(1.0, [1.0, 0.0], [60.0, 80.0]) == 0.0


@pytest.mark.parametrize(("prior", "values"), [([1.0], [1.0, 2.0]), ([0.5, 0.5], [1.0, np.nan])])
def test_the_limit_of_a_number_takes_one_finite_value_for_each_prior(prior, values):
    with pytest.raises(PolicyError, match="one finite value for each prior"):
        least_error(1.0, prior, values)
