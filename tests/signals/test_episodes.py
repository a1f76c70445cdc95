"""Episodes: windows that share a draw."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.signals import Hold, Windower, cut
from deeprotect.signals.windowing import run_lengths

COUNTS = st.lists(st.integers(1, 9), min_size=1, max_size=20).map(np.array)


@given(COUNTS, st.integers(1, 9))
def test_every_episode_is_heard_and_never_a_window_of_another(counts, listen):
    heard, heard_counts = Hold(9, listen).heard(counts)
    episode = np.repeat(np.arange(len(counts)), counts)
    assert np.bincount(episode[heard], minlength=len(counts)).tolist() == heard_counts.tolist()
    assert heard_counts.tolist() == np.minimum(counts, listen).tolist()
    assert (np.diff(heard) > 0).all()


@pytest.mark.parametrize(("listen", "heard"), [(1, [3]), (2, [1, 4]), (3, [1, 3, 5]), (6, [0, 1, 2, 3, 4, 5])])
def test_what_is_heard_is_spread_evenly(listen, heard):
    assert Hold(6, listen).heard(np.array([6]))[0].tolist() == heard


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 5), st.integers(1, 4), st.data())
def test_episodes_are_counted_from_the_start_of_each_recording_however_rows_arrive(lengths, hold, window, data):
    names = np.repeat(np.arange(len(lengths)), lengths)
    samples = np.arange(float(len(names)))[:, None]
    size = data.draw(st.integers(1, 60))
    pieces = [(samples[at : at + size], names[at : at + size]) for at in range(0, len(names), size)]
    batches = [batch for batch in cut(pieces, window=window, channels=1, hold=hold) if len(batch)]
    episodes = np.concatenate([batch.frame.episodes for batch in batches])
    wanted, first = [], 0
    for length in lengths:
        windows = -(-length // window)
        wanted += [first + place // hold for place in range(windows)]
        first += -(-windows // hold)
    assert episodes.tolist() == wanted
    assert np.concatenate([batch.rows() for batch in batches]).ravel().tolist() == samples.ravel().tolist()
    for batch in batches:  # each episode is whole in its batch
        assert batch.frame.episodes[0] > (previous := -1)
        previous = int(batch.frame.episodes[-1])
    borders = [set(batch.frame.episodes.tolist()) for batch in batches]
    assert sum(map(len, borders)) == len(set().union(*borders))
    assert previous == episodes[-1]


def test_nothing_leaves_before_its_episode_is_whole():
    cutter = Windower(2, 1, hold=3)
    assert len(cutter.push(np.zeros((5, 1)))) == 0
    assert len(cutter.push(np.zeros((1, 1)))) == 3
    assert len(cutter.push(np.zeros((3, 1)))) == 0
    tail = cutter.finish()
    assert tail.frame.lengths.tolist() == [2, 1]
    assert tail.frame.episodes.tolist() == [1, 1]


@given(COUNTS)
def test_run_lengths_undo_repetition(counts):
    assert run_lengths(np.repeat(np.arange(len(counts)), counts)).tolist() == counts.tolist()


def test_no_window_has_no_run():
    assert run_lengths(np.empty(0, dtype=np.int64)).tolist() == []
