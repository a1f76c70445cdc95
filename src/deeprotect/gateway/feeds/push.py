"""Delivery tasks for apps that do not fetch their windows, and HTTP posts to apps' addresses."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.operation.log import Trouble, beside, failure
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.registration.directory import REFRESH_SECONDS
from deeprotect.gateway.wire.formats import USUAL, content_type_of, write
from deeprotect.gateway.wire.message import ReleasedWindow

Follow = Callable[[App], Awaitable[None]]
FINISH_SECONDS = 3.0  # that a shutdown waits for deliveries


async def brought(gateway: Gateway, app: App, *, most: int, every: float) -> AsyncIterator[ReleasedWindow | None]:
    """An app's windows; None at first, and again whenever something could be released but there is no receiver."""
    with gateway.mediator.subscribe(app, "is brought", most=most) as windows:
        yield None
        while True:
            try:
                yield await asyncio.wait_for(anext(windows), every)
            except TimeoutError:
                if gateway.mediator.readers.are_wanted(app):
                    yield None
            except StopAsyncIteration:
                return


class Followers:
    """Delivery tasks for apps of this gateway's streams; `follow` ends with its app's subscription."""

    def __init__(self, gateway: Gateway, follow: Follow, *, wanted: Callable[[App], bool]) -> None:
        self._gateway, self._follow, self._wanted = gateway, follow, wanted
        self._tasks: dict[App, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Run while the server does; at the end waiting windows are delivered for a while."""
        self.refresh()
        try:
            async with beside(self._watch()):
                yield
        finally:
            await self._finish()

    def refresh(self) -> None:
        """Start tasks for registered apps, and stop those of revoked or changed apps."""
        has = self._gateway.fleet.has
        apps = {app for app in self._gateway.directory.apps() if has(app.stream) and self._wanted(app)}
        for app, task in list(self._tasks.items()):
            if app not in apps:
                task.cancel()
            if task.done():
                del self._tasks[app]
        for app in apps - self._tasks.keys():
            self._tasks[app] = asyncio.create_task(self._run(app))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            self.refresh()

    async def _run(self, app: App) -> None:
        try:
            await self._follow(app)
        except Exception as error:
            failure("an app cannot be followed", error)

    async def _finish(self) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            _, pending = await asyncio.wait(tasks, timeout=FINISH_SECONDS)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)


TIMEOUT_SECONDS = 10.0  # for one attempt, from connecting to the end of the response
TRIES = 4
FIRST_WAIT_SECONDS = 0.5  # before the second attempt; doubled each time
KNOCKS = 10  # an address that did not answer is left alone for this many first waits
MOST_WAITING = 128  # windows of one app; the oldest are dropped and counted
_MOST_ANSWER = 1 << 16  # bytes read from a response, so that the connection can be reused
_KEPT = 200  # connections that stay open between messages
_HEADERS = {"User-Agent": "deeprotect"}
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429})


class Push:
    """One connection pool for all; each app has a queue of its own."""

    def __init__(self, gateway: Gateway, client: httpx.AsyncClient, *, first_wait: float = FIRST_WAIT_SECONDS) -> None:
        self._gateway, self._client, self._first_wait = gateway, client, first_wait
        self._knock = KNOCKS * first_wait
        self._log: defaultdict[App, Trouble] = defaultdict(lambda: Trouble("push fails", "push works again"))

    async def follow(self, app: App) -> None:
        """Post an app's windows, in order, until it is revoked.

        Nothing is drawn before a server listens there, nor after it did not accept a window until it accepts that one.
        """
        readers, body = self._gateway.mediator.readers, b""
        async for window in brought(self._gateway, app, most=MOST_WAITING, every=self._knock):
            if window is None:
                there = await (self._delivered(app, body, tries=1) if body else _listens(app.push or ""))
            else:
                body = write(window, app.form or USUAL)
                there = await self._delivered(app, body)
            readers.answers(app, is_so=there)
            if window is not None and not there:
                self._gateway.mediator.lose(app, "push")

    async def _delivered(self, app: App, body: bytes, *, tries: int = TRIES) -> bool:
        """Whether the window was accepted, after retries if they may help."""
        problem: str | None = None
        for attempt in range(tries):
            if attempt:
                await asyncio.sleep(self._first_wait * 2 ** (attempt - 1))
            problem, again = await self._posted(app, body)
            if problem is None or not again:
                break
            self._gateway.mediator.readers.answers(app, is_so=False)
        self._log[app].tell(problem, stream=app.stream, app=app.name)
        return problem is None

    async def _posted(self, app: App, body: bytes) -> tuple[str | None, bool]:
        """The error, if any, and whether another try makes sense."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status = await self._status(app, body)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            return type(error).__name__, True  # its text may contain the address
        if httpx.codes.is_success(status):
            return None, False
        return f"status {status}", status >= httpx.codes.INTERNAL_SERVER_ERROR or status in _WORTH_ANOTHER_TRY

    async def _status(self, app: App, body: bytes) -> int:
        read, kind = 0, {"Content-Type": content_type_of(app.form or USUAL)}
        async with self._client.stream("POST", app.push or "", content=body, headers=kind) as response:
            async for part in response.aiter_raw():
                read += len(part)
                if read > _MOST_ANSWER:
                    break
            return response.status_code


async def _listens(address: str) -> bool:
    """Whether a connection can be made; nothing is sent."""
    url = httpx.URL(address)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(url.host, url.port or (443 if url.scheme == "https" else 80))
    except (OSError, TimeoutError, ValueError):
        return False
    writer.close()
    return True


@asynccontextmanager
async def pushing(gateway: Gateway, *, first_wait: float = FIRST_WAIT_SECONDS) -> AsyncIterator[Followers]:
    """Run while the server does. Redirects are not followed, and no proxy from the environment is used."""
    limits = httpx.Limits(
        max_connections=None, max_keepalive_connections=_KEPT
    )  # so that hanging ones do not block others
    async with httpx.AsyncClient(
        follow_redirects=False, trust_env=False, timeout=TIMEOUT_SECONDS, limits=limits, headers=_HEADERS
    ) as client:
        push = Push(gateway, client, first_wait=first_wait)
        followers = Followers(gateway, push.follow, wanted=lambda app: app.push is not None)
        async with followers.following():
            yield followers
