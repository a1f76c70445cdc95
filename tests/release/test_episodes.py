"""Episodes on the clock: each window informs at most one draw, whatever is missing and wherever a session begins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.release.traced import WINDOW, Traced

from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Released
from deeprotect.release.episodes import Episodes, live_observing
from deeprotect.release.ledger.ledger import not_drawn
from deeprotect.signals import Hold

HELD, SINGLE = Traced(Hold(5, 5)), Traced(Hold())


def released(bundle, draw):
    """An answer whose windows all show the number of the draw."""
    windows = np.full((bundle.hold.windows, WINDOW, 1), float(draw))
    return Released(windows, np.zeros((len(windows), 1)), np.zeros(1, dtype=bool))


def played(bundle, numbers, *, broken=(), available=lambda _: True, kept=None):
    """Windows one after the other; what each draw looked at, and which windows left showing which draw.

    `kept` are draws by their keys, as a ledger keeps them for whoever asks again.
    """
    episodes, observed, left = Episodes(bundle, None, live_observing(bundle)), [], []
    kept = {} if kept is None else kept
    for number in numbers:
        samples = None if number in broken else np.full((WINDOW, 1), float(number))
        episodes.take(number, samples, part=0, number=number)
        for episode, request in episodes.due():
            if not available(number):  # it is not made, and asked for again
                continue
            key = episode.part, episode.number
            if key not in kept and request.only_kept:
                episode.settle(not_drawn())
                continue
            if key not in kept:
                observed.append(request.observed[:, 0, 0].astype(int).tolist())
                kept[key] = len(kept) + 1
            episode.settle(released(bundle, kept[key]))
        left += [(each.ticket, int(each.window[0, 0])) for each in episodes.leaving(SystemEntropy())]
        episodes.expire()
    return observed, left


some_windows = st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True).map(sorted)


@given(some_windows, st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_each_window_informs_at_most_one_draw(numbers, broken, away):
    heard, _ = played(HELD, numbers, broken=broken, available=lambda number: number not in away)
    every = [number for some in heard for number in some]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    "bundle", [SINGLE, Traced(Hold(2, 2)), HELD, Traced(Hold(9, 4))], ids=lambda each: str(each.hold)
)
@given(runs=st.lists(some_windows, min_size=2, max_size=5), broken=st.sets(st.integers(0, 60)))
def test_whatever_is_sent_again_to_whom_each_window_informs_one_draw_and_each_place_shows_one(bundle, runs, broken):
    """Runs are processes that begin anew, or have the same stream at once: all that they share is what is kept."""
    kept, heard, shown = {}, [], {}
    for numbers in runs:
        observed, left = played(bundle, numbers, broken=broken, kept=kept)
        heard += [number for some in observed for number in some]
        for number, draw in left:
            shown.setdefault(number, set()).add(draw)
    assert len(heard) == len(set(heard))
    assert all(len(draws) == 1 for draws in shown.values())


def test_a_run_that_begins_at_the_end_of_an_episode_shows_what_was_drawn_for_it():
    kept = {}
    _, first = played(HELD, range(8), kept=kept)
    observed, again = played(HELD, range(8, 12), kept=kept)
    assert observed == [[8, 9]]
    assert [draw for number, draw in again if number < 10] == [dict(first)[7]] * 2


@given(st.integers(0, 20), st.integers(1, 40))
def test_on_the_clock_a_session_costs_the_episodes_that_it_touches(first, count):
    heard, _ = played(Traced(Hold(5, 1)), range(first, first + count))
    only_for_the_next = first % 5 == 4
    assert len(heard) == (first + count - 1) // 5 - first // 5 + 1 - only_for_the_next
    assert len(heard) <= -(-(count - 1) // 5) + 1  # more than so many windows cost from the start of an episode


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
    assert heard == [[0, 1], [2, 3, 4], [7, 8, 9]]
    assert len(left) == 15


@pytest.mark.parametrize(("listen", "heard"), [(1, [[0], [4], [9]]), (2, [[0, 1], [3, 4], [8, 9]])])
def test_a_draw_looks_at_as_few_windows_as_the_policy_says(listen, heard):
    assert played(Traced(Hold(5, listen)), range(15))[0] == heard


def test_a_policy_may_let_a_draw_look_at_more_than_the_usual_three():
    assert played(Traced(Hold(9, 4)), range(18))[0] == [[0, 1, 2, 3], [5, 6, 7, 8]]


def test_without_holding_each_whole_window_is_its_own_draw():
    heard, left = played(SINGLE, range(4), broken={2})
    assert heard == [[0], [1], [3]]
    assert [number for number, _ in left] == [0, 1, 3]


def test_a_draw_that_cannot_be_paid_for_is_tried_again_while_its_time_lasts():
    heard, left = played(HELD, range(5), available=lambda number: number >= 4)
    assert heard == [[0, 1]]
    assert [number for number, _ in left] == [0, 1, 2, 3, 4]


@given(st.integers(2, 6), st.integers(8, 40))
def test_only_the_first_episode_waits_for_its_own_windows(hold, windows):
    """Even where a draw may look at a whole episode: one window is left for the next."""
    bundle, left = Traced(Hold(hold, hold)), []
    episodes = Episodes(bundle, None, live_observing(bundle))
    for number in range(windows):
        episodes.take(number, np.zeros((WINDOW, 1)), part=0, number=number)
        for episode, _ in episodes.due():
            episode.settle(released(bundle, 1))
        left += [each.ticket for each in episodes.leaving(SystemEntropy())]
        assert number < hold or left[-1] == number


@pytest.mark.parametrize(("first", "leaves"), [(0, 0), (1, 1), (2, 5), (3, 5), (4, 5)])
def test_a_session_that_begins_inside_an_episode_is_released_unless_only_windows_of_the_next_draw_came(first, leaves):
    heard, left = played(HELD, range(first, 10))
    assert [number for number, _ in left] == list(range(leaves, 10))
    assert len(heard) == (2 if first < 2 else 1)
