"""Playing a table."""

import asyncio
import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.phones import THREE_AXES

from deeprotect.errors import TableError
from deeprotect.gateway.feeds.replaying import MOST_ROWS, Played, Player, Stretch, parts
from deeprotect.gateway.wire import formats
from deeprotect.gateway.wire.times import AHEAD_NS
from deeprotect.policy import Policy

SCHEMA = Policy.from_toml(THREE_AXES).schema()


def stretch(rows, *, number=0, start=0, begun_ns=None):
    seconds = (start + np.arange(rows)) / 10
    return Stretch(number, seconds, np.stack([seconds, seconds + 1, seconds + 2], axis=1), begun_ns)


def play(stretches, *, form="rows", **pace):
    """Messages that were sent, and how long was slept before each."""
    sent, slept = [], []

    async def send(body):
        sent.append(body)
        return 1

    async def sleep(seconds):
        slept.append(seconds)

    played = Played()
    asyncio.run(Player(SCHEMA, form, send, **pace, sleep=sleep).play(stretches, played))
    return sent, slept, played


def test_messages_come_at_the_pace_of_the_stamps_divided_by_the_speed():
    for speed in (1.0, 4.0):
        _, slept, _ = play([stretch(20)], speed=speed, every=0.5)
        expected = [0.4, 0.9, 1.4, 1.9] if speed == 1 else [0.475]
        assert slept == pytest.approx(expected, abs=0.05)


def test_stamps_are_moved_to_now_and_keep_their_distances():
    sent, _, played = play([stretch(7), stretch(5, number=1)], speed=100.0)
    first, second = (json.loads(body) for body in sent)
    assert np.diff(first["time"]).tolist() == [10**8] * 6
    assert second["time"][0] >= first["time"][-1] + 10**9
    assert first["session"] != second["session"]
    assert (played.recordings, played.messages, played.rows, played.accepted) == (2, 2, 12, 2)


def test_recordings_played_fast_never_add_up_to_more_than_a_gateway_takes():
    hours = [stretch(1, number=number, start=10 * 36_000) for number in range(10)]  # of ten hours each
    begins = [Stretch(each.number, each.seconds * 0, each.samples, None) for each in hours]
    both = [part for pair in zip(begins, hours, strict=True) for part in pair]
    now = time.time_ns()
    sent, _, _ = play(both, speed=1e9)
    latest = max(json.loads(body)["time"][-1] for body in sent)
    assert latest < now + AHEAD_NS
    assert len({json.loads(body)["session"] for body in sent}) == 10


def test_a_tables_own_time_is_kept_if_asked_for():
    begun = 1_700_000_000_000_000_001
    sent, _, _ = play([stretch(3, begun_ns=begun)], keep_time=True)
    assert json.loads(sent[0])["time"] == [begun, begun + 10**8]
    with pytest.raises(TableError, match="--keep-time"):
        play([stretch(3)], keep_time=True)


@pytest.mark.parametrize("form", [form for form in formats.FORMS if form not in ("arrow", "home-assistant")])
def test_every_form_carries_the_same_values_to_the_gateway(form):
    sent, _, _ = play([stretch(5)], form=form, speed=100.0)
    read = formats.read(sent[0], SCHEMA, {})
    found = {name: each.values[:, place] for each in read.readings for place, name in enumerate(each.channels)}
    for place, name in enumerate(SCHEMA.names):
        np.testing.assert_allclose(found[name], stretch(5).samples[:, place], atol=1e-12)


@given(st.lists(st.integers(1, 400), max_size=8), st.floats(0.01, 1000))
def test_however_rows_are_batched_all_are_sent_once_in_order_and_messages_are_bounded(sizes, seconds):
    starts = np.cumsum([0, *sizes])
    cut = list(parts((stretch(size, start=int(at)) for size, at in zip(sizes, starts, strict=False)), seconds))
    joined = np.concatenate([np.empty(0), *(each.seconds for each in cut)])
    np.testing.assert_array_equal(joined, np.arange(starts[-1]) / 10)
    assert all(0 < len(each.seconds) <= MOST_ROWS for each in cut)
    slots = [np.floor(each.seconds / seconds) for each in cut]
    assert all((slot == slot[0]).all() for slot in slots)


def test_memory_does_not_grow_with_the_table():
    most = 0

    def endless():
        nonlocal most
        for number in range(200):
            yield stretch(1000, start=1000 * number)

    for each in parts(endless(), 1e9):
        most = max(most, len(each.seconds))
    assert most <= MOST_ROWS
