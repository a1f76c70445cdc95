"""Relaxed sensitivities are never too small: no pair of neighbours exceeds them."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from deeprotect.errors import PolicyError
from deeprotect.privacy.mechanisms import relaxed
from deeprotect.privacy.mechanisms.relaxed import basis, largest_l1, relaxed_sensitivity


def directions(seed, dim, rank):
    return basis(np.random.default_rng(seed).normal(size=(dim, rank)))


def brute_force(matrix, base):
    """A convex function is largest at a vertex; a vertex makes r constraints ±(Cα)_i = 1 tight."""
    dim, rank = base.shape
    best = 0.0
    for rows in combinations(range(dim), rank):
        square = base[list(rows)]
        if abs(np.linalg.det(square)) < 1e-12:
            continue
        for signs in product((-1.0, 1.0), repeat=rank):
            alpha = np.linalg.solve(square, signs)
            if np.abs(base @ alpha).max() <= 1 + 1e-9:
                best = max(best, np.abs(matrix @ alpha).sum())
    return best


def feasible(base, count, seed):
    alpha = np.random.default_rng(seed).normal(size=(count, base.shape[1]))
    return alpha / np.abs(alpha @ base.T).max(axis=1, keepdims=True)


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_one_direction_has_the_closed_form(seed, dim):
    c = np.random.default_rng(seed).normal(size=dim)
    expected = np.abs(c).sum() / (dim * np.abs(c).max())
    assert relaxed_sensitivity(basis(c)).value == pytest.approx(expected, rel=1e-8)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(8, 2), (11, 2), (14, 2), (7, 3), (11, 3), (12, 3)]))
def test_several_directions_agree_with_vertex_enumeration(seed, size):
    base = directions(seed, *size)
    found = relaxed_sensitivity(base)
    expected = brute_force(base, base) / len(base)
    assert found.exact
    assert found.value == pytest.approx(min(expected, 1.0), rel=1e-6)
    assert found.value >= expected * (1 - 1e-12)


@pytest.mark.parametrize(("dim", "rank"), [(5, 2), (6, 3), (7, 4), (9, 5)])
def test_the_sensitivity_along_directions_agrees_with_vertex_enumeration(dim, rank):
    base = directions(dim, dim, rank)
    found = largest_l1(np.eye(rank), base)
    assert found.exact
    assert found.value == pytest.approx(brute_force(np.eye(rank), base), rel=1e-6)


@pytest.mark.parametrize(("dim", "rank"), [(30, 1), (30, 2), (30, 5), (30, 12), (60, 4)])
def test_no_neighbours_ever_exceed_it(dim, rank):
    base = directions(dim + rank, dim, rank)
    alpha = feasible(base, 20_000, seed=1)
    assert np.abs(alpha @ base.T).sum(axis=1).max() / dim <= relaxed_sensitivity(base).value
    assert np.abs(alpha).sum(axis=1).max() <= largest_l1(np.eye(rank), base).value


def test_each_upper_bound_alone_is_valid(monkeypatch):
    base = directions(2, 9, 3)
    exact = relaxed_sensitivity(base)
    monkeypatch.setattr(relaxed, "_sign_patterns", lambda matrix: None)
    bound = relaxed_sensitivity(base)
    assert exact.exact
    assert not bound.exact
    assert exact.value <= bound.value <= 1.0
    for most in (512, 4, 0):
        monkeypatch.setattr(relaxed, "_MOST_PROGRAMMES", most)
        assert largest_l1(base, base).value >= exact.value * len(base)


@pytest.mark.long
@pytest.mark.parametrize(("dim", "rank"), [(256, 256), (2_000, 64), (40, 10), (600, 10), (9_000, 3)])
def test_the_work_of_all_programmes_is_bounded_before_any_is_solved(monkeypatch, dim, rank):
    base, solved, real = directions(5, dim, rank), [], optimize.linprog

    def noted(*args, options, **kwargs):
        solved.append(options["maxiter"])
        return real(*args, options=options, **kwargs)

    monkeypatch.setattr(optimize, "linprog", noted)
    found = largest_l1(np.eye(rank), base)
    assert len(solved) * base.size <= 1_600_000
    assert all(steps <= 500 for steps in solved)
    assert np.abs(feasible(base, 2_000, seed=1)).sum(axis=1).max() <= found.value
    assert found.value <= np.sqrt(rank * dim) * (1 + 1e-8)


def test_one_programme_that_takes_too_long_ends_all_of_them(monkeypatch):
    smooth = np.linalg.qr(np.vander(np.linspace(-1, 1, 3_000), 6))[0]
    calls, real = [], optimize.linprog
    monkeypatch.setattr(optimize, "linprog", lambda *args, **kwargs: calls.append(1) or real(*args, **kwargs))
    found = largest_l1(np.eye(6), smooth)
    assert not found.exact
    assert found.method == "Euclidean norm"
    assert len(calls) < 32


def test_sparse_directions_are_bounded_by_the_sum_of_their_entries():
    found = largest_l1(np.eye(20), np.eye(400)[:, :20])
    assert found.method == "sum of entries"
    assert found.value == pytest.approx(20)


def test_a_solver_that_fails_gives_a_larger_number_and_not_a_smaller_one(monkeypatch):
    base = directions(3, 8, 2)
    exact = largest_l1(np.eye(2), base).value

    class Failed:
        x = None

    monkeypatch.setattr(optimize, "linprog", lambda *a, **k: Failed())
    assert largest_l1(np.eye(2), base).value >= exact


def test_a_careless_solver_is_corrected_from_above(monkeypatch):
    base = directions(4, 8, 2)
    exact = largest_l1(np.eye(2), base).value
    real = optimize.linprog

    def careless(*args, **kwargs):
        solved = real(*args, **kwargs)
        solved.x = solved.x * 0.9  # ten per cent short of the constraint
        return solved

    monkeypatch.setattr(optimize, "linprog", careless)
    assert largest_l1(np.eye(2), base).value >= exact


def test_repeated_samples_do_not_break_exactness():
    # Rows that are parallel put many hyperplanes through one ray.
    base = basis(np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 2, axis=0))
    found = relaxed_sensitivity(base)
    assert found.value * 12 >= brute_force(base, base) * (1 - 1e-12)
    assert found.value * 12 == pytest.approx(brute_force(base, base), rel=1e-6)


def test_the_relaxed_sensitivity_is_at_most_one_and_often_less():
    assert relaxed_sensitivity(np.eye(3)).value == 1.0
    assert relaxed_sensitivity(basis([1.0, 0.0, 0.0, 0.0])).value == pytest.approx(0.25)


def test_a_basis_drops_dependent_classifiers_and_spans_the_rest():
    weights = np.random.default_rng(0).normal(size=(10, 3))
    weights = np.column_stack([weights, weights[:, 0] - 2 * weights[:, 1], np.zeros(10), 1e-9 * weights[:, 2]])
    base = basis(weights)
    assert base.shape == (10, 3)
    assert np.abs(base.T @ base - np.eye(3)).max() < 1e-12
    assert np.abs(weights - base @ (base.T @ weights)).max() < 1e-12


def test_a_classifier_with_small_weights_is_kept():
    weights = np.eye(6)[:, :2] * [1.0, 1e-10]
    assert basis(weights).shape == (6, 2)


@pytest.mark.parametrize("weights", [np.zeros((5, 2)), np.full((5, 1), np.nan), np.zeros((2, 2, 2))])
def test_directions_that_are_none_are_refused(weights):
    with pytest.raises(PolicyError):
        basis(weights)
