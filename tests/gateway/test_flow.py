"""Episodes on the clock: each window informs at most one draw, whatever is missing and wherever a session begins."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.conftest import channel_bundle

from deeprotect.gateway.streams.clock_window import ClockWindow, Stamps
from deeprotect.gateway.streams.flow import Flow, settle
from deeprotect.gateway.streams.track import TrackWindow
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.together import Drawn

HELD = channel_bundle(every="2 s")  # five windows
SINGLE = channel_bundle()


@dataclass
class Listening:
    """Which windows each draw was made from; evidence is the window's own number."""

    heard: list[list[int]]

    def of(self, pipeline):
        flow = Flow(pipeline, None, fill_gaps=False)
        flow._listening = self
        real = Flow(pipeline, None, fill_gaps=False)._listening
        self.hold, self.windows = real.hold, real.windows
        return flow

    def codes(self, episodes):
        self.heard += [[int(each[0, 0]) for each in evidence] for evidence in episodes]
        return np.zeros((len(episodes), 1))


def window(number, *, whole=True):
    samples = np.zeros((4, 2)) if whole else None
    stamps = Stamps("rows", ("acc_x",), [0], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    return TrackWindow(0, ClockWindow(number, np.zeros(4, dtype=np.int64), samples, (stamps,)))


def played(pipeline, numbers, *, broken=(), available=lambda _: True):
    """Windows one after the other; what each draw heard, and which windows left showing which draw."""
    listening = Listening([])
    flow, left, draws = listening.of(pipeline), [], 0
    for number in numbers:
        each = window(number, whole=number not in broken)
        heard = flow.take(each)
        if heard is not None:
            heard.evidence = np.full((1, 1), float(number))
        for episode in flow.drawing():
            flow.codes([episode])
            if available(number):
                draws += 1
                settle(episode, Drawn(np.full((listening.hold, 1), float(draws)), placeholder=False))
            else:
                listening.heard.pop()  # it was not made, and is asked for again
        left += [(each.window.number, int(each.noisy_code[0, 0])) for each in flow.leaving(SystemEntropy())]
        flow.expire()
    return listening.heard, left


some_windows = st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True).map(sorted)


@given(some_windows, st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_each_window_informs_at_most_one_draw(numbers, broken, away):
    heard, _ = played(HELD, numbers, broken=broken, available=lambda number: number not in away)
    every = [number for some in heard for number in some]
    assert len(every) == len(set(every))


@given(some_windows, st.sets(st.integers(0, 60)))
def test_an_episode_shows_one_draw_and_each_window_leaves_once(numbers, broken):
    _, left = played(HELD, numbers, broken=broken)
    assert len(left) == len({number for number, _ in left})
    shown = {number // 5: set() for number, _ in left}
    for number, draw in left:
        shown[number // 5].add(draw)
    assert all(len(each) == 1 for each in shown.values())


@given(some_windows, st.sets(st.integers(0, 60)))
def test_a_draw_looks_at_neighbours_that_are_whole(numbers, broken):
    for some in played(HELD, numbers, broken=broken)[0]:
        assert some == list(range(some[0], some[0] + len(some)))
        assert not set(some) & broken


def test_a_draw_listens_to_the_end_of_the_episode_before():
    heard, left = played(HELD, range(15))
    assert heard == [[0, 1, 2], [3, 4], [7, 8, 9]]
    assert len(left) == 15


def test_without_holding_each_whole_window_is_its_own_draw():
    heard, left = played(SINGLE, range(4), broken={2})
    assert heard == [[0], [1], [3]]
    assert [number for number, _ in left] == [0, 1, 3]


def test_a_draw_that_cannot_be_paid_for_is_tried_again_while_its_time_lasts():
    heard, left = played(HELD, range(5), available=lambda number: number >= 4)
    assert heard == [[0, 1, 2]]
    assert [number for number, _ in left] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("first", range(5))
def test_a_session_that_begins_inside_an_episode_is_released_all_the_same(first):
    heard, left = played(HELD, range(first, 10))
    assert [number for number, _ in left] == list(range(first, 10))
    assert len(heard) == 2
