"""Late rows are sorted in; a clock that began anew is kept apart; no row is lost or doubled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals.clock import RESTART_ROWS, clock_runs

TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=120).map(lambda times: np.array(times, dtype=float))


@given(TIMES)
def test_every_row_is_in_one_run_and_every_run_is_in_order(times):
    runs = clock_runs(times)
    assert sorted(np.concatenate(runs).tolist()) == list(range(len(times)))
    assert all((np.diff(times[run]) >= 0).all() for run in runs)


@given(st.permutations(range(60)))
def test_shuffled_rows_are_sorted(order):
    times = np.array(order, dtype=float)
    longest = max(map(len, np.split(times, np.flatnonzero(np.diff(times) < 0) + 1)))
    if longest < RESTART_ROWS:
        (run,) = clock_runs(times)
        assert times[run].tolist() == list(range(60))


def test_packets_that_come_late_are_sorted_in_even_if_they_are_long():
    times = np.concatenate([np.arange(0, 100), np.arange(200, 300), np.arange(100, 200)]).astype(float)
    (run,) = clock_runs(times)
    assert times[run].tolist() == list(range(300))


@pytest.mark.parametrize("offset", [0.0, 0.5, 30.0])
def test_a_clock_that_begins_anew_begins_a_run(offset):
    times = np.concatenate([np.arange(100.0), offset + np.arange(60.0), offset + np.arange(80.0)])
    assert [len(run) for run in clock_runs(times)] == [100, 60, 80]


def test_a_few_rows_written_again_are_no_new_clock():
    times = np.concatenate([np.arange(100.0), np.arange(90.0, 95.0), np.arange(100.0, 200.0)])
    assert len(clock_runs(times)) == 1
