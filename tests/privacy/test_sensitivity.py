"""Certified sensitivities are reached by some pair of windows and exceeded by none."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from deeprotect.errors import PolicyError
from deeprotect.privacy.sensitivity import linear_l1, paper_l1, sign_vectors

matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(-5, 5, width=32))


@given(matrices)
def test_the_linear_sensitivity_is_the_maximum_over_all_corners(weights):
    corners = product((-1.0, 1.0), repeat=weights.shape[1])
    largest = max(np.abs(weights @ np.array(corner)).sum() for corner in corners)
    found = linear_l1(weights)
    assert found.exact
    assert found.value == pytest.approx(largest, rel=1e-8)
    assert found.value >= largest


@pytest.mark.parametrize("seed", range(5))
def test_an_orthonormal_encoder_is_far_below_the_papers_bound(seed):
    rng = np.random.default_rng(seed)
    weights = np.linalg.qr(rng.normal(size=(30, 7)))[0].T
    exact = linear_l1(weights).value
    assert np.sqrt(7) <= exact <= np.sqrt(7 * 30) * (1 + 1e-8) < paper_l1(7, 30)
    assert 11.0 < exact < 14.5


def test_a_wide_encoder_gets_a_valid_upper_bound():
    weights = np.random.default_rng(0).normal(size=(21, 25))
    found = linear_l1(weights)
    assert not found.exact
    corners = np.sign(np.random.default_rng(1).normal(size=(5000, 25)))
    assert np.abs(corners @ weights.T).sum(axis=1).max() < found.value


def test_the_papers_bound_for_seven_features_of_thirty_samples():
    assert paper_l1(7, 30) == pytest.approx(79.37, abs=0.01)


def test_sign_vectors_are_all_there_once_up_to_sign():
    signs = np.concatenate(list(sign_vectors(4)))
    both = {tuple(row) for row in signs} | {tuple(-row) for row in signs}
    assert len(signs) == 8
    assert len(both) == 16


def test_many_sign_vectors_come_in_chunks():
    assert sum(len(chunk) for chunk in sign_vectors(17)) == 2**16


@pytest.mark.parametrize("weights", [np.zeros(3), np.zeros((0, 2)), [[np.nan]], [[np.inf]]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(PolicyError):
        linear_l1(weights)


def test_a_maximum_says_whether_it_is_exact():
    assert "exact" in str(linear_l1([[1.0, 2.0]]))
