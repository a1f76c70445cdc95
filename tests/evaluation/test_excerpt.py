"""Excerpts of a table: consecutive windows, and no person's own samples unless requested."""

from dataclasses import replace

import numpy as np
import pytest

from deeprotect.evaluation.excerpt import SHOWN_WINDOWS, average, neighbouring, one_recording
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows


@pytest.fixture
def held_out(windows: LabelledWindows) -> LabelledWindows:
    """As a split in time leaves them: the last ten windows of each half of a recording."""
    return windows[windows.place % 20 >= 10]


def test_windows_that_are_drawn_side_by_side_are_neighbours(held_out: LabelledWindows, policy: Policy) -> None:
    shown = one_recording(held_out, policy.schema(), 5.0).windows
    assert len(shown) == SHOWN_WINDOWS
    (first,) = np.flatnonzero((held_out.flat == shown[0]).all(axis=1))
    assert (held_out.flat[first : first + SHOWN_WINDOWS] == shown).all()
    assert (np.diff(held_out.place[first : first + SHOWN_WINDOWS]) == 1).all()
    assert len(set(held_out.recording[first : first + SHOWN_WINDOWS])) == 1


def test_runs_end_where_the_next_window_is_not_the_next_in_time(held_out: LabelledWindows) -> None:
    runs = neighbouring(held_out)
    assert np.array_equal(np.concatenate(runs), np.arange(len(held_out)))
    assert {len(run) for run in runs} == {10}


def test_an_average_is_nobodys_own(held_out: LabelledWindows, policy: Policy) -> None:
    shown = average(held_out, policy.schema(), 5.0)
    assert shown is not None
    assert shown.shows == "average"
    assert shown.origin == "the mean of 9 recordings"
    runs = neighbouring(held_out)
    by_recording = [
        np.mean([held_out.flat[run] for run in runs if held_out.recording[run[0]] == number], axis=0)
        for number in range(9)
    ]
    assert np.allclose(shown.windows, np.mean(by_recording, axis=0))


def test_no_one_weighs_more_for_having_more_recordings(held_out: LabelledWindows, policy: Policy) -> None:
    person = np.where(held_out.recording < 5, 0, held_out.recording)  # one with five recordings, four with one
    shown = average(replace(held_out, person=person), policy.schema(), 5.0)
    assert shown is not None
    assert shown.origin == "the mean of 5 people"
    many = [run for run in neighbouring(held_out) if person[run[0]] == 0]
    rest = [[run for run in neighbouring(held_out) if person[run[0]] == number] for number in range(5, 9)]
    means = [np.mean([held_out.flat[run] for run in several], axis=0) for several in (many, *rest)]
    assert np.allclose(shown.windows, np.mean(means, axis=0))


def test_too_few_people_to_hide_in_are_not_drawn(held_out: LabelledWindows, policy: Policy) -> None:
    few = replace(held_out, person=held_out.recording % 4)
    assert average(few, policy.schema(), 5.0) is None
