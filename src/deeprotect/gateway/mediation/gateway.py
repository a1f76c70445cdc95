"""A gateway: its settings, the devices and apps it knows, and the mediator between them."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle, signing
from deeprotect.bundle.store import MANIFEST
from deeprotect.errors import BundleError, DeeprotectError, InputError, printable
from deeprotect.gateway.mediation.fleet import BEAT_SECONDS, Fleet, Told
from deeprotect.gateway.mediation.mediator import BUSY, WINDOWS_A_SECOND, Mediator
from deeprotect.gateway.operation.clock import TrustedClock, clock_of
from deeprotect.gateway.operation.health import Health, Metrics
from deeprotect.gateway.operation.history import MinuteHistory
from deeprotect.gateway.operation.load import Load
from deeprotect.gateway.operation.log import Trouble, beside, event, event_seldom, failure, unkept
from deeprotect.gateway.registration import events
from deeprotect.gateway.registration.addresses import GatewayPlace
from deeprotect.gateway.registration.device_registry import Device, Registry
from deeprotect.gateway.registration.directory import REFRESH_SECONDS, Directory
from deeprotect.gateway.streams.releaser import Releaser
from deeprotect.gateway.streams.session import FAILING, Answer, State, StreamStatus
from deeprotect.gateway.wire import formats
from deeprotect.gateway.wire.message import Message
from deeprotect.gateway.wire.requests import GZIP, unzipped
from deeprotect.gateway.wire.times import WritePrecision, check_not_ahead
from deeprotect.release.ledger.archive import check_age, forget_draws
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import pay
from deeprotect.signals import Channel, Schema

FORGET_SECONDS = 600.0
_UNPACKED = "a message holds at most {} bytes, also after decompression; send smaller ones"
WAIT_SECONDS = 5.0  # for a busy or unavailable database, before a batch is refused


@dataclass(frozen=True)
class Settings:
    """`bundles` by the name under which apps are registered for them; `database` holds ledger and registry."""

    bundles: dict[str, Path]
    database: str
    key: Path | None = None  # the public key that must have signed them
    host: str = "127.0.0.1"
    port: int = 8765
    proxies: tuple[str, ...] = ()  # addresses whose X-Forwarded headers are trusted
    names: tuple[str, ...] = ()  # host names of the console, besides addresses
    place: GatewayPlace = field(default_factory=GatewayPlace)  # among those that share the database
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    mqtt: str | None = None  # mqtt://user@host:port or mqtts://
    mqtt_password: Path | None = None  # a file
    mqtt_ca: Path | None = None  # CA certificates for the broker, by default the system's
    keep_draws: timedelta | None = None  # older draws are removed, and never made again; None keeps all
    most_delay: float = 5.0  # seconds that a message may wait; beyond that messages are refused
    most_bytes: int = 1 << 20  # of one message
    most_messages: int = 500  # of one device per second
    most_bytes_a_second: int = 4 << 20  # bytes of one device per second


class Bundles:
    """Bundles, loaded and checked once; with `key`, only signed ones. Files replaced later are not loaded."""

    def __init__(self, paths: dict[str, Path], *, key: Any = None) -> None:
        if not paths:
            raise InputError("a gateway needs a bundle; give --bundle")
        self._paths = paths
        self._versions = {name: _version(path) for name, path in paths.items()}
        self._loaded = {name: _load(path, key) for name, path in paths.items()}
        self.channels()

    def names(self) -> list[str]:
        return list(self._paths)

    def get(self, name: str) -> Bundle:
        if name not in self._loaded:
            raise BundleError(
                f"no bundle '{printable(name)}' here; it serves: {printable(', '.join(self._paths), 300)}"
            )
        return self._loaded[name]

    def replaced(self) -> set[str]:
        """Names of bundles whose files have changed since they were loaded; a restart loads them."""
        return {name for name, version in self._versions.items() if _version(self._paths[name]) != version}

    def channels(self) -> Schema:
        """All channels that any bundle reads, the only ones accepted. One name means one unit."""
        found: dict[str, Channel] = {}
        bundles = list(self._loaded.values())
        for channel in (channel for bundle in bundles for channel in bundle.schema.channels):
            before = found.setdefault(channel.name, channel)
            if before.unit != channel.unit:
                raise InputError(
                    f"channel '{printable(channel.name)}' is in {before.unit} for one bundle and in {channel.unit} for "
                    "another; serve them from two gateways"
                )
        first = bundles[0].schema
        return Schema(tuple(found.values()), first.rate_hz, first.window)


def _load(path: Path, key: Any) -> Bundle:
    return Bundle.load(path) if key is None else signing.load(path, key=key)


def _version(path: Path) -> tuple[int, ...]:
    """Changes when a bundle is rewritten: it is never changed in place."""
    try:
        stat = (path / MANIFEST if path.is_dir() else path).stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _limited(device: Device, status: int, text: str) -> Answer:
    """A refusal because of a limit of the gateway, which its operator can change."""
    event_seldom("a limit was reached", status=status, stream=device.stream, reason=text)
    return Answer(status, text)


class Gateway:
    """Everything that routes, feeds and pages need."""

    def __init__(self, settings: Settings, *, clock: TrustedClock | None = None) -> None:
        """Load and check bundles, and open or create the database; wrong input is refused here."""
        self.settings = settings
        key = signing.public_key(settings.key) if settings.key else None
        if settings.keep_draws is not None:
            check_age(settings.keep_draws)
        self.bundles, self.metrics = Bundles(settings.bundles, key=key), Metrics()
        self.database = Database.existing_or_new(settings.database, wait_seconds=WAIT_SECONDS, keep_connections=True)
        self.registry = Registry(self.database)
        self.clock = clock or TrustedClock()
        self._confirmed: int | None = None  # the operator's last confirmation before the clock jumped
        self.directory, self.health = Directory(self.registry), Health(partial(pay, self.database, clock=self.clock))
        self.metrics.clock.set_function(lambda: self.clock.ahead.total_seconds())
        self.load = Load(settings.most_delay)
        self.metrics.delay.set_function(lambda: self.load.delay)
        self.metrics.ready.set_function(lambda: float(self.health.trouble is None))
        self.mediator = Mediator(
            self.directory,
            lambda app: self.bundles.get(app.bundle),
            releaser=Releaser(self.database, clock=self.clock),
            metrics=self.metrics,
            health=self.health,
            load=self.load,
        )
        self.fleet = Fleet(self.database, settings.place)
        self.history = MinuteHistory(self.database, self.metrics, place=settings.place.index)
        self._schema = self.bundles.channels()
        self._clock_log = Trouble("the clock jumped; nothing is released", "the clock is trusted again")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run while the server does."""
        self.mediator.start()
        await self.health.look()
        try:
            async with beside(self._keep(), self._beat(), self._forget(), self.health.watch(), self._watch_load()):
                yield
        finally:
            await self.mediator.stop()
            self.database.disconnect()

    async def _watch_load(self) -> None:
        await self.load.watch(partial(self.health.tell, "load"))

    def refusal(self) -> Answer | None:
        """Refuse a message before it is read if more would wait than allowed."""
        if (reason := self.load.refusal()) is None:
            return None
        event_seldom("overloaded", reason=reason)
        self.metrics.messages.labels(str(FAILING)).inc()
        return Answer(FAILING, reason)

    async def take(self, device: Device, body: bytes, *, precision: WritePrecision | None = None) -> Answer:
        """Process input from HTTP, WebSocket or MQTT; errors are one line that quotes nothing.

        Refusals are counted, and logged occasionally. `precision` means line protocol with times in this unit.
        """
        most = self.settings.most_bytes
        if len(body) > most:
            answer = _limited(device, 413, f"a message holds at most {most} bytes; send smaller ones")
        else:
            answer = await self._answered(device, body, precision)
        self.metrics.messages.labels(str(answer.status)).inc()
        return answer

    async def _answered(self, device: Device, body: bytes, precision: WritePrecision | None) -> Answer:
        messages, most_bytes = self.settings.most_messages, self.settings.most_bytes_a_second
        cost = max(1 / messages, len(body) / most_bytes)
        if not self.mediator.allowance.spend(device.stream, cost):  # before reading it
            most = f"{messages} messages, {most_bytes} bytes, {WINDOWS_A_SECOND} windows"
            return _limited(device, 429, f"at most {most} a second; send it again, later or in smaller parts")
        try:
            if body.startswith(GZIP):
                body = unzipped(body, self.settings.most_bytes)
                if len(body) > self.settings.most_bytes:
                    return _limited(device, 413, _UNPACKED.format(self.settings.most_bytes))
                self.mediator.allowance.owe(device.stream, len(body) / most_bytes)
            answer = await self.mediator.read(device, partial(self._read, device, body, precision), size=len(body))
        except InputError as error:
            return Answer(422, str(error))
        return _limited(device, BUSY.status, BUSY.text) if answer is BUSY else answer

    def _read(self, device: Device, body: bytes, precision: WritePrecision | None) -> Message:
        came_ns = time.time_ns()
        message = formats.read(body, self._schema, device.sensors, came_ns=came_ns, precision=precision)
        for each in message.readings:
            check_not_ahead(each.times_ns, came_ns=came_ns)
        return message

    async def statuses(self, streams: Sequence[str]) -> list[StreamStatus]:
        """Status of some streams, each from the gateway that received it last, among all on the ledger."""
        found = {each.stream: each for each in self.mediator.status(streams)}
        for each in (await asyncio.to_thread(self.fleet.told)).streams:
            mine = found.get(each.stream)
            if mine and each.last_reading and (mine.last_reading is None or mine.last_reading < each.last_reading):
                found[each.stream] = each
        return list(found.values())

    async def states(self) -> dict[str, State]:
        """The state of all sending streams, in a word."""
        theirs = (await asyncio.to_thread(self.fleet.told)).states
        return theirs | self.mediator.states()

    async def refresh(self) -> None:
        """Reread registrations, revocations and halts at once; other gateways do so within a second."""
        await asyncio.to_thread(self.directory.refresh)

    async def _keep(self) -> None:
        """Keep registrations current, and end silent sessions."""
        told: set[str] = set()
        registry = Trouble("registry cannot be read", "registry can be read again")
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                told = await asyncio.to_thread(self._tell_replaced, told)
                await asyncio.to_thread(self.keep_events)
                await asyncio.to_thread(self.look_at_clock)
                await asyncio.to_thread(self.directory.refresh)
                await self.mediator.end_idle()
                await asyncio.to_thread(self.history.keep)
                registry.tell(None)
            except DeeprotectError as error:
                registry.tell(str(error))
            except Exception as error:
                failure("housekeeping failed", error)

    async def _beat(self) -> None:
        """Announce this gateway and find the others; readers of streams that moved are sent there."""
        others = Trouble("other gateways cannot be seen", "other gateways can be seen again")
        while True:
            try:
                if await asyncio.to_thread(self.fleet.beat, self._told() if self.fleet.is_asked else None):
                    others.tell(None)
                self.mediator.close_revoked(self.fleet.has)
            except DeeprotectError as error:
                others.tell(str(error))
            except Exception as error:
                failure("looking for other gateways failed", error)
            await asyncio.sleep(BEAT_SECONDS)

    async def _forget(self) -> None:
        """Remove draws that are too old, occasionally; one of the gateways does it."""
        older_than = self.settings.keep_draws
        while older_than is not None:
            try:
                removed = await asyncio.to_thread(forget_draws, self.database, older_than=older_than, clock=self.clock)
                if removed:
                    event("old draws removed", charges=removed)
            except DeeprotectError as error:
                event("old draws cannot be removed", reason=str(error))
            await asyncio.sleep(FORGET_SECONDS)

    def look_at_clock(self) -> None:
        """After a clock jump, check whether the operator has confirmed the clock, or the database's clock agrees."""
        trouble = self.clock.trouble
        self._clock_log.tell(trouble)
        if trouble is None:
            self._confirmed = None
            return
        self.clock.compare(clock_of(self.database))
        confirmed = events.last(self.database, events.CLOCK_CONFIRMED)
        if self._confirmed is None:
            self._confirmed = confirmed
        elif confirmed > self._confirmed:
            self.clock.confirm()

    def keep_events(self) -> None:
        """Store events for the console; later, if the database is unavailable now."""
        happened = [unkept.popleft() for _ in range(len(unkept))]
        try:
            events.keep(self.database, [events.OperatorEvent(*each) for each in happened])
        except DeeprotectError:
            unkept.extendleft(reversed(happened))
            raise

    def _told(self) -> Told:
        states = self.mediator.states()
        return Told(self.mediator.status(states), states)

    def _tell_replaced(self, told: set[str]) -> set[str]:
        """Log each bundle that was changed on disk, once."""
        replaced = self.bundles.replaced()
        for name in sorted(replaced - told):
            event("a bundle was changed on disk; restart the gateway to serve it", bundle=name)
        return replaced
