"""A gateway in one process: what it was started with, whom it knows, and the mediator between them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Self

from deeprotect.bundle import Bundle, signing
from deeprotect.errors import DeeprotectError
from deeprotect.gateway.mediation.gateway_settings import Settings
from deeprotect.gateway.mediation.mediator import Mediator
from deeprotect.gateway.mediation.peers import Peers, ProcessPlace
from deeprotect.gateway.offers.choices import VariedBundles
from deeprotect.gateway.offers.served_bundles import Bundles
from deeprotect.gateway.operation.logs import event, failure
from deeprotect.gateway.operation.metrics import Metrics
from deeprotect.gateway.registration.device_registry import App, Registry
from deeprotect.gateway.registration.directory import REFRESH_SECONDS, Directory
from deeprotect.gateway.streams.releaser import Releaser
from deeprotect.release.ledger.database import Database

WAIT_SECONDS = 5.0  # for a database that is busy or gone, before a batch is refused


@dataclass(frozen=True)
class Gateway:
    """Everything that routes, feeds and pages need."""

    settings: Settings
    database: Database
    registry: Registry
    directory: Directory
    bundles: Bundles
    mediator: Mediator
    metrics: Metrics
    place: ProcessPlace
    peers: Peers

    @classmethod
    def of(cls, settings: Settings, place: ProcessPlace | None = None, *, bundles: Bundles | None = None) -> Self:
        """Bundles are loaded and checked, the database is opened or made; wrong input is refused here."""
        key = signing.public_key(settings.key) if settings.key else None
        bundles, metrics, here = bundles or Bundles(settings.bundles, key=key), Metrics(), place or ProcessPlace()
        database = Database.existing_or_new(settings.database, wait_seconds=WAIT_SECONDS, keep_connections=True)
        registry, varied = Registry(database), VariedBundles()
        directory = Directory(registry)

        def bundle_of(app: App) -> Bundle:
            return varied.get(bundles.get(app.bundle), app.epsilon, app.every)

        mediator = Mediator(directory, bundle_of, releaser=Releaser(database), metrics=metrics)
        return cls(settings, database, registry, directory, bundles, mediator, metrics, here, Peers(here))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the server runs."""
        self.mediator.start()
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
            await self.mediator.stop()
            self.database.disconnect()

    async def _keep(self) -> None:
        """Know who was registered and revoked, and end what has fallen silent."""
        self.metrics.ready.set(1)
        told: set[str] = set()
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                told = await asyncio.to_thread(self._tell_replaced, told)
                await asyncio.to_thread(self.directory.refresh)
                self.metrics.ready.set(1)
                self.mediator.close_revoked()
                await self.mediator.end_idle()
            except DeeprotectError as error:
                self.metrics.ready.set(0)
                event("registry cannot be read", reason=str(error))
            except Exception as error:
                failure("housekeeping failed", error)

    def _tell_replaced(self, told: set[str]) -> set[str]:
        """Bundles that were changed on disk, each told once."""
        replaced = self.bundles.replaced()
        for name in sorted(replaced - told) if self.place.index == 0 else ():
            event("a bundle was changed on disk; restart the gateway to serve it", bundle=name)
        return replaced
