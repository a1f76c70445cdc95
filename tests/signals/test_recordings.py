"""Recordings are named and in one piece, or refused: each piece is padded, cut and paid for by itself."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import TableError
from deeprotect.signals import recordings
from deeprotect.signals.recordings import RecordingWatch, starts

NAMES = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 4)), min_size=1, max_size=8)


def names_of(runs):
    return np.array([name for name, count in runs for _ in range(count)], dtype=object)


@given(NAMES, st.lists(st.integers(1, 5), max_size=10))
def test_a_name_that_comes_back_is_refused_however_the_rows_are_cut(runs, sizes):
    names = names_of(runs)
    begun = names[starts(names)]
    watch, borders = RecordingWatch("walk.csv"), [0, *np.cumsum(sizes), len(names)]
    pieces = [(first, names[first:last]) for first, last in pairwise(borders)]
    if len(set(begun)) < len(begun):
        with pytest.raises(TableError, match="that other rows have interrupted"):
            check(watch, pieces)
    else:
        check(watch, pieces)


def check(watch, pieces):
    for first, names in pieces:
        if len(names):
            watch.check(names, first_row=first)


@pytest.mark.parametrize("name", [None, float("nan"), "", np.datetime64("NaT")])
def test_a_row_without_a_recording_is_refused_by_its_number(name):
    names = np.array(["a", "a", name, "a"], dtype=object)
    with pytest.raises(TableError, match="recording is missing at row 13"):
        RecordingWatch("walk.csv").check(names, first_row=10)


def test_numbers_are_names_too():
    RecordingWatch("walk.csv").check(np.array([-1, -1, -2, 0]), first_row=0)
    with pytest.raises(TableError, match="row 4"):
        RecordingWatch("walk.csv").check(np.array([-1, -2, 0, -1]), first_row=0)


def test_the_refusal_does_not_name_the_recording():
    with pytest.raises(TableError) as refused:
        RecordingWatch("walk.csv").check(np.array(["Sekrit", "b", "Sekrit"], dtype=object), first_row=0)
    assert "Sekrit" not in str(refused.value)


def test_more_recordings_than_can_be_remembered_are_refused(monkeypatch):
    """Forgetting some would let them come back in silence."""
    monkeypatch.setattr(recordings, "MOST_RECORDINGS", 3)
    RecordingWatch("walk.csv").check(np.arange(3), first_row=0)
    with pytest.raises(TableError, match="more than 3 recordings"):
        RecordingWatch("walk.csv").check(np.arange(4), first_row=0)


@pytest.mark.parametrize("chunk", [1, 7, 500])
def test_a_column_that_numbers_rows_is_refused_before_it_costs_a_window_a_row(chunk):
    watch = RecordingWatch("walk.csv", window=4)
    with pytest.raises(
        TableError, match="100 recordings of a single row stand before row 101; does that column number"
    ):
        check(watch, [(first, np.arange(first, first + chunk)) for first in range(0, 500, chunk)])
    check(RecordingWatch("walk.csv", window=1), [(0, np.arange(500))])
    short = np.repeat(np.arange(200), 2)
    check(RecordingWatch("walk.csv", window=4), [(0, short)])
