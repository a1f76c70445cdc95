"""What one device may do to the gateway, and to others, by what it says; in one process and without a network."""

import asyncio
import time
from types import SimpleNamespace

import numpy as np
import pytest
from tests.gateway.conftest import NAMES, START, STEP, message, readings
from tests.gateway.test_mediator import draws, end_all, listening, made, run

from deeprotect.gateway.mediation.mediator import MOST_SESSIONS
from deeprotect.gateway.serving import HEAD_SECONDS, Silence
from deeprotect.gateway.wire.message import Message
from deeprotect.signals.readings import Readings

EARLIEST, LATEST = 0, 2**62 - 1


@pytest.mark.parametrize("stamp", [EARLIEST, 1, 10**9, LATEST - 10 * STEP, LATEST - STEP, 2**53 + 1])
def test_absurd_times_neither_fail_nor_stop_what_comes_after(tmp_path, stamp):
    """Those of the past count as late; after one far ahead a session begins anew once nothing new came for long."""
    gateway = made(tmp_path, every="2 s")
    times = np.minimum(stamp + np.arange(8, dtype=np.int64) * STEP, LATEST)
    odd = Message("s", (Readings("rows", NAMES, times, np.full((8, 2), 0.5)),))

    async def play():
        async with listening(gateway) as (mediator, device, got):
            receipts = [await mediator.receive(device, each) for each in (message(0, 20), odd, message(40, 20))]
            await end_all(mediator)
            receipts.append(await mediator.receive(device, message(60, 20)))
            await end_all(mediator)
            await asyncio.sleep(0.01)
            return receipts, [int(window.times_ns[0] - START) // STEP for window in got]

    receipts, got = asyncio.run(play())
    assert all(receipt.status == 200 for receipt in receipts)
    assert (sum(40 <= tick < 60 for tick in got) >= 5) == (stamp < START)
    assert sum(60 <= tick < 80 for tick in got) >= 5


def test_a_message_of_few_readings_over_a_long_time_costs_little(tmp_path):
    times = START + np.arange(0, 600, 2, dtype=np.int64) * 10**9
    sparse = Message("s", (Readings("rows", NAMES, times, np.full((len(times), 2), 0.5)),))
    began = time.process_time()
    run(made(tmp_path), sparse)
    assert time.process_time() - began < 5  # 1,500 windows that lack samples


def test_a_flood_of_session_names_keeps_few_of_them(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, _):
            names = [f"session-{number}" for number in range(400)]
            for start in range(0, 400, 40):
                await asyncio.gather(
                    *(mediator.receive(device, message(0, 1, session=each)) for each in names[start : start + 40])
                )
            return len(mediator._sessions)

    assert asyncio.run(play()) <= 2 * MOST_SESSIONS
    assert draws(gateway) == 0


def test_two_sessions_of_one_stream_at_once_are_two_and_both_pay(tmp_path):
    gateway = made(tmp_path)
    _, got = run(
        gateway, *(message(4 * place, 4, session=name) for place in range(3) for name in ("a", "b")), end=False
    )
    assert len({window.session for window in got}) == 2
    assert len(got) == draws(gateway) == 6


def test_no_name_leads_from_raw_windows_to_an_app(tmp_path):
    gateway = made(tmp_path)
    gateway.registry.add_device("raw", person="mallory")
    gateway.registry.add_app("watch", stream="raw", bundle="protector")
    gateway.directory.refresh()
    spy = next(app for app in gateway.directory.apps() if app.stream == "raw")

    async def play():
        async with gateway.running():
            with gateway.mediator.subscribe(spy) as windows, gateway.mediator.watch_raw("watch") as own:
                await gateway.mediator.receive(gateway.directory.device("watch"), message(0, 8))
                assert (await anext(own)).values[0, 0] == 0.5
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(windows), 0.2)

    asyncio.run(play())


def test_an_app_that_is_registered_anew_does_not_inherit_the_old_ones_connections(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, got):
            gateway.registry.revoke_app("fitness", stream="watch")
            gateway.registry.add_app("fitness", stream="watch", bundle="protector")
            gateway.directory.refresh()
            await mediator.receive(device, message(0, 8))
            await asyncio.sleep(0.01)
            return len(got)

    assert asyncio.run(play()) == 0


def test_one_orders_failure_is_its_own(tmp_path, monkeypatch):
    gateway = made(tmp_path)
    gateway.registry.add_device("other", person="bob")
    gateway.registry.add_app("fitness", stream="other", bundle="protector")
    gateway.directory.refresh()
    from deeprotect.gateway.streams import releaser

    real = releaser.release_orders

    def fails_for_other(orders, **rest):
        if any(order.session.stream == "other" for order in orders):
            raise RuntimeError
        return real(orders, **rest)

    monkeypatch.setattr(releaser, "release_orders", fails_for_other)

    async def play():
        async with listening(gateway) as (mediator, device, got):
            sent = [(device, message(0, 4)), (gateway.directory.device("other"), Message("s", (readings(0, 12),)))]
            receipts = await asyncio.gather(*(mediator.receive(*each) for each in sent))
            await asyncio.sleep(0.01)
            return [receipt.text for receipt in receipts], len(got)

    refusals, released = asyncio.run(play())
    assert refusals == ["", "nothing was released: the gateway failed"]
    assert released == 1


def test_connections_that_ask_for_nothing_are_closed_and_no_others():
    now, closed = [0.0], []

    def connection(name, **cycle):
        return SimpleNamespace(transport=SimpleNamespace(close=lambda: closed.append(name)), **cycle)

    silent = [connection("new", cycle=None), connection("done", cycle=SimpleNamespace(response_complete=True))]
    busy = [connection("busy", cycle=SimpleNamespace(response_complete=False)), connection("socket")]
    everyone = [_Hashable(each) for each in (*silent, *busy)]
    silence = Silence(clock=lambda: now[0])
    for now[0] in (0.0, HEAD_SECONDS - 1, HEAD_SECONDS + 1):
        silence.close_long(everyone)
    assert closed == ["new", "done"]


class _Hashable:
    def __init__(self, other):
        self.__dict__.update(vars(other))
