"""The live way through the house: readings in, released windows out, many streams at once in one batch."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError
from deeprotect.gateway.operation.logs import event, failure
from deeprotect.gateway.operation.metrics import Metrics
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.streams.hub import MOST_WAITING, Hub, Subscription
from deeprotect.gateway.streams.live_session import LiveSession
from deeprotect.gateway.streams.raw_view import raw_windows
from deeprotect.gateway.streams.releaser import FAILED, Delivery, ReleaseOrder, Releaser
from deeprotect.gateway.streams.status import AppStatus, AppTally, Receipt, StreamStatus
from deeprotect.gateway.streams.track import TrackWindow
from deeprotect.gateway.wire.message import Message
from deeprotect.signals.schema import Schema

BATCH_SECONDS = (0.005, 0.1)  # that windows of other streams are waited for: as long as the last batch took
IDLE_SECONDS = 30.0  # after which a session that sends nothing is over
MOST_SESSIONS = 4  # of one stream; the one that was silent longest ends when there would be more
AT_ONCE = MOST_WAITING // 4  # windows that are handed on before those who read them have their turn
MOST_QUEUED = 20_000  # windows; more are refused, for memory is finite
_Due = dict[Schema, list[TrackWindow]]
_Served = Sequence[tuple[App, Bundle]]


class Mediator:
    """Sessions belong to the event loop, flows to the releaser's thread; between them go orders and deliveries."""

    def __init__(
        self, directory: Directory, bundle_of: Callable[[App], Bundle], *, releaser: Releaser, metrics: Metrics
    ) -> None:
        self._directory, self._bundle_of, self._releaser = directory, bundle_of, releaser
        self._metrics = metrics
        self._hub, self._raw = (
            Hub(metrics.lost.labels("slow").inc),
            Hub(),
        )  # apart: no name of a stream or an app leads from one to the other
        self._sessions: dict[tuple[str, str], LiveSession] = {}
        self._tallies: defaultdict[tuple[str, str], AppTally] = defaultdict(AppTally)
        self._queue: list[tuple[ReleaseOrder, asyncio.Future[Delivery]]] = []
        self._queued = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="release")
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def stopping(self) -> bool:
        return self._stopping

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """What has begun is finished or dropped; nothing more comes in or out afterwards, whoever asks."""
        self._stopping = True
        await asyncio.gather(*map(self._end, list(self._sessions.values())))
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for hub in (self._hub, self._raw):
            for topic in hub.topics():
                hub.close_topic(topic)
        self._thread.shutdown(wait=True)

    async def receive(self, device: Device, message: Message) -> Receipt:
        """Take a message in; the answer comes when all that it made due is released, or refused."""
        if message.is_test:
            return Receipt(0)
        if self._stopping or len(self._queue) > MOST_QUEUED:
            return Receipt(0, busy=True)
        came = time.monotonic()
        session = await self._session(device, message.session)
        late_before = session.late
        apps, refused = self._served(session)
        due = session.take(message, {bundle.schema for _, bundle in apps})
        session.last_seen = time.monotonic()
        self._show_raw(device.stream, session, due)
        readings, late = sum(map(len, message.readings)), session.late - late_before
        self._metrics.readings.inc(readings)
        self._metrics.late.inc(late)
        deliveries = await self._deliver(device, session, apps, due)
        if any(delivery.outcome and delivery.outcome.released for delivery in deliveries):
            self._metrics.latency.observe(time.monotonic() - came)
        return Receipt(max(0, readings - late), late, self._refusal(device.stream, apps) or refused)

    async def end_session(self, device: Device, name: str) -> None:
        session = self._sessions.get((device.stream, name))
        if session is not None:
            await self._end(session)

    async def end_idle(self) -> None:
        """Sessions that have been silent for long, or whose device was revoked."""
        oldest = time.monotonic() - IDLE_SECONDS
        silent = [each for each in self._sessions.values() if each.last_seen < oldest or self._is_revoked(each)]
        await asyncio.gather(*map(self._end, silent))

    def _is_revoked(self, session: LiveSession) -> bool:
        return self._directory.device(session.stream) is None

    def close_revoked(self) -> None:
        """Subscriptions of apps that are no more."""
        valid = {_topic(app) for app in self._directory.apps()}
        for topic in self._hub.topics():
            if topic not in valid:
                self._hub.close_topic(topic)

    def subscribe(self, app: App, *, most: int = MOST_WAITING) -> Subscription:
        """What this app is to get, from now on."""
        return self._hub.subscribe(_topic(app), most=most)

    def watch_raw(self, stream: str) -> Subscription:
        """Raw windows, for their owner's eyes: they stay in this process unless its console hands them on."""
        return self._raw.subscribe(stream)

    def status(self) -> Sequence[StreamStatus]:
        return [self._status(device) for device in self._directory.devices()]

    async def _run(self) -> None:
        (least, most), took = BATCH_SECONDS, 0.0
        while True:
            await self._queued.wait()
            await asyncio.sleep(min(max(least, took), most))
            self._queued.clear()
            queue, self._queue = self._queue, []
            began = time.monotonic()
            await self._release(queue)
            took = time.monotonic() - began

    async def _release(self, queue: list[tuple[ReleaseOrder, asyncio.Future[Delivery]]]) -> None:
        loop, orders = asyncio.get_running_loop(), [order for order, _ in queue]
        try:
            with self._metrics.batch.time():
                deliveries = await loop.run_in_executor(self._thread, self._releaser.run, orders)
        except Exception as error:
            failure("release failed", error)
            deliveries = [Delivery(order, None, FAILED) for order in orders]
        for (_, future), delivery in zip(queue, deliveries, strict=True):
            try:
                await self._publish(delivery)
            except Exception as error:
                failure("a delivery failed", error)
            if not future.done():
                future.set_result(delivery)

    async def _publish(self, delivery: Delivery) -> None:
        app, outcome = delivery.order.app, delivery.outcome
        tally = self._tallies[app.stream, app.name]
        if delivery.refusal and delivery.refusal != tally.refusal:
            event("refused", stream=app.stream, app=app.name, reason=delivery.refusal)
        if outcome is None or delivery.refusal or outcome.released:
            tally.refusal = delivery.refusal
        for place, window in enumerate(outcome.released if outcome else ()):
            if place % AT_ONCE == AT_ONCE - 1:  # an app that reads must not lose any of many windows
                await asyncio.sleep(0)
            tally.released += 1
            tally.placeholders += int(window.placeholder)
            self._metrics.windows.inc()
            self._hub.publish(_topic(app), window)

    async def _deliver(
        self, device: Device, session: LiveSession, apps: _Served, due: _Due, *, over: bool = False
    ) -> list[Delivery]:
        futures = []
        for app, bundle in apps:
            windows = due.get(bundle.schema, [])
            if windows or over:
                order = ReleaseOrder(device, session, app, bundle, windows, over)
                future: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
                self._queue.append((order, future))
                futures.append(future)
        if futures:
            self._queued.set()
        return list(await asyncio.gather(*futures))

    def _served(self, session: LiveSession) -> tuple[_Served, str | None]:
        """Apps of a session with their bundles, and why one of them gets nothing."""
        apps, refused = [], None
        for app in self._directory.apps_of(session.stream):
            try:
                apps.append((app, session.bundle_of(app, self._bundle_of)))
            except BundleError as error:
                refused = self._tallies[app.stream, app.name].refusal = str(error)
        return apps, refused

    def _refusal(self, stream: str, apps: _Served) -> str | None:
        refusals = (self._tallies[stream, app.name].refusal for app, _ in apps)
        return next((each for each in refusals if each), None)

    async def _session(self, device: Device, name: str) -> LiveSession:
        key = (device.stream, name)
        if key not in self._sessions:
            own = [each for each in self._sessions.values() if each.stream == device.stream]
            session = self._sessions[key] = LiveSession(device.stream, name, last_seen=time.monotonic())
            self._metrics.sessions.set(len(self._sessions))
            if len(own) >= MOST_SESSIONS:
                await self._end(min(own, key=lambda each: each.last_seen))
            return session
        return self._sessions[key]

    async def _end(self, session: LiveSession) -> None:
        self._sessions.pop((session.stream, session.name), None)
        self._metrics.sessions.set(len(self._sessions))
        device = self._directory.device(session.stream)
        if device is not None:
            apps, _ = self._served(session)
            await self._deliver(device, session, apps, session.finish(), over=True)

    def _show_raw(self, stream: str, session: LiveSession, due: _Due) -> None:
        if self._raw.heard(stream):
            for window in raw_windows(stream, session.released_as, due):
                self._raw.publish(stream, window)

    def _status(self, device: Device) -> StreamStatus:
        sessions = [each for each in self._sessions.values() if each.stream == device.stream]
        newest = max(sessions, key=lambda each: each.last_seen, default=None)
        apps = tuple(self._app_status(app) for app in self._directory.apps_of(device.stream))
        silent = None if newest is None else time.monotonic() - newest.last_seen
        return StreamStatus(
            device.stream,
            device.person,
            newest.released_as if newest else None,
            None if silent is None else datetime.fromtimestamp(time.time() - silent, UTC),
            tuple(dict.fromkeys(newest.missing())) if newest else (),
            sum(each.late for each in sessions),
            sum(app.released for app in apps),
            apps,
        )

    def _app_status(self, app: App) -> AppStatus:
        tally = self._tallies[app.stream, app.name]
        dropped = self._hub.dropped(_topic(app))
        return AppStatus(app.name, app.bundle, tally.released, tally.placeholders, tally.refusal, dropped)


def _topic(app: App) -> tuple[str, str]:
    return app.stream, app.key
