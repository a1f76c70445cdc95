"""A task for each app that the gateway brings its windows to; begun and ended as apps come and go."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.operation.logs import failure
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.registration.directory import REFRESH_SECONDS

Follow = Callable[[App], Awaitable[None]]
FINISH_SECONDS = 3.0  # that a stop waits for windows on their way


class Followers:
    """Of streams that belong to this process; `follow` ends when its app's subscription does."""

    def __init__(self, gateway: Gateway, follow: Follow, *, wanted: Callable[[App], bool]) -> None:
        self._gateway, self._follow, self._wanted = gateway, follow, wanted
        self._tasks: dict[App, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """While the server runs; in the end what waits is brought, for a while."""
        self.refresh()
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await self._finish()

    def refresh(self) -> None:
        """Apps that were registered are followed, apps that were revoked or changed are not."""
        place = self._gateway.place
        apps = {app for app in self._gateway.directory.apps() if place.owns(app.stream) and self._wanted(app)}
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
