"""What every page of the console has at hand."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

from deeprotect.bundle.bundle import Bundle
from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.attempts import Attempts
from deeprotect.gateway.console.observers import Observers
from deeprotect.gateway.console.sessions import Sessions
from deeprotect.gateway.offers.choices import VariedBundles
from deeprotect.gateway.registration.device_registry import App

if TYPE_CHECKING:
    from deeprotect.gateway.mediation.gateway import Gateway

Found = TypeVar("Found")


@dataclass(frozen=True)
class Desk:
    """The gateway, who is signed in, who tries to, and those who look on."""

    gateway: "Gateway"
    sessions: Sessions
    observers: Observers
    attempts: Attempts = field(default_factory=Attempts)
    varied: VariedBundles = field(default_factory=VariedBundles)

    @classmethod
    def of(cls, gateway: "Gateway") -> Self:
        return cls(gateway, Sessions(gateway.database), Observers(gateway.settings.watch))

    @property
    def names(self) -> tuple[str, ...]:
        """Host names that mean this gateway."""
        settings = self.gateway.settings
        return (settings.host.lower(), *(name.lower() for name in settings.names))

    async def apart(self, work: Callable[[], Found]) -> Found:
        """In a thread of its own: databases and bundles may keep one waiting, and streams go on meanwhile."""
        return await asyncio.to_thread(work)

    def apps_of(self, stream: str) -> Sequence[App]:
        return [app for app in self.gateway.registry.apps() if app.stream == stream]

    def bundle_of(self, app: App) -> Bundle | None:
        """As this app is given it; None where it cannot be had, which the app's status says."""
        try:
            return self.varied.get(self.gateway.bundles.get(app.bundle), app.epsilon, app.every)
        except DeeprotectError:
            return None
