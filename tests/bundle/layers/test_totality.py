"""No number makes a network fail, and none is larger than the bound from which exactness follows."""

import numpy as np
import pytest

from deeprotect.bundle.layers.products import Affine, Product
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Residual, Unflatten
from deeprotect.bundle.network import Network


def whole(*values):
    return np.array(values, dtype=np.int32)


def quantise(most=9):
    return Quantise(whole([0, 0]), 0, whole([1, 1]), 0, Clip(-most, most))


ROUND = Round(Clip(-5, 5))
DECISION = Argmax((2,), whole(1, 0))
NOTHING = [[np.nan, np.nan], [0.0, 0.0]]


@pytest.mark.parametrize("layer", [ROUND, quantise(), Table(whole(7, 8, 9), -1), Table(whole(7, 8, 9), 1)])
def test_no_number_counts_as_zero_wherever_it_is_rounded(layer):
    found = Network((layer,), 2)(np.array(NOTHING))
    assert found[0].tolist() == found[1].tolist()


def test_no_number_is_decided_on_like_zero():
    assert Network((ROUND, DECISION), 2)(np.array(NOTHING)).tolist() == [[1.0], [1.0]]


def test_what_overflows_float32_is_no_number_later_and_still_counts_as_zero():
    minus = Affine(Product(whole([-1, 0], [0, -1]), whole(0, 0), 0, whole(-64, -64)))
    opposite = Residual((ROUND, minus, Scale(-64)))
    network = Network((quantise(), Scale(-64), Scale(-64), opposite, quantise(), DECISION), 2)
    assert network(np.array([[3.0, 1.0]])).tolist() == [[1.0]]


def test_a_network_may_end_in_a_series():
    rows = np.arange(12.0).reshape(2, 6)
    assert Network((Unflatten(2),), 6)(rows).tolist() == rows.tolist()


def test_large_scores_are_told_apart_exactly():
    high = (1 << 24) - 1
    rows = np.array([[high - 1, high], [high, high - 1]], dtype=np.float64)
    assert Network((quantise(high), Argmax((2,), whole(0, 1))), 2)(rows).tolist() == [[1.0], [0.0]]


def test_bounds_cover_what_sums_in_float32_are_rounded_by():
    adding = tuple(Residual((Scale(shift),)) for shift in range(1, 24) for _ in range(3))
    for top in range(1 << 20, (1 << 20) + 200):
        network = Network((quantise(top), *adding), 2)
        assert (network(np.full((1, 2), np.inf)) <= network.bounds.high).all()
