"""Released messages posted on to addresses of apps, in the phone app's own form; one app's trouble is its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from deeprotect.gateway.feeds.followers import Followers
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.operation.logs import event
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.formats import JSON_TYPE, write

TIMEOUT_SECONDS = 10.0  # of one attempt, from the connection to the end of the answer
TRIES = 4
FIRST_WAIT_SECONDS = 0.5  # before the second attempt; doubled each time
MOST_WAITING = 128  # windows of one app; the oldest are dropped and counted
_MOST_ANSWER = 1 << 16  # bytes that are read of an answer, so that the connection can be used again
_KEPT = 200  # connections that stay open between messages
_HEADERS = {"Content-Type": JSON_TYPE, "User-Agent": "deeprotect"}
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429})


class Push:
    """One connection pool for all; each app has a queue of its own."""

    def __init__(self, gateway: Gateway, client: httpx.AsyncClient, *, first_wait: float = FIRST_WAIT_SECONDS) -> None:
        self._gateway, self._client, self._first_wait = gateway, client, first_wait
        self._failing: set[App] = set()

    async def follow(self, app: App) -> None:
        """Post what an app gets, in order, until it is revoked."""
        with self._gateway.mediator.subscribe(app, most=MOST_WAITING) as windows:
            async for window in windows:
                if not await self._delivered(app, write(window, "sensor-logger")):
                    self._gateway.metrics.lost.labels("push").inc()

    async def _delivered(self, app: App, body: bytes) -> bool:
        """Whether it was taken; tried again a few times where that may help."""
        problem: str | None = None
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(self._first_wait * 2 ** (attempt - 1))
            problem, again = await self._posted(app.push or "", body)
            if problem is None or not again:
                break
        self._tell(app, problem)
        return problem is None

    async def _posted(self, address: str, body: bytes) -> tuple[str | None, bool]:
        """What went wrong, if anything, and whether another try makes sense."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status = await self._status(address, body)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            return type(error).__name__, True  # its words may hold the address
        if httpx.codes.is_success(status):
            return None, False
        return f"status {status}", status >= httpx.codes.INTERNAL_SERVER_ERROR or status in _WORTH_ANOTHER_TRY

    async def _status(self, address: str, body: bytes) -> int:
        read = 0
        async with self._client.stream("POST", address, content=body) as response:
            async for part in response.aiter_raw():
                read += len(part)
                if read > _MOST_ANSWER:
                    break
            return response.status_code

    def _tell(self, app: App, problem: str | None) -> None:
        """When it begins and when it is over, not each time."""
        if problem is not None and app not in self._failing:
            self._failing.add(app)
            event("push fails", stream=app.stream, app=app.name, reason=problem)
        elif problem is None and app in self._failing:
            self._failing.discard(app)
            event("push works again", stream=app.stream, app=app.name)


@asynccontextmanager
async def pushing(gateway: Gateway, *, first_wait: float = FIRST_WAIT_SECONDS) -> AsyncIterator[Followers]:
    """While the server runs. No redirect is followed, and no proxy of the environment is used."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=_KEPT)  # hanging ones take nobody's turn
    async with httpx.AsyncClient(
        follow_redirects=False, trust_env=False, timeout=TIMEOUT_SECONDS, limits=limits, headers=_HEADERS
    ) as client:
        push = Push(gateway, client, first_wait=first_wait)
        followers = Followers(gateway, push.follow, wanted=lambda app: app.push is not None)
        async with followers.following():
            yield followers
