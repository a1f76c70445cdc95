"""The registry as the gateway sees it: read once in a while, asked all the time."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.registration.addresses import token_hash
from deeprotect.gateway.registration.device_registry import App, Device, Halt, Known, Registry

REFRESH_SECONDS = 1.0
NEWCOMER_SECONDS = 0.1  # between two readings for those who are not known; whoever tries tokens gets no more
Found = TypeVar("Found")


class Directory:
    """Who may send and who may have what; what was revoked is gone with the next reading, a second later at most."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._refreshing = registry, Lock()
        self._next: asyncio.Task[None] | None = None  # a reading that has not begun
        self._use(registry.known())

    def refresh(self) -> None:
        """Read it again; when that fails, what was known stays, and no draw can be paid for."""
        with self._refreshing:  # else an older reading could replace a newer one, and bring back what was revoked
            known = self._registry.known()
            if known is not self._known:
                self._use(known)

    async def newest(self, look: Callable[[], Found | None]) -> Found | None:
        """What is known; where it is nothing, the registry is read again first: somebody may have come just now."""
        if (found := look()) is not None:
            return found
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._read_soon())
        await asyncio.shield(self._next)
        return look()

    async def _read_soon(self) -> None:
        """One reading for all who ask meanwhile; who asks after it has begun waits for the next."""
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
        """That get it now: none while its person has halted it."""
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
        """What it is stored as; a rotated one is none when its time is over."""
        stored = token_hash(token)
        end = self._known.until.get(stored)
        return stored if end is None or self._registry.clock() < end else b""

    def _use(self, known: Known) -> None:
        devices = {device.stream: device for device in known.devices.values()}
        streams: dict[str, list[str]] = {}
        for device in devices.values():
            streams.setdefault(device.person, []).append(device.stream)
        apps: dict[str, list[App]] = {}
        for app in dict.fromkeys(known.apps.values()):  # each once, also while two tokens are good for it
            apps.setdefault(app.stream, []).append(app)
        self._topics = {device.topic: device for device in devices.values() if device.topic}
        self._known, self._devices, self._streams, self._apps = known, devices, streams, apps
