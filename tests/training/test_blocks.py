"""Whole pieces of recordings, held out whatever their labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import LabelledWindows, place_in, segment_numbers
from deeprotect.training.splits import blocks


def recorded(lengths):
    recording = np.repeat(np.arange(len(lengths)), lengths)
    count = len(recording)
    labels = np.array([("walk", "rest")[row // 7 % 2] for row in range(count)], dtype=object)
    return LabelledWindows(
        np.zeros((count, 2, 1)),
        {"activity": labels},
        recording,
        count,
        "",
        place=np.arange(count),
        position=place_in(recording),
    )


@given(st.lists(st.integers(1, 120), min_size=1, max_size=8), st.integers(1, 12), st.integers(0, 99))
def test_episodes_are_whole_and_neighbours_never_on_both_sides(lengths, hold, seed):
    windows = recorded(lengths)
    train, test = blocks(windows, held_out=0.3, seed=seed, hold=Hold(hold, 1))
    assert not (train & test).any()
    episodes = windows.episodes(Hold(hold, 1))
    assert all(len(set(test[episodes == episode])) == 1 for episode in np.unique(episodes))
    neighbours = np.diff(windows.recording) == 0
    assert not (neighbours & ((train[1:] & test[:-1]) | (train[:-1] & test[1:]))).any()


@pytest.mark.parametrize("seed", range(5))
def test_a_share_of_long_recordings_is_held_out_in_pieces_that_hold_changes(seed):
    windows = recorded([400] * 6)
    _, test = blocks(windows, held_out=0.3, seed=seed)
    assert test.mean() == pytest.approx(0.3, abs=0.02)
    pieces = segment_numbers(windows.recording, test)
    tested = [windows.labels["activity"][pieces == piece] for piece in np.unique(pieces[test])]
    assert len(tested) >= 18
    assert all(len(set(labels)) == 2 for labels in tested)
