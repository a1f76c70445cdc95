"""What one device asks for is limited before it is read, done off the event loop, and never before everybody else's."""

import asyncio
import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.gateway.conftest import NAMES, POLICY, START, STEP, channel_bundle, message
from tests.gateway.test_mediator import listening, made

from deeprotect.errors import InputError
from deeprotect.gateway.mediation import gateway as gateway_module
from deeprotect.gateway.mediation.mediator import BATCH_WINDOWS, MOST_WINDOWS, count_windows, next_batch
from deeprotect.gateway.mediation.turns import MOST_WAITING, RateLimiter
from deeprotect.gateway.streams.session import Session
from deeprotect.gateway.wire import formats
from deeprotect.gateway.wire.message import Message
from deeprotect.signals.readings import Readings

SPACE = b" " * (1 << 19)


def rows(first, count, *, step=STEP, session="s", space=b""):
    times = [START + (first + place) * step for place in range(count)]
    return json.dumps({"session": session, "time": times} | {name: [0.5] * count for name in NAMES}).encode() + space


def play(gateway, steps):
    """`steps(intake, device)` while the gateway runs."""

    async def run():
        async with listening(gateway) as (_, device, got):
            found = await steps(gateway, device)
            await asyncio.sleep(0.01)
            return found, got

    return asyncio.run(run())


@pytest.fixture
def gateway(tmp_path):
    made_here = made(tmp_path)
    made_here.registry.add_device("other", person="bob")
    made_here.directory.refresh()
    made_here.mediator.allowance = RateLimiter(now=lambda: 0.0)  # the second in which the test is played
    return made_here


@pytest.fixture
def reads(monkeypatch):
    """The session and the thread of each message that is read; `gate` holds the first long one up."""
    found = SimpleNamespace(sessions=[], threads=[], gate=threading.Event())
    found.gate.set()

    def read(*given, **more):
        read_message = formats.read(*given, **more)
        found.sessions.append(read_message.session)
        found.threads.append(threading.current_thread().name)
        if len(given[0]) > len(SPACE):
            found.gate.wait(20)
        return read_message

    monkeypatch.setattr(gateway_module, "formats", SimpleNamespace(read=read))
    return found


def test_a_large_message_is_read_off_the_event_loop_and_a_small_one_at_once(gateway, reads):
    async def steps(intake, device):
        return [(await intake.take(device, rows(0, 4, space=space))).status for space in (SPACE, b"")]

    assert play(gateway, steps)[0] == [200, 200]
    assert reads.threads == ["reading_0", "MainThread"]


def test_a_small_message_over_a_long_time_is_cut_off_the_event_loop(gateway, monkeypatch):

    threads, take = [], Session.take

    def noted(*given):
        threads.append(threading.current_thread().name)
        return take(*given)

    monkeypatch.setattr(Session, "take", noted)

    async def steps(intake, device):
        await intake.take(device, rows(0, 4))
        await intake.take(device, rows(100, 30, step=20 * STEP, session="sparse"))

    play(gateway, steps)
    assert threads == ["MainThread", "reading_0"]


def test_while_a_message_is_read_the_event_loop_goes_on(gateway, reads):
    async def steps(intake, device):
        reads.gate.clear()
        reading = asyncio.create_task(intake.take(device, rows(0, 4, space=SPACE)))
        while not reads.sessions:
            await asyncio.sleep(0.001)
        other = await intake.take(gateway.directory.device("other"), rows(0, 4))
        assert not reading.done()
        reads.gate.set()
        return other.status, (await reading).status

    assert play(gateway, steps)[0] == (200, 200)


def test_nobody_waits_for_more_than_one_message_of_another_device(gateway, reads):
    async def steps(intake, device):
        reads.gate.clear()
        many = [asyncio.create_task(intake.take(device, rows(0, 1, session=f"{n}", space=SPACE))) for n in range(5)]
        while not reads.sessions:
            await asyncio.sleep(0.001)
        other = intake.take(gateway.directory.device("other"), rows(0, 1, session="other", space=SPACE))
        many.append(asyncio.create_task(other))
        await asyncio.sleep(0.01)
        reads.gate.set()
        await asyncio.gather(*many)

    play(gateway, steps)
    assert reads.sessions == ["0", "other", "1", "2", "3", "4"]


