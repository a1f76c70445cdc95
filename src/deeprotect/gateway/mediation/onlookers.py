"""What the console looks at, from whichever process has it: how streams are doing, and what leaves for an app.

Raw windows are not among it: they stay in the process that reads the stream.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from deeprotect.gateway.mediation.frames import Header
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.operation.metrics import joined
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.status import AppStatus, StreamStatus
from deeprotect.gateway.wire.message import ReleasedWindow

STATUS, METRICS, WINDOWS = "status", "metrics", "windows"
MOST_WAITING = 64


async def statuses(gateway: Gateway) -> list[StreamStatus]:
    """Of all streams; where a process does not answer, as if its streams had not been heard from."""
    found = {each.stream: each for each in gateway.mediator.status()}
    for index, answer in (await _answers(gateway, STATUS)).items():
        theirs = (_status(body) for body in answer["streams"] if gateway.place.owner(body["stream"]) == index)
        found |= {each.stream: each for each in theirs}
    return list(found.values())


async def metrics(gateway: Gateway) -> bytes:
    """Of all processes together; one that does not answer is left out."""
    own = gateway.metrics.text()
    others = [answer["text"] for answer in (await _answers(gateway, METRICS)).values()]
    return joined([own.decode(), *others]) if others else own


async def _answers(gateway: Gateway, question: str) -> dict[int, Header]:
    """What the other processes say, those that answer."""

    async def asked(index: int) -> Header | None:
        try:
            return await gateway.peers.ask(index, {"ask": question})
        except OSError:
            return None

    others = gateway.peers.others()
    answers = zip(others, await asyncio.gather(*map(asked, others)), strict=True)
    return {index: answer for index, answer in answers if answer is not None}


def own_metrics(gateway: Gateway) -> Header:
    """For another process that asks."""
    return {"text": gateway.metrics.text().decode()}


def own_statuses(gateway: Gateway) -> Header:
    """For another process that asks."""
    return {"streams": [asdict(each) | {"last_reading": _text(each)} for each in gateway.mediator.status()]}


async def released_windows(gateway: Gateway, app: App) -> AsyncGenerator[ReleasedWindow]:
    """As they leave, from now on; ends when the app is revoked or the gateway stops."""
    owner = gateway.place.owner(app.stream)
    if owner == gateway.place.index:
        with gateway.mediator.subscribe(app, most=MOST_WAITING) as windows:
            async for window in windows:
                yield window
        return
    async for body in gateway.peers.feed(owner, {"look": WINDOWS, "stream": app.stream, "app": app.name}):
        yield read_window(body)


async def fed_windows(gateway: Gateway, header: Header) -> AsyncIterator[bytes]:
    """For another process whose console looks on."""
    for app in [app for app in gateway.directory.apps_of(header["stream"]) if app.name == header["app"]]:
        async for window in released_windows(gateway, app):
            yield write_window(window)


def write_window(window: ReleasedWindow) -> bytes:
    body = {
        "stream": window.stream,
        "session": window.session,
        "number": window.number,
        "channels": list(window.channels),
        "times_ns": window.times_ns.tolist(),
        "values": window.values.tolist(),
        "placeholder": window.placeholder,
    }
    return json.dumps(body).encode()


def read_window(content: bytes) -> ReleasedWindow:
    """Without the producer's own sensors, which no page shows."""
    body: dict[str, Any] = json.loads(content)
    return ReleasedWindow(
        body["stream"],
        body["session"],
        body["number"],
        tuple(body["channels"]),
        np.array(body["times_ns"], dtype=np.int64),
        np.array(body["values"], dtype=np.float64),
        (),
        body["placeholder"],
    )


def _text(status: StreamStatus) -> str | None:
    return None if status.last_reading is None else status.last_reading.isoformat()


def _status(body: dict[str, Any]) -> StreamStatus:
    last = body["last_reading"]
    return StreamStatus(
        **body
        | {
            "last_reading": None if last is None else datetime.fromisoformat(last),
            "missing": tuple(body["missing"]),
            "apps": tuple(AppStatus(**app) for app in body["apps"]),
        }
    )
