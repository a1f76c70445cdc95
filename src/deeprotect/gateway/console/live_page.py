"""Server-sent events for a page: texts every second, released windows, and raw ones if allowed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.responses import StreamingResponse

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.guard import Admin, Desk, TheDesk
from deeprotect.gateway.console.overview import Overview, Search, look, overview
from deeprotect.gateway.console.sessions import AdminSession
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.gateway.wire.requests import is_local

SECONDS = 1.0
MOST_WAITING = 64
MOST_PAGES = 8
"""Most pages open in one process: each queries the ledger every second and subscribes like an app."""
Event = tuple[str, Any]
STOP = "stop"
"""Ends a page's stream silently: its browser reconnects until a gateway answers."""
_open: Counter[str] = Counter()


async def live(request: Request, desk: TheDesk, session: Admin) -> Response:
    """Events for the overview, or for the stream and app named in the query."""
    app = app_of(desk, request) if "stream" in request.query_params else None
    if _open["pages"] >= MOST_PAGES:
        raise HTTPException(503, "too many pages are open; close one")
    raw = app is not None and session.shows_raw and is_local(request)
    page = LivePage(desk, session, app, search=Search.of(request), shows_raw=raw)
    return StreamingResponse(page.stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def app_of(desk: Desk, request: Request) -> App | None:
    """The app that a page shows, or the stream's first; None if the stream has none."""
    stream, name = request.query_params.get("stream", ""), request.query_params.get("app")
    apps = desk.gateway.directory.registered(stream)
    app = next((app for app in apps if name in (None, app.name)), None)
    if desk.gateway.directory.device(stream) is None or (app is None and name is not None):
        raise HTTPException(404, "there is no such stream or app; it may have been revoked")
    return app


@dataclass
class LivePage:
    """One open page; ends with its session, or when its permissions change."""

    desk: Desk
    session: AdminSession
    app: App | None
    search: Search
    shows_raw: bool
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
            released = stack.enter_context(self.desk.gateway.mediator.subscribe(self.app, "looks on"))
            work.append(self._pass_on("released", released))
            if self.shows_raw:
                raw = stack.enter_context(self.desk.gateway.mediator.watch_raw(self.app.stream))
                work.append(self._pass_on("raw", raw))
        return work

    async def _tick(self) -> None:
        """Send the page's texts; return whether it may continue."""
        while not self.desk.gateway.mediator.stopping:
            try:
                now = await asyncio.to_thread(self.desk.sessions.find, self.session.cookie)
                if now is None or now.shows_raw != self.session.shows_raw:
                    await self._events.put(("end", {}))
                    return
                found = await self._look()
            except DeeprotectError as error:  # the database is unavailable: the page says so and continues
                await self._events.put(("trouble", {"line": str(error)}))
            else:
                await self._events.put(("state", {"shape": found.shape, "texts": found.texts()}))
            await asyncio.sleep(SECONDS)
        await self._events.put((STOP, {}))

    async def _look(self) -> Overview:
        if self.app is None:
            return await overview(self.desk, self.search)
        return await look(self.desk, [self.app.stream], await self.desk.gateway.states())

    async def _pass_on(self, kind: str, windows: AsyncIterator[ReleasedWindow]) -> None:
        async for window in windows:
            if not self._events.full():  # a slow page loses windows and delays no one
                self._events.put_nowait((kind, window_json(window)))
        await self._events.put((STOP, {}))


def window_json(window: ReleasedWindow) -> dict[str, Any]:
    """Times in milliseconds for browsers, values to five figures for plots."""
    return {
        "number": window.number,
        "placeholder": window.placeholder,
        "channels": list(window.channels),
        "times": (window.times_ns // 1_000_000).tolist(),
        "values": [[float(f"{value:.5g}") for value in column] for column in window.values.T.tolist()],
    }
