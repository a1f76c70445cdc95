from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import TableError
from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.splits import contiguous, folds, measurable

SEGMENTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["walk", "sit", None]), st.integers(1, 30)), min_size=1, max_size=12
)


def windows_of(segments):
    """Windows in order; each segment is (new recording?, label, count)."""
    recording = np.cumsum([step for step, _, count in segments for step in [step] + [0] * (count - 1)])
    labels = np.array([label for _, label, count in segments for _ in range(count)], dtype=object)
    samples = np.zeros((len(labels), 2, 1))
    return LabelledWindows(samples, {"activity": labels}, recording, len(labels), "")


@given(SEGMENTS, st.sampled_from([0.1, 0.2, 0.3, 0.5]), st.integers(0, 5))
def test_no_window_is_on_both_sides(segments, held_out, seed):
    train, test = contiguous(windows_of(segments), held_out=held_out, seed=seed)
    assert not (train & test).any()


@given(SEGMENTS, st.sampled_from([0.1, 0.2, 0.3, 0.5]))
def test_neighbours_are_never_on_both_sides(segments, held_out):
    windows = windows_of(segments)
    train, test = contiguous(windows, held_out=held_out, seed=0)
    same = windows.recording[1:] == windows.recording[:-1]
    assert not (same & ((train[1:] & test[:-1]) | (test[1:] & train[:-1]))).any()


def test_every_class_is_on_both_sides_of_a_recording_that_goes_through_them():
    windows = windows_of([(0, "walk", 20), (0, "sit", 20)])
    for side in contiguous(windows, held_out=0.3, seed=0):
        assert set(windows.labels["activity"][side]) == {"walk", "sit"}


def test_recordings_too_short_to_be_cut_go_whole_to_one_side_by_class():
    windows = windows_of([(1, label, 1) for label in ("walk", "sit") for _ in range(50)])
    train, test = contiguous(windows, held_out=0.2, seed=0)
    assert (train | test).all()
    for label in ("walk", "sit"):
        assert test[windows.labels["activity"] == label].sum() == 10


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_split(seed):
    windows = windows_of([(1, "walk", 1)] * 40)
    first, again = (contiguous(windows, held_out=0.3, seed=seed)[1] for _ in range(2))
    assert np.array_equal(first, again)


@given(SEGMENTS, st.integers(2, 6), st.integers(0, 5))
def test_every_window_is_tested_in_exactly_one_fold(segments, count, seed):
    tested = sum(test.astype(int) for _, test in folds(windows_of(segments), count=count, seed=seed))
    assert (tested == 1).all()


@given(SEGMENTS, st.integers(2, 6))
def test_no_fold_trains_on_a_neighbour_of_what_it_tests(segments, count):
    windows = windows_of(segments)
    same = windows.recording[1:] == windows.recording[:-1]
    for train, test in folds(windows, count=count, seed=0):
        assert not (train & test).any()
        assert not (same & ((train[1:] & test[:-1]) | (test[1:] & train[:-1]))).any()


def test_where_no_episode_begins_late_enough_the_last_one_is_held_out():
    """Nine windows in episodes of five: the last fifth begins inside the second episode."""
    windows = windows_of([(1, "walk", 9), (1, "sit", 9), (1, "walk", 4)])
    windows = replace(windows, position=np.array([*range(9), *range(9), *range(4)]))
    train, test = contiguous(windows, held_out=0.2, seed=0, hold=Hold(5))
    assert np.flatnonzero(test).tolist() == [*range(5, 9), *range(14, 18)]
    assert np.flatnonzero(train).tolist() == [*range(4), *range(9, 13), *range(18, 22)]


@pytest.mark.parametrize(
    ("hold", "count", "says"), [(Hold(), 1, "record more$"), (Hold(5), 3, "record more, or lower `every`$")]
)
def test_recordings_too_short_to_measure_on_are_refused_in_one_line(hold, count, says):
    windows = windows_of([(1, "walk", count), (1, "sit", count)])
    windows = replace(windows, position=np.array([*range(count), *range(count)]))
    with pytest.raises(TableError, match=says):
        measurable(windows, held_out=0.2, seed=0, hold=hold)
