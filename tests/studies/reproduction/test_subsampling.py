"""Windows drawn fairly."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.reproduction.conftest import made_up

from studies.reproduction.subsampling import RUN, spread


@given(count=st.integers(1, 260), seed=st.integers(0, 5))
def test_windows_are_drawn_in_runs_of_neighbours_and_evenly(count, seed):
    windows = made_up()
    every = np.arange(len(windows))
    drawn = spread(windows, every, windows.people, count=count, seed=seed)
    assert len(drawn) == min(count, len(windows))
    assert len(set(drawn.tolist())) == len(drawn)
    per_person = np.bincount(windows.people[drawn], minlength=6)
    assert per_person.max() - per_person.min() <= RUN
    borders = (np.diff(drawn) != 1) | (np.diff(windows.recording[drawn]) != 0)
    assert borders.sum() + 1 <= -(-count // RUN) + 6  # whole runs, but for the last and the ends of recordings
