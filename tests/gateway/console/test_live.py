"""What an open page is told, and what it is not."""

import asyncio
import json
from contextlib import asynccontextmanager

import numpy as np
from tests.gateway.conftest import message

from deeprotect.gateway.console.guard import Desk
from deeprotect.gateway.console.live_page import LivePage
from deeprotect.gateway.console.overview import Search

CANARY = 3.141592


def told(gateway, *, raw=False, during=None, until=lambda events: len(events) >= 3):
    """The events of a page of `fit` while a stream runs."""

    async def look():
        async with gateway.running(), _page(gateway, raw=raw) as (desk, session, stream):
            events, sending = [], asyncio.create_task(_send(gateway))
            async for text in stream:
                if text.startswith("event: "):
                    name, data = text.split("\n")[:2]
                    events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
                if during is not None and len(events) == 2:
                    during(desk, session)
                if until(events) or (events and events[-1][0] == "end"):
                    break
            await sending
            return events

    return asyncio.run(asyncio.wait_for(look(), 60))


@asynccontextmanager
async def _page(gateway, *, raw):
    desk = Desk(gateway)
    cookie = desk.sessions.begin(gateway.registry.new_admin())
    if raw:
        desk.sessions.show_raw(desk.sessions.find(cookie), 1)
    session, app = desk.sessions.find(cookie), gateway.directory.registered("watch")[0]
    stream = LivePage(desk, session, app, search=Search(), shows_raw=raw).stream()
    try:
        yield desk, session, stream
    finally:
        await stream.aclose()


async def _send(gateway):
    await asyncio.sleep(0.1)
    device = gateway.directory.device("watch")
    with gateway.mediator.subscribe(gateway.directory.apps_of("watch")[0]):  # the app: a page that looks on is none
        for first in range(0, 40, 8):
            await gateway.mediator.receive(device, message(first, 8, value=CANARY))


def names(events):
    return {name for name, _ in events}


def test_a_page_gets_texts_and_released_windows_and_by_default_nothing_raw(gateway):
    events = told(gateway, until=lambda events: sum(name == "released" for name, _ in events) >= 4)
    assert names(events) == {"state", "released"}
    assert "3.14" not in json.dumps(events)
    window = next(body for name, body in events if name == "released")
    assert window["channels"] == ["acc_x", "acc_y"]
    assert len(window["times"]) == 4
    assert np.diff(window["times"]).tolist() == [100, 100, 100]


def test_raw_windows_come_beside_released_ones_where_that_was_switched_on(gateway):
    events = told(gateway, raw=True, until=lambda events: {"raw", "released"} <= names(events))
    assert "3.14" in json.dumps([body for name, body in events if name == "raw"])
    assert "3.14" not in json.dumps([body for name, body in events if name != "raw"])


def test_a_page_ends_when_its_session_does(gateway):
    events = told(gateway, during=lambda desk, session: desk.sessions.end(session), until=lambda _: False)
    assert events[-1] == ("end", {})


def test_a_page_with_raw_windows_ends_when_they_are_switched_off(gateway):
    events = told(
        gateway, raw=True, during=lambda desk, session: desk.sessions.show_raw(session, 0), until=lambda _: False
    )
    assert events[-1] == ("end", {})


def test_texts_name_what_the_overview_shows(gateway):
    events = told(gateway, until=lambda events: names(events) >= {"state"})
    texts = next(body for name, body in events if name == "state")["texts"]
    assert {"s0.state", "s0.a0.released", "p0.g0.text"} <= texts.keys()
