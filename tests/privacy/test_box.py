"""Clipping is total and exact: whatever comes in, an integer within the public box goes on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deeprotect.errors import InputError, PolicyError
from deeprotect.privacy.box import Box

anything = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(arrays(np.float64, (4, 3), elements=anything), st.integers(1, 5000))
def test_any_input_lands_on_the_grid(code, grid_steps):
    box = Box((-1.0, 0.0, 1e6), (1.0, 1e-9, 2e6), grid_steps)
    position = box.to_grid(code)
    assert position.dtype == np.int64
    assert position.min() >= 0
    assert position.max() <= grid_steps


def test_nan_and_infinities_have_fixed_public_places():
    box = Box((0.0,), (8.0,), 8)
    assert box.to_grid(np.array([[np.nan], [np.inf], [-np.inf], [1e308]])).ravel().tolist() == [4, 8, 0, 8]


@given(arrays(np.float64, (5, 2), elements=st.floats(-2.0, 3.0)))
def test_rounding_moves_a_clipped_code_by_half_a_step(code):
    box = Box((-2.0, -1.0), (3.0, 3.0), 64)
    moved = np.abs(box.from_grid(box.to_grid(code)) - np.clip(code, box.low, box.high))
    assert (moved <= 0.5 * np.array([float(step) for step in box.steps]) * (1 + 1e-9)).all()


def test_float32_codes_are_taken():
    assert Box.unit(2).to_grid(np.ones((1, 2), dtype=np.float32)).tolist() == [[4096, 4096]]


def test_no_windows_give_no_positions():
    assert Box.unit(2).to_grid(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("shape", [(3,), (2, 4), (1, 3, 1)])
def test_codes_of_another_shape_are_refused(shape):
    with pytest.raises(InputError, match="3 coordinates"):
        Box.unit(3).to_grid(np.zeros(shape))


@pytest.mark.parametrize(
    ("low", "high", "grid_steps"),
    [
        ((), (), 8),
        ((0.0,), (0.0,), 8),
        ((1.0,), (0.0,), 8),
        ((0.0,), (float("inf"),), 8),
        ((float("nan"),), (1.0,), 8),
        ((0.0, 0.0), (1.0,), 8),
        ((0.0,), (1.0,), 0),
        ((0.0,), (1.0,), 2**25),
    ],
)
def test_a_box_that_is_none_is_refused(low, high, grid_steps):
    with pytest.raises(PolicyError):
        Box(low, high, grid_steps)


def test_fitting_covers_training_codes_and_survives_a_constant_feature():
    codes = np.column_stack([np.linspace(-3, 5, 50), np.full(50, 0.25)])
    box = Box.fit(codes)
    assert (box.low[0], box.high[0]) == (-3.0, 5.0)
    assert box.low[1] == 0.25
    assert 0 < box.high[1] - 0.25 < 1e-5


def test_fitting_can_leave_out_the_tails():
    box = Box.fit(np.linspace(0, 1, 101)[:, None], trim=0.1)
    assert (box.low[0], box.high[0]) == pytest.approx((0.1, 0.9))
