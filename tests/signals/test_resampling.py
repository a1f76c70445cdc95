"""Changing the rate invents nothing and loses no mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals.resampling import (
    block_mean,
    forward_only,
    grid,
    interpolate,
    middles,
    monotone_segments,
    slower,
)

times_lists = st.lists(st.integers(0, 1000).map(lambda n: n / 10), min_size=1, max_size=60).map(np.array)


@given(times_lists)
def test_what_is_kept_only_goes_forward_and_nothing_good_is_lost(times: np.ndarray) -> None:
    kept = times[forward_only(times)]
    assert (np.diff(kept) > 0).all()
    assert kept[0] == times[0]
    assert kept[-1] == times.max()


@given(times_lists, st.floats(0.05, 20))
def test_stretches_grow_without_long_pauses_and_never_share_rows(times: np.ndarray, gap: float) -> None:
    runs = list(monotone_segments(times, gap))
    rows = np.concatenate(runs)
    assert (np.diff(rows) > 0).all()
    for run in runs:
        steps = np.diff(times[run])
        assert (steps > 0).all()


def test_a_pause_and_a_restarted_clock_cut_and_a_late_row_is_dropped() -> None:
    times = np.array([0.0, 1.0, 0.5, 2.0, 9.0, 10.0, 0.0, 1.0])
    runs = [times[run].tolist() for run in monotone_segments(times, 2.0)]
    assert runs == [[0.0, 1.0, 2.0], [9.0, 10.0], [0.0, 1.0]]


@given(st.floats(-1e3, 1e3), st.floats(0, 100), st.sampled_from([1.0, 10.0, 20.0, 48.0, 50.0]))
def test_the_grid_stays_inside_and_misses_less_than_one_step(start: float, lasting: float, rate_hz: float) -> None:
    at = grid(start, start + lasting, rate_hz)
    assert at[0] == start
    assert at[-1] <= start + lasting + 1e-6
    assert start + lasting - at[-1] < 1 / rate_hz + 1e-6


def test_an_empty_interval_has_no_grid() -> None:
    assert len(grid(1.0, 0.0, 10.0)) == 0


def test_interpolation_is_exact_on_straight_lines() -> None:
    times = np.array([0.0, 0.3, 1.1, 2.0])
    samples = np.stack([2 * times + 1, -times], axis=1)
    at = np.linspace(0, 2, 9)
    np.testing.assert_allclose(interpolate(times, samples, at), np.stack([2 * at + 1, -at], axis=1))


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 5))
def test_an_integer_factor_is_the_block_mean(count: int, factor: int, seed: int) -> None:
    samples = np.random.default_rng(seed).normal(size=(count * factor + factor - 1, 2))
    expected = samples[: count * factor].reshape(count, factor, 2).mean(axis=1)
    np.testing.assert_allclose(slower(samples, 10.0 * factor, 10.0), expected)
    np.testing.assert_allclose(block_mean(samples, factor), expected)


@given(st.integers(10, 200), st.sampled_from([50 / 48, 1.5, 50 / 20.1, 50 / 7]), st.integers(0, 5))
def test_any_factor_keeps_the_total_of_the_covered_time(count: int, factor: float, seed: int) -> None:
    samples = np.random.default_rng(seed).normal(size=(count, 1))
    slow = slower(samples, factor, 1.0)
    covered = len(slow) * factor
    whole = int(covered)
    total = samples[:whole].sum() + (covered - whole) * (samples[whole, 0] if whole < count else 0)
    assert slow.sum() * factor == pytest.approx(total, abs=1e-9)
    assert len(middles(count, factor, 1.0)) == len(slow)


@pytest.mark.parametrize("new_rate_hz", [10.0, 12.0])
def test_a_tone_above_the_new_limit_is_weakened_not_folded(new_rate_hz: float) -> None:
    time = np.arange(1000) / 50
    tone = np.sin(2 * np.pi * new_rate_hz * 0.98 * time)[:, None]
    picked = tone[np.rint(np.arange(0, 1000, 50 / new_rate_hz)).astype(int).clip(max=999)]
    assert np.abs(slower(tone, 50.0, new_rate_hz)).max() < 0.2 < np.abs(picked).max()


def test_labels_are_read_in_the_middle_of_a_cell() -> None:
    assert middles(10, 50.0, 10.0).tolist() == [2, 7]
    assert middles(9, 50.0, 10.0).tolist() == [2]
