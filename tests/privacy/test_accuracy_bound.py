"""No ε-LDP release lets anyone guess better than the limit, and some release attains it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from deeprotect.errors import PolicyError
from deeprotect.privacy.accuracy_bound import best_accuracy, best_laplace_accuracy


def best_by_programme(epsilon, priors):
    """The largest Σ π_y Q(y|y) over all channels Q(z|y) with Q(z|a) ≤ e^ε Q(z|b): one linear programme."""
    k = len(priors)
    rows, bounds = [], []
    for a in range(k):
        for b in range(k):
            for z in range(k):
                if a != b:
                    row = np.zeros((k, k))
                    row[a, z], row[b, z] = np.exp(-epsilon), -1.0
                    rows.append(row.ravel())
                    bounds.append(0.0)
    total = np.kron(np.eye(k), np.ones(k))
    cost = -np.diag(priors).ravel()
    solved = linprog(cost, A_ub=np.array(rows), b_ub=bounds, A_eq=total, b_eq=np.ones(k), method="highs")
    return -solved.fun


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 6.0), st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5))
def test_it_equals_the_best_channel_of_all(epsilon, weights):
    priors = np.array(weights) / np.sum(weights)
    assert best_accuracy(epsilon, priors) == pytest.approx(best_by_programme(epsilon, priors), abs=1e-6)


@pytest.mark.parametrize(("classes", "limit"), [(2, 0.993), (3, 0.987), (7, 0.961), (20, 0.887), (36, 0.809)])
def test_known_values_at_epsilon_five(classes, limit):
    assert best_accuracy(5.0, np.ones(classes)) == pytest.approx(limit, abs=6e-4)


def test_without_budget_it_is_the_majority_class():
    assert best_accuracy(0.0, [0.2, 0.5, 0.3]) == 0.5


@given(st.floats(0.0, 5000.0), st.floats(0.0, 10.0), st.lists(st.floats(0.01, 1.0), min_size=1, max_size=9))
def test_it_grows_with_epsilon_and_stays_a_probability(epsilon, more, priors):
    assert max(priors) / sum(priors) <= best_accuracy(epsilon, priors) + 1e-12
    assert best_accuracy(epsilon, priors) <= best_accuracy(epsilon + more, priors) + 1e-12
    assert best_accuracy(epsilon + more, priors) <= 1.0


def read_through_laplace(points, scales, priors):
    """How often the best reader is right: the integral of the largest π_y p(z|y), on a fine grid, one or two axes."""
    axes = [np.linspace(-1, 2, 601) * 8 * scale for scale in scales]
    densities = []
    for point in points:
        parts = [np.exp(-np.abs(axis - x) / b) for axis, x, b in zip(axes, point, scales, strict=True)]
        whole = parts[0] if len(parts) == 1 else np.outer(*parts)
        densities.append(whole / whole.sum())
    return np.max([prior * each for prior, each in zip(priors, densities, strict=True)], axis=0).sum()


@settings(max_examples=60, deadline=None)
@given(st.floats(0.1, 6.0), st.lists(st.floats(0.05, 1.0), min_size=2, max_size=5), st.data())
def test_no_reader_of_laplace_noise_in_a_box_passes_its_limit(epsilon, weights, data):
    priors = np.array(weights) / np.sum(weights)
    share = data.draw(st.sampled_from([None, 0.2, 0.5]))  # of ε on the first of two axes
    spent = np.array([1.0] if share is None else [share, 1 - share]) * epsilon
    corners = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), min_size=len(spent), max_size=len(spent))
    points = data.draw(st.lists(corners, min_size=len(priors), max_size=len(priors)))
    assert read_through_laplace(points, 1 / spent, priors) <= best_laplace_accuracy(epsilon, priors) + 5e-3


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_two_classes_at_the_ends_of_an_interval_attain_it(epsilon):
    reached = read_through_laplace([[0.0], [1.0]], [1 / epsilon], [0.5, 0.5])
    assert reached == pytest.approx(best_laplace_accuracy(epsilon, [0.5, 0.5]), abs=5e-3)


@pytest.mark.parametrize("priors", [[1.0], [1.0, 0.0], [0.0, 0.0, 3.0]])
def test_a_label_that_never_differs_is_always_guessed(priors):
    assert best_laplace_accuracy(1.0, priors) == 1.0


@pytest.mark.parametrize("limit", [best_accuracy, best_laplace_accuracy])
@pytest.mark.parametrize("priors", [[], [0.0, 0.0], [-0.1, 1.1], [float("nan"), 1.0]])
def test_priors_that_are_none_are_refused(limit, priors):
    with pytest.raises(PolicyError):
        limit(1.0, priors)


@pytest.mark.parametrize("limit", [best_accuracy, best_laplace_accuracy])
@pytest.mark.parametrize("epsilon", [-1.0, float("nan")])
def test_an_epsilon_that_is_none_is_refused(limit, epsilon):
    with pytest.raises(PolicyError):
        limit(epsilon, [0.5, 0.5])
