"""Readings on the clock: order, duplicates, gaps, late ones, jumps, other rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.conftest import NAMES, POLICY, START, STEP, readings

from deeprotect.errors import InputError
from deeprotect.gateway.wire.message import Message
from deeprotect.policy import Policy
from deeprotect.release.by_time import ByTime, phase_of
from deeprotect.signals.readings import Readings
from deeprotect.signals.resampling import slower
from deeprotect.signals.schema import Schema
from deeprotect.signals.ticks import Ticks

SCHEMA = Policy.from_toml(POLICY).schema()
CELL = START - STEP // 2  # where the first window's first tick begins to be the nearest


def through(*messages, finish=False):
    clock = ByTime(SCHEMA, phase=phase_of("watch"))
    windows = [window for each in messages for window in clock.push(each.readings)]
    return windows + (clock.finish() if finish else []), clock


def ramp(first, count):
    """Values that tell which tick they are of."""
    times = START + (first + np.arange(count, dtype=np.int64)) * STEP
    ticks = np.arange(first, first + count, dtype=float)
    return Message("s", (Readings("rows", NAMES, times, np.stack([ticks / 100, -ticks / 100], axis=1)),))


def values(windows):
    return [window.samples[:, 0].tolist() for window in windows if window.samples is not None]


def test_whole_windows_come_out_as_soon_as_they_are_full():
    windows, _ = through(ramp(0, 9))
    assert values(windows) == [[0.0, 0.01, 0.02, 0.03], [0.04, 0.05, 0.06, 0.07]]


def test_a_window_that_the_session_begins_inside_of_is_left_out():
    windows, clock = through(ramp(2, 8))
    assert values(windows) == [[0.04, 0.05, 0.06, 0.07]]
    assert clock.late == 0


@given(st.permutations(range(6)))
def test_messages_in_any_order_and_twice_give_the_same_windows(order):
    pieces = [ramp(3 * place, 3) for place in range(6)]
    expected = values(through(*pieces)[0])
    # The first message says where the session begins; all others may come in any order.
    shuffled = [pieces[0], *(pieces[place] for place in order), *(pieces[place] for place in order)]
    assert values(through(*shuffled)[0]) == expected


def only(ticks, *, count=12):
    return Message("s", (ramp(0, count).readings[0].where(np.isin(np.arange(count), ticks)),))


def test_up_to_two_missing_ticks_are_bridged_inside_the_window_and_repeated_at_its_edges():
    windows, _ = through(only([0, 3, 4, 5, 10, 11]), ramp(12, 30))
    assert values(windows)[:3] == [
        pytest.approx([0.0, 0.01, 0.02, 0.03]),
        pytest.approx([0.04, 0.05, 0.05, 0.05]),
        pytest.approx([0.1, 0.1, 0.1, 0.11]),
    ]


@pytest.mark.parametrize("there", [[], [0], [3]])
def test_a_window_that_lacks_three_ticks_in_a_row_has_no_samples(there):
    windows, _ = through(ramp(0, 4), only([4 + tick for tick in there] + [8, 9, 10, 11]), ramp(12, 30))
    assert [each.samples is None for each in windows[:3]] == [False, True, False]


def test_a_sensor_that_stops_leaves_windows_without_samples_and_is_named():
    both = Message("s", (readings(0, 8, channels=("acc_x",)), readings(0, 4, channels=("acc_y",))))
    windows, clock = through(both, Message("s", (readings(8, 40, channels=("acc_x",)),)))
    assert [window.samples is None for window in windows][:2] == [False, True]
    assert clock.missing == ("acc_y",)


def test_what_comes_after_its_window_was_closed_is_dropped_and_counted():
    windows, clock = through(ramp(0, 4), ramp(8, 30), ramp(4, 4))
    assert windows[1].samples is None
    assert clock.late == 4


def test_a_clock_that_jumps_forward_leaves_a_gap_and_one_that_is_set_back_gives_late_readings():
    windows, clock = through(ramp(4000, 8), ramp(0, 8), ramp(9000, 8))
    numbers = [window.number for window in windows]
    assert [number - numbers[0] for number in numbers] == [0, 1, 1250, 1251]
    assert clock.late == 8


@pytest.mark.parametrize("factor", [2, 4, 5])
def test_a_faster_device_is_averaged_as_prepare_and_the_data_sets_average(factor):
    count = 4 * factor * 5
    times = CELL + np.arange(count + 1, dtype=np.int64) * (STEP // factor)
    samples = np.random.default_rng(factor).normal(size=(count + 1, 2))
    pieces = [
        Message("s", (Readings("rows", NAMES, times[at : at + 7], samples[at : at + 7]),))
        for at in range(0, count + 1, 7)
    ]
    windows, clock = through(*pieces)
    found = np.concatenate([each.samples for each in windows])
    assert np.array_equal(found, slower(samples[:count], 10.0 * factor, 10.0))
    assert clock.late == 0


def test_a_device_at_half_the_rate_is_bridged_inside_each_window():
    windows, _ = through(only(range(0, 13, 2), count=13))
    assert values(windows)[:2] == [pytest.approx([0.0, 0.01, 0.02, 0.02]), pytest.approx([0.04, 0.05, 0.06, 0.06])]


def test_a_window_of_one_tick_waits_for_all_of_its_readings():
    times = CELL + np.arange(9, dtype=np.int64) * (STEP // 4)
    clock = ByTime(Schema(SCHEMA.channels, SCHEMA.rate_hz, 1))
    windows = []
    for place in range(9):
        windows += clock.push([Readings("rows", NAMES, times[place : place + 1], np.full((1, 2), place))])
    assert values(windows) == [[1.5], [5.5]]
    assert clock.late == 0


def test_no_reading_is_too_large_to_be_averaged():
    times = CELL + np.arange(17, dtype=np.int64) * (STEP // 2)
    windows, _ = through(Message("s", (Readings("rows", NAMES, times, np.full((17, 2), 1.7e308)),)))
    assert [np.isfinite(each.samples).all() for each in windows] == [True, True]


def test_stamps_of_a_window_are_the_producers_own_each_once():
    jitter = np.array([3, -4, 5, 0, 0, 0, 0, 0], dtype=np.int64) * 10**6
    base = ramp(0, 8).readings[0]
    uneven = Readings("acc", NAMES, base.times_ns + jitter, base.values)
    windows, _ = through(Message("s", (uneven,)), Message("s", (uneven,)), ramp(8, 4))
    stamps = windows[0].own[0]
    assert stamps.times_ns.tolist() == uneven.times_ns[:4].tolist()
    assert stamps.ticks.tolist() == [0, 1, 2, 3]


def test_a_message_that_covers_years_is_refused_in_one_line():
    far = Message("s", (readings(0, 1), readings(10_000, 1)))
    with pytest.raises(InputError, match="at most 600 s"):
        through(far)


@given(st.integers(0, 2**62), st.sampled_from([0.5, 1.0, 10.0, 48.7, 50.0, 99.99, 1000.0]))
def test_ticks_are_exact_where_floats_are_not(nanoseconds, rate):
    from fractions import Fraction

    ticks = Ticks.of(rate)
    found = int(ticks.nearest(np.array([nanoseconds]))[0])
    exact = Fraction(nanoseconds) * ticks.count / (ticks.seconds * 10**9)
    assert abs(Fraction(found) - exact) <= Fraction(1, 2)
    assert int(ticks.nearest(ticks.times(np.array([found])))[0]) == found


def test_what_came_before_the_first_window_is_not_awaited():
    clock = ByTime(SCHEMA, phase=phase_of("watch"))
    clock.push([readings(1, 1, channels=NAMES[:1])])
    assert clock.missing == NAMES[1:]
    clock.push([readings(2, 1, channels=NAMES[1:])])
    assert clock.missing == ()
