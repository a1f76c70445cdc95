"""Server-sent events for a page: texts every second, released windows, raw ones where that is allowed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.guesses import Guesses
from deeprotect.gateway.console.overview import overview
from deeprotect.gateway.console.requests import RequestRefusedError
from deeprotect.gateway.console.sessions import Session
from deeprotect.gateway.mediation.onlookers import statuses
from deeprotect.gateway.mediation.outlet import released_windows
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.hosts import is_local
from deeprotect.gateway.wire.message import ReleasedWindow

SECONDS = 1.0
MOST_WAITING = 64
MOST_PAGES = 8
"""Open at a time, of one process: each asks the ledger every second, and listens where apps listen."""
Event = tuple[str, Any]
STOP = "stop"
"""Ends a page's stream without a word: its browser asks again, until there is a gateway."""
_open: Counter[str] = Counter()


async def live(desk: Desk, request: Request, session: Session) -> Response:
    """Of the overview, or of one stream and app that the query names."""
    app = await desk.apart(lambda: app_of(desk, request))
    if _open["pages"] >= MOST_PAGES:
        raise RequestRefusedError(503, "too many pages are open; close one")
    raw = app is not None and session.shows_raw and is_local(request) and desk.gateway.place.count == 1
    page = LivePage(desk, session, app, shows_raw=raw)
    return StreamingResponse(page.stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def app_of(desk: Desk, request: Request) -> App | None:
    """The app that a page is about; None for the overview. A stream without apps is no stream to look at."""
    stream, name = request.query_params.get("stream"), request.query_params.get("app")
    if stream is None:
        return None
    for app in desk.apps_of(stream):
        if name in (None, app.name):
            return app
    raise RequestRefusedError(404, "there is no such stream or app; it may have been revoked")


@dataclass
class LivePage:
    """One open page; ends when its session does, or when what it may see changes."""

    desk: Desk
    session: Session
    app: App | None
    shows_raw: bool
    _guesses: Guesses | None = None
    _events: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING))

    async def stream(self) -> AsyncIterator[str]:
        with ExitStack() as stack:
            _open["pages"] += 1
            stack.callback(lambda: _open.subtract(["pages"]))
            tasks = [asyncio.create_task(work) for work in self._work(stack)]
            stack.callback(lambda: [task.cancel() for task in tasks])
            yield "retry: 2000\n\n"
            while True:
                name, body = await self._events.get()
                if name == STOP:
                    return
                yield f"event: {name}\ndata: {json.dumps(body, separators=(',', ':'), allow_nan=False)}\n\n"
                if name == "end":
                    return

    def _work(self, stack: ExitStack) -> list[Any]:
        work = [self._tick()]
        if self.app is not None:
            guesses = self._guesses = Guesses(self.desk, self.app)
            work.append(self._pass_on("released", released_windows(self.desk.gateway, self.app), guesses))
            if self.shows_raw:
                raw = stack.enter_context(self.desk.gateway.mediator.watch_raw(self.app.stream))
                work.append(self._pass_on("raw", raw, guesses))
        return work

    async def _tick(self) -> None:
        """Texts of the page; and whether it may go on."""
        while not self.desk.gateway.mediator.stopping:
            try:
                now = await self.desk.apart(lambda: self.desk.sessions.find(self.session.cookie))
                if now is None or now.shows_raw != self.session.shows_raw:
                    await self._events.put(("end", {}))
                    return
                found = await asyncio.to_thread(overview, self.desk, await statuses(self.desk.gateway))
            except DeeprotectError as error:  # the database is away: the page says so, and goes on
                await self._events.put(("trouble", {"line": str(error)}))
            else:
                body = {
                    "shape": found.shape,
                    "texts": found.texts(),
                    "learnt": self._guesses is not None and self._guesses.ready,
                }
                await self._events.put(("state", body))
            await asyncio.sleep(SECONDS)
        await self._events.put((STOP, {}))

    async def _pass_on(self, kind: str, windows: AsyncIterator[ReleasedWindow], guesses: Guesses) -> None:
        async for window in windows:
            body = window_json(window) | {"guesses": guesses.of(kind, window)}
            if not self._events.full():  # a page that cannot keep up loses windows, and nobody waits for it
                self._events.put_nowait((kind, body))
        await self._events.put((STOP, {}))


def window_json(window: ReleasedWindow) -> dict[str, Any]:
    """Milliseconds, which a browser can count, and values to five figures, which a plot can show."""
    return {
        "number": window.number,
        "placeholder": window.placeholder,
        "channels": list(window.channels),
        "times": (window.times_ns // 1_000_000).tolist(),
        "values": [[float(f"{value:.5g}") for value in column] for column in window.values.T.tolist()],
    }
