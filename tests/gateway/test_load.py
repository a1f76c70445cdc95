"""Overload is seen, said and refused in time."""

import asyncio
import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.conftest import message
from tests.gateway.test_mediator import listening, made

from deeprotect.gateway.mediation.mediator import Mediator
from deeprotect.gateway.operation import log
from deeprotect.gateway.operation.load import LAG_SECONDS, RECENT_SECONDS, REFUSING_SECONDS, Load
from deeprotect.gateway.serving import create_service


class Times:
    def __init__(self, most=5.0):
        self.now = 100.0
        self.load = Load(most, now=lambda: self.now)


def test_without_waits_nothing_is_refused():
    load = Times().load
    assert (load.delay, load.refusal(), load.trouble) == (0.0, None, None)


@given(st.floats(0, 10), st.floats(0, 10), st.floats(0, 10))
def test_a_delay_is_what_each_step_makes_wait(loop, reading, releasing):
    times = Times()
    for waits, seconds in zip(
        (times.load.loop, times.load.reading, times.load.releasing), (loop, reading, releasing), strict=True
    ):
        waits.note(seconds)
    assert times.load.delay == pytest.approx(loop + reading + releasing)
    assert (times.load.refusal() is not None) == (times.load.delay > 2.5)


def test_what_waits_counts_before_it_is_over_and_for_a_second_after_it():
    times = Times()
    over = times.load.releasing.begin()
    times.now += 3.0
    assert times.load.delay == 3.0
    assert times.load.refusal() == "overloaded: it would wait 3.0 s; send it again in a few seconds, or send less"
    over()
    over()
    times.now += RECENT_SECONDS
    assert times.load.delay == 3.0
    times.now += 0.01
    assert (times.load.delay, times.load.refusal()) == (0.0, None)
    assert times.load.trouble is not None  # a few seconds longer, so that who looks seldom sees it
    times.now += REFUSING_SECONDS
    assert times.load.trouble is None


def overloaded(tmp_path):
    gateway = made(tmp_path)
    gateway.health._pay = lambda: None  # a slow disk would be another reason not to be ready
    gateway.load.releasing.begin()
    gateway.load._now = gateway.load.releasing._now = lambda now=gateway.load._now: now() + 3.0
    return gateway


def test_an_overloaded_gateway_refuses_in_one_line_and_says_so_in_health_log_and_numbers(tmp_path, capsys):
    gateway = overloaded(tmp_path)
    log._said.clear()

    async def play():
        async with listening(gateway):
            where = httpx.ASGITransport(create_service(gateway))
            async with httpx.AsyncClient(transport=where, base_url="http://here") as web:
                answer = await web.post("/in/anything", content=b"{}")
                async with asyncio.timeout(60):
                    while not gateway.health.others:
                        await asyncio.sleep(0.01)
                return answer, await web.get("/readyz")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway.directory, "device_of", lambda _: gateway.directory.device("watch"))
        answer, ready = asyncio.run(play())
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert float(re.match(r"overloaded: it would wait ([0-9.]+) s", answer.text)[1]) >= 3.0
    assert "\n" not in answer.text
    assert (ready.status_code, ready.json()["reason"]) == (503, gateway.load.trouble)
    numbers = gateway.metrics.text().decode()
    assert 'deeprotect_messages_total{answer="503"} 1.0' in numbers
    assert "deeprotect_ready 0.0" in numbers
    assert float(re.search(r"^deeprotect_delay_seconds (\S+)$", numbers, re.MULTILINE)[1]) >= 3.0
    said = capsys.readouterr().err
    assert '"event": "overloaded"' in said
    assert '"event": "not ready", "reason": "overloaded' in said


def test_how_late_the_event_loop_is_counts():
    times, told = Times(), []

    async def play():
        watch = asyncio.create_task(times.load.watch(told.append))
        await asyncio.sleep(0)
        times.now += 4.0  # as if the loop had been busy for so long
        async with asyncio.timeout(60):
            while not told:
                await asyncio.sleep(0.01)
        watch.cancel()

    asyncio.run(play())
    assert times.load.loop.longest == pytest.approx(4.0 - LAG_SECONDS)
    assert told[0] == times.load.trouble
    assert told[0].startswith("overloaded")


def test_released_windows_are_timed_from_the_socket_on_and_by_their_stamps(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, _):
            assert isinstance(mediator, Mediator)
            gateway.load.loop.note(30.0)
            await mediator.receive(device, message(0, 4))

    asyncio.run(play())
    numbers = gateway.metrics.text().decode()
    assert 'deeprotect_latency_seconds_bucket{le="20.0"} 0.0' in numbers
    assert 'deeprotect_latency_seconds_bucket{le="60.0"} 1.0' in numbers
    assert 'deeprotect_age_seconds_bucket{le="600.0"} 0.0' in numbers  # the stamps are of 2023
    assert 'deeprotect_age_seconds_bucket{le="+Inf"} 1.0' in numbers
