"""What is sent again, however often and however late, is drawn once: producers and brokers deliver at least once."""

import asyncio
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.conftest import POLICY, START, STEP, message
from tests.gateway.test_mediator import draws, end_all, listening, made

from deeprotect.gateway.operation import log
from deeprotect.gateway.streams.session import BEHIND
from deeprotect.gateway.wire.message import Message
from deeprotect.policy import Policy
from deeprotect.release.by_time import ByTime, phase_of
from deeprotect.signals.readings import Readings
from deeprotect.signals.ticks import SECOND


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    """What is told once a second at most was not told by the test before."""
    monkeypatch.setattr(log, "_said", {})


SCHEMA = Policy.from_toml(POLICY).schema()
TICKS = 10  # in a second
SECONDS = [message(TICKS * second, TICKS) for second in range(20)]  # the stream: 50 windows


def late(by):
    """Each second, and with it once more the one of so many seconds before."""
    for number, each in enumerate(SECONDS):
        yield each
        if number >= by:
            yield SECONDS[number - by]


FAULTS = {
    "six seconds ten seconds late": [*SECONDS[:16], *SECONDS[:6], *SECONDS[16:]],
    "ten times": [*SECONDS[:16], *(SECONDS[:6] * 10), *SECONDS[16:]],
    "each message again six seconds later": list(late(6)),
    "each message twice at once": [each for each in SECONDS for _ in range(2)],
    "a mirrored path that is a second behind": list(late(1)),
    "interleaved with the start": [each for number, one in enumerate(SECONDS) for each in (one, SECONDS[number // 3])],
    "one late batch": [*SECONDS, message(0, 60)],
    "a batch of everything": [*SECONDS, message(0, 200)],
    "backwards": [*SECONDS, *reversed(SECONDS)],
}


def released(gateway, messages, *, ends=()):
    """Windows that left, by when they begin; the session ends after some messages."""

    async def play():
        async with listening(gateway) as (mediator, device, got):
            for number, each in enumerate(messages):
                await mediator.receive(device, each)
                if number in ends:
                    await end_all(mediator)
            await asyncio.sleep(0.01)
            return [(int(each.times_ns[0] - START) // STEP, each.values.tobytes()) for each in got]

    return asyncio.run(play())


@pytest.mark.parametrize("held", [{}, {"every": "2 s"}], ids=["a draw for each window", "held draws"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_sent_again_is_not_drawn_again_and_takes_nothing_from_the_rest(tmp_path, fault, held):
    gateway = made(tmp_path, **held)
    left = released(gateway, FAULTS[fault])
    assert [first for first, _ in left] == list(range(0, 200, 4))
    assert draws(gateway) == (50 if not held else 10)


@pytest.mark.parametrize("held", [{}, {"every": "2 s"}], ids=["a draw for each window", "held draws"])
def test_what_is_sent_again_to_a_session_that_was_over_leaves_as_it_left_before(tmp_path, held):
    gateway = made(tmp_path, **held)
    left = released(gateway, [*SECONDS, *SECONDS[3:], *SECONDS[7:]], ends=(19, 36))
    shown = {first: {values for at, values in left if at == first} for first, _ in left}
    assert all(len(values) == 1 for values in shown.values())
    assert len(left) > 100
    assert draws(gateway) == (50 if not held else 10)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=30))
def test_windows_of_one_track_only_ever_go_forward_and_late_readings_are_counted(pieces):
    clock, come = ByTime(SCHEMA, phase=phase_of("watch")), []
    for first, count in pieces:
        before = clock.late
        come += clock.push(message(first, count).readings)
        assert clock.late - before <= count
        assert (clock.behind > 0) <= (clock.late - before == count)
    come += clock.finish()
    assert all(one.number < other.number for one, other in itertools.pairwise(come))


def test_that_readings_come_late_is_said_and_counted(tmp_path, capsys):
    gateway = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, _):
            for each in SECONDS[:16]:
                await mediator.receive(device, each)
            answer = await mediator.receive(device, SECONDS[0])
            return answer, gateway.mediator.status(["watch"])[0]

    answer, status = asyncio.run(play())
    assert answer.accepted == 0
    assert answer.waits == f"readings that are newer: these came 15.0 s late; {BEHIND}"
    assert (status.late, status.behind) == (10, 15.0)
    assert gateway.metrics.late._value.get() == 10
    assert '"event": "readings come late", "stream": "watch", "seconds": 15.0' in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "s"])
def test_a_clock_that_was_set_back_is_no_new_session_until_nothing_new_has_come_for_long(tmp_path, name):
    sent = [replace(message(first, 8), session=name) for first in (36_000, 0, 8)]
    assert [first for first, _ in released(made(tmp_path), sent)] == [36_000, 36_004]
    again = tmp_path / "again"
    again.mkdir()
    gateway = made(again)
    assert [first for first, _ in released(gateway, sent, ends=(1,))] == [36_000, 36_004, 8, 12]
    assert draws(gateway) == 4


def test_a_session_to_which_only_late_readings_come_ends_as_one_that_is_silent(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, _):
            await mediator.receive(device, SECONDS[10])
            session = next(iter(mediator._sessions.values()))
            session.last_new -= 100.0
            await mediator.receive(device, SECONDS[0])
            await mediator.end_idle()
            return len(mediator._sessions), session.last_seen > session.last_new

    assert asyncio.run(play()) == (0, True)


def stamped(ticks, stamp_of):
    """Readings of ten a second in messages of five, with stamps that their device makes."""
    for first in range(0, ticks, 5):
        (one,) = message(first, 5).readings
        yield Message("s", (Readings(one.sensor, one.channels, stamp_of(one.times_ns), one.values),))


@pytest.mark.parametrize(
    ("stamp_of", "told"),
    [
        (
            lambda times: times // SECOND * SECOND,
            "they are 1 s apart by their stamps, and the policy is for 10 Hz; send",
        ),
        (
            lambda times: times + (times - START) * 4,
            "they are 0.5 s apart by their stamps, and the policy is for 10 Hz",
        ),
        (lambda times: times, None),
        (lambda times: times // 10**8 * 10**8, None),
        (lambda times: times + (times - START), None),  # half the rate is bridged
    ],
    ids=["whole seconds", "a fifth of the rate", "as they are", "tenths", "half the rate"],
)
def test_stamps_that_are_too_far_apart_for_any_window_are_said(tmp_path, capsys, stamp_of, told):
    gateway = made(tmp_path, window=20)

    async def play():
        async with listening(gateway) as (mediator, device, got):
            answers = [await mediator.receive(device, each) for each in stamped(120, stamp_of)]
            await asyncio.sleep(0.01)
            return answers[-1].waits, gateway.mediator.status(["watch"])[0].apart, len(got)

    waits, apart, windows = asyncio.run(play())
    assert (windows == 0) == (told is not None)
    assert apart.startswith(told or "")
    assert bool(apart) == (told is not None)
    assert (waits or "").startswith(f"readings that are closer: {told}" if told else "")
    assert ('"event": "readings are too far apart"' in capsys.readouterr().err) == (told is not None)
