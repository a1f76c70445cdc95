import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.training.networks import (
    BOX_STEPS,
    MEAN_STEPS,
    SCALE_BITS,
    THINNEST,
    Standardise,
    outward,
    significant,
    to_grid,
)

finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(0, 1e6))
def test_a_box_never_shrinks_and_grows_by_little(low, width):
    (new_low,), (new_high,) = outward(np.array([low]), np.array([low + width]))
    assert new_low <= low
    assert new_high >= low + width
    assert new_high - new_low <= width + 2 / BOX_STEPS * max(width, THINNEST * max(1, abs(low))) + 1e-9 * abs(low)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_ends_of_a_box_are_few_numbers(low, width):
    ends = np.concatenate(outward(np.array([low]), np.array([low + width])))
    step = 2.0 ** np.floor(np.log2(max(width, THINNEST * max(1, low)) / BOX_STEPS))
    assert np.array_equal(ends / step, np.rint(ends / step))


@given(st.floats(1e-6, 1e6))
def test_significant_digits_are_kept_and_no_others(value):
    (rounded,) = significant(np.array([value]), bits=3)
    assert abs(rounded - value) <= value / 16 * (1 + 1e-12)
    assert (np.frexp(rounded)[0] * 16).is_integer()


def test_multiples_of_a_step_stay_as_they_are():
    values = np.arange(-20, 20) / 32
    assert np.array_equal(to_grid(values, 1 / 32), values)


def test_what_moves_in_one_window_only_is_not_told_by_mean_and_spread():
    """Exact numbers would give it away: 300 windows at 0.4, one of them elsewhere."""
    found = set()
    for elsewhere in np.linspace(0.8, 0.82, 50):
        windows = np.full((300, 2), 0.4)
        windows[7, 1] = elsewhere
        standardise = Standardise(windows)
        found.add((standardise.mean[1].item(), standardise.scale[1].item()))
    assert len(found) <= 3


def test_coarse_numbers_standardise_nearly_as_exact_ones_do():
    windows = np.random.default_rng(0).normal(0.5, [0.001, 0.01, 0.1], (5000, 3)).clip(0, 1)
    standardise = Standardise(windows)
    values = (windows - standardise.mean.numpy()) / standardise.scale.numpy()
    assert np.abs(values.mean(axis=0)).max() < 1 / MEAN_STEPS
    assert np.abs(values.std(axis=0) - 1).max() < 2.0**-SCALE_BITS
