import numpy as np
import pytest

from deeprotect.errors import TableError
from deeprotect.signals.clock import Clock, rate_of_step, usual_step


@pytest.mark.parametrize("per_second", [1.0, 1e3, 1e6, 1e9])
def test_time_may_be_in_seconds_or_milliseconds_or_finer(per_second):
    Clock(10, "walk.csv").check(np.arange(20) / 10 * per_second, None, first_row=0)


def test_jitter_is_no_gap():
    jitter = np.random.default_rng(0).uniform(-0.04, 0.04, 200)
    Clock(10, "walk.csv").check(np.arange(200) / 10 + jitter, None, first_row=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda time: time + (np.arange(20) >= 7) * 5, "jumps by more than 3 samples at row 108"),
        (lambda time: np.where(np.arange(20) == 7, 0.0, time), "does not advance at row 108"),
        (lambda time: np.where(np.arange(20) == 7, np.nan, time), "is missing at row 108"),
        (lambda time: time * 5, "does not advance by 0.1 s per row, which rate_hz = 10 needs"),
    ],
)
def test_irregular_time_is_named_by_row(change, message):
    with pytest.raises(TableError, match=message):
        Clock(10, "walk.csv").check(change(np.arange(20) / 10), None, first_row=100)


def test_time_may_start_again_with_a_new_recording():
    time = np.concatenate([np.arange(5), np.arange(5)]) / 10
    recording = np.array(["a"] * 5 + ["b"] * 5, dtype=object)
    Clock(10, "walk.csv").check(time, recording, first_row=0)


def test_a_missing_stamp_is_seen_where_nothing_comes_before_or_after_it():
    recording = np.array(["a", "a", "b", "c", "c"], dtype=object)
    with pytest.raises(TableError, match="is missing at row 3"):
        Clock(10, "walk.csv").check(np.array([0.0, 0.1, np.nan, 0.0, 0.1]), recording, first_row=0)


def test_three_periods_are_no_gap_and_a_little_more_is_one():
    for step, fails in ((0.3, False), (0.31, True)):
        time = np.concatenate([np.arange(5) / 10, 0.4 + step + np.arange(5) / 10])
        clock = Clock(10, "walk.csv")
        if fails:
            with pytest.raises(TableError, match="jumps by more than 3 samples at row 6"):
                clock.check(time, None, first_row=0)
        else:
            clock.check(time, None, first_row=0)


def test_a_gap_between_two_batches_is_seen():
    clock = Clock(10, "walk.csv")
    clock.check(np.arange(10) / 10, None, first_row=0)
    with pytest.raises(TableError, match="row 11"):
        clock.check(np.arange(10) / 10 + 7, None, first_row=10)


@pytest.mark.parametrize("per_second", [1.0, 1e3, 1e6, 1e9])
def test_the_rate_is_read_off_time_stamps_in_any_unit(per_second):
    assert rate_of_step(usual_step(np.arange(9) / 50 * per_second)) == (50, per_second)


def test_no_rate_is_made_up():
    assert usual_step(np.array([1.0])) is None
    assert rate_of_step(usual_step(np.arange(5) * 1e12)) is None


def test_a_wrong_rate_is_said_without_a_figure_of_the_data():
    with pytest.raises(TableError) as caught:
        Clock(10, "walk.csv").check(np.arange(20) * 0.7125, None, first_row=0)
    assert "0.7125" not in str(caught.value)


def test_how_long_the_first_batch_is_does_not_decide_whether_a_table_is_refused():
    """Batches of CSV hold as many rows as fit: their number follows the digits of the raw samples."""
    time = np.cumsum(np.where(np.arange(1000) < 200, 0.1, 0.25))
    for first in (150, 900):
        clock = Clock(10, "walk.csv")
        clock.check(time[:first], None, first_row=0)
        clock.check(time[first:], None, first_row=first)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_time_that_is_never_a_number_is_missing_and_nothing_else_is_said(value):
    with pytest.raises(TableError, match="time is missing at row 1"):
        Clock(10, "walk.csv").check(np.full(5, value), None, first_row=0)
