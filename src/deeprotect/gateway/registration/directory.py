"""The gateway's cached view of the registry."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.registration.addresses import token_hash
from deeprotect.gateway.registration.device_registry import App, Device, Halt, Known, Registry

REFRESH_SECONDS = 1.0
NEWCOMER_SECONDS = 0.1  # least time between rereads for unknown tokens
Found = TypeVar("Found")


class Directory:
    """Valid devices and apps; revocations take effect within a second, with the next reread."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._refreshing = registry, Lock()
        self._next: asyncio.Task[None] | None = None  # a pending reread
        self._use(registry.known())

    def refresh(self) -> None:
        """Reread the registry; if that fails, the old state stays, and no draw can be paid for."""
        with self._refreshing:  # so that an older result cannot replace a newer one and undo a revocation
            known = self._registry.known()
            if known is not self._known:
                self._use(known)

    async def newest(self, look: Callable[[], Found | None]) -> Found | None:
        """Look something up; if it is unknown, reread the registry first, because it may be new."""
        if (found := look()) is not None:
            return found
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._read_soon())
        await asyncio.shield(self._next)
        return look()

    async def _read_soon(self) -> None:
        """One reread for all current requests; later requests wait for the next."""
        await asyncio.sleep(NEWCOMER_SECONDS)
        self._next = None
        with suppress(DeeprotectError):
            await asyncio.to_thread(self.refresh)

    def device_of(self, token: str) -> Device | None:
        return self._known.devices.get(self._good(token))

    def app_of(self, token: str) -> App | None:
        return self._known.apps.get(self._good(token))

    def device(self, stream: str) -> Device | None:
        return self._devices.get(stream)

    def device_at(self, topic: str) -> Device | None:
        return self._topics.get(topic)

    def apps_of(self, stream: str) -> Sequence[App]:
        """Apps that receive the stream now; none while its person has paused or stopped."""
        device = self._devices.get(stream)
        return () if device is not None and self.halt_of(device.person) else self.registered(stream)

    def registered(self, stream: str) -> Sequence[App]:
        return self._apps.get(stream, ())

    def halt_of(self, person: str) -> Halt | None:
        halt = self._known.halts.get(person)
        return halt if halt is not None and halt.holds(self._registry.clock()) else None

    def streams_of(self, person: str) -> list[str]:
        return self._streams.get(person, [])

    def apps(self) -> list[App]:
        return [app for some in self._apps.values() for app in some]

    def devices(self) -> list[Device]:
        return list(self._devices.values())

    def _good(self, token: str) -> bytes:
        """The hash of a token; a rotated one is invalid after its time."""
        stored = token_hash(token)
        end = self._known.until.get(stored)
        return stored if end is None or self._registry.clock() < end else b""

    def _use(self, known: Known) -> None:
        devices = {device.stream: device for device in known.devices.values()}
        streams: dict[str, list[str]] = {}
        for device in devices.values():
            streams.setdefault(device.person, []).append(device.stream)
        apps: dict[str, list[App]] = {}
        for app in dict.fromkeys(known.apps.values()):  # each once, even while it has two valid tokens
            apps.setdefault(app.stream, []).append(app)
        self._topics = {device.topic: device for device in devices.values() if device.topic}
        self._known, self._devices, self._streams, self._apps = known, devices, streams, apps
