"""What apps get, from whichever process has it; the console looks on in the same way. Raw windows are not among it."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Literal

import numpy as np

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.peers import Header
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.formats import Form, write
from deeprotect.gateway.wire.message import ReleasedWindow


async def outlet(gateway: Gateway, app: App, form: Form | Literal["page"]) -> AsyncGenerator[bytes]:
    """Messages of an app as they are released, in one form; ends when the app is revoked or the gateway stops."""
    owner = gateway.place.owner(app.stream)
    if owner == gateway.place.index:
        with gateway.mediator.subscribe(app) as windows:
            async for window in windows:
                yield write_window(window) if form == "page" else write(window, form)
        return
    async for part in gateway.peers.feed(owner, {"stream": app.stream, "app": app.name, "form": form}):
        yield part


async def fed(gateway: Gateway, header: Header) -> AsyncIterator[bytes]:
    """For another process whose app, or page, it is."""
    for app in [app for app in gateway.directory.apps_of(header["stream"]) if app.name == header["app"]]:
        async for part in outlet(gateway, app, header["form"]):
            yield part


async def released_windows(gateway: Gateway, app: App) -> AsyncGenerator[ReleasedWindow]:
    """As they leave, from now on, for a page."""
    async with aclosing(outlet(gateway, app, "page")) as parts:
        async for part in parts:
            yield read_window(part)


def write_window(window: ReleasedWindow) -> bytes:
    """Without the producer's own sensors, which no page shows."""
    plain = {name: value for name, value in vars(window).items() if name != "readings"}
    arrays = {name: plain[name].tolist() for name in ("times_ns", "values")}
    return json.dumps(plain | arrays).encode()


def read_window(content: bytes) -> ReleasedWindow:
    body = json.loads(content)
    arrays = {"times_ns": np.array(body["times_ns"], dtype=np.int64), "values": np.array(body["values"], dtype=float)}
    return ReleasedWindow(**body | arrays | {"channels": tuple(body["channels"]), "readings": ()})