def test_messages_of_one_device_stay_in_order_whatever_their_size(gateway):
    async def steps(intake, device):
        sent = [rows(4 * place, 4, space=b"" if place % 2 else SPACE[: 1 << 14]) for place in range(12)]
        return await asyncio.gather(*(intake.take(device, each) for each in sent))

    answers, got = play(gateway, steps)
    assert [answer.status for answer in answers] == [200] * 12
    assert [window.times_ns[0] for window in got] == [START + 4 * place * STEP for place in range(12)]


def test_what_is_more_than_a_device_may_send_is_refused_before_it_is_read(gateway, reads):
    async def steps(intake, device):
        return [(await intake.take(device, rows(4 * n, 4, space=SPACE))).status for n in range(30)]

    statuses, _ = play(gateway, steps)
    assert statuses == [200] * 8 + [429] * 22
    assert len(reads.sessions) == 8


def test_what_makes_many_windows_due_is_paid_for_by_those_that_come_after_it(gateway, reads):
    async def steps(intake, device):
        sparse = [rows(0, 300, step=20 * STEP, session=f"{n}") for n in range(12)]  # 7 kB that cover ten minutes
        answers = await asyncio.gather(*(intake.take(device, each) for each in sparse))
        other = await intake.take(gateway.directory.device("other"), rows(0, 4))
        return [answer.status for answer in answers], other.status

    (statuses, other), _ = play(gateway, steps)
    assert statuses == [200] * 6 + [503] * 6
    assert len(reads.sessions) == 7
    assert other == 200


def test_too_many_messages_that_wait_are_refused(gateway, reads):
    async def steps(intake, device):
        reads.gate.clear()
        turn = asyncio.create_task(intake.take(device, rows(0, 4, space=SPACE)))
        waiting = [asyncio.create_task(gateway.mediator.receive(device, message(4, 4))) for _ in range(MOST_WAITING)]
        await asyncio.sleep(0.01)
        busy = sum(each.done() for each in waiting)
        reads.gate.set()
        await asyncio.gather(turn, *waiting)
        return busy, waiting[-1].result().status == 503

    assert play(gateway, steps)[0] == (1, True)


def test_a_message_of_too_many_windows_is_refused():
    fast = channel_bundle(POLICY.replace("rate_hz = 10", "rate_hz = 1000")).schema
    times = START + np.arange(100, dtype=np.int64) * 29 * STEP
    sparse = Message("s", (Readings("rows", NAMES, times, np.zeros((100, 2))),))
    with pytest.raises(InputError, match=r"covers at most 32\.77 s; send smaller ones"):
        count_windows(sparse, {fast})
    assert count_windows(Message("s", (sparse.readings[0].where(times < START + 30 * 10**9),)), {fast}) < MOST_WINDOWS


def test_a_batch_has_so_many_windows_of_each_stream_in_their_order():
    def order(stream, windows):
        return SimpleNamespace(app=SimpleNamespace(stream=stream), windows=range(windows)), stream

    half = BATCH_WINDOWS // 2
    queue = [order("a", half), order("a", half + 1), order("b", 1), order("a", 1), order("c", 10 * half), order("a", 0)]
    batch, rest = next_batch(queue)
    assert batch == [queue[0], queue[2], queue[4]]
    assert rest == [queue[1], queue[3], queue[5]]
    assert next_batch(rest) == (rest, [])


def test_an_allowance_is_a_second_in_each_second_and_debts_are_waited_for():
    now = [0.0]
    allowance = RateLimiter(now=lambda: now[0])
    assert [allowance.spend("a", 0.25) for _ in range(5)] == [True] * 4 + [False]
    assert allowance.spend("b", 0.25)
    now[0] = 100.0
    assert allowance.left("a") == 1.0
    allowance.owe("a", 3.0)
    assert not allowance.spend("a", 0.1)
    now[0] = 102.5
    assert allowance.spend("a", 0.1)


@pytest.mark.long
def test_a_stop_waits_for_the_message_that_is_being_read(gateway, reads):
    async def steps(intake, device):
        reads.gate.clear()
        reading = asyncio.create_task(intake.take(device, rows(0, 4, space=SPACE)))
        while not reads.sessions:
            await asyncio.sleep(0.001)
        stopping = asyncio.create_task(gateway.mediator.stop())
        await asyncio.sleep(0.01)
        reads.gate.set()
        began = time.monotonic()
        await stopping
        return (await reading).status, time.monotonic() - began < 10

    assert play(gateway, steps)[0] == (503, True)
