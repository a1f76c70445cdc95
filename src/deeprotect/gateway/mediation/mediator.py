"""The live way through the house: readings in, released windows out, many streams at once in one batch."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError, InputError
from deeprotect.gateway.mediation.turns import Allowance, Turns
from deeprotect.gateway.operation.logs import event, failure
from deeprotect.gateway.operation.metrics import Metrics
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.streams.hub import MOST_WAITING, Hub, Subscription
from deeprotect.gateway.streams.releaser import FAILED, Order, Releaser
from deeprotect.gateway.streams.session import Due, Session
from deeprotect.gateway.streams.status import AppStatus, Receipt, StreamStatus
from deeprotect.gateway.streams.track import LONGEST_SECONDS
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.signals.schema import Schema
from deeprotect.signals.ticks import SECOND

BATCH_SECONDS = (0.005, 0.1)  # that windows of other streams are waited for: as long as the last batch took
IDLE_SECONDS = 30.0  # after which a session that sends nothing is over
MOST_SESSIONS = 4  # of one stream; the one that was silent longest ends when there would be more
AT_ONCE = MOST_WAITING // 4  # windows that are handed on before those who read them have their turn
MOST_QUEUED = 20_000  # orders; more are refused, for memory is finite
BATCH_WINDOWS = 64  # of one stream in one batch: nobody waits for more of another's
WINDOWS_A_SECOND = 4096  # that one device may make due, in the long run
MOST_WINDOWS = 2 * WINDOWS_A_SECOND  # of one message
SHORT_BYTES, SHORT_WINDOWS = 1 << 13, 16  # what is read or cut in a millisecond
_Ordered = list[asyncio.Future[Order]]
_Queue = list[tuple[Order, asyncio.Future[Order]]]
_Served = Sequence[tuple[App, Bundle]]


class Mediator:
    """Sessions belong to whoever has their stream's turn, episodes to the releaser's thread; between them go orders."""

    def __init__(
        self, directory: Directory, bundle_of: Callable[[App], Bundle], *, releaser: Releaser, metrics: Metrics
    ) -> None:
        self._directory, self._bundle_of, self._releaser = directory, bundle_of, releaser
        self._metrics, self.allowance, self._turns = metrics, Allowance(), Turns()
        # Two hubs: no name of a stream or an app leads from one to the other.
        self._hub, self._raw = Hub(metrics.lost.labels("slow").inc), Hub()
        self._sessions: dict[tuple[str, str], Session] = {}
        self._tallies: dict[tuple[str, str], AppStatus] = {}
        self._queue: _Queue = []
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
        await asyncio.gather(*map(self._end_in_turn, list(self._sessions.values())))
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for hub in (self._hub, self._raw):
            hub.close_all_but(())
        self._thread.shutdown(wait=True)
        self._turns.close()

    async def receive(self, device: Device, message: Message) -> Receipt:
        """Take readings in that are at hand."""
        return await self.read(device, lambda: message)

    async def read(self, device: Device, read: Callable[[], Message], *, size: int = 0) -> Receipt:
        """Take a message of so many bytes in; the answer comes when all that it made due is released, or refused."""
        if len(self._queue) > MOST_QUEUED or self._turns.is_full(device.stream):
            return Receipt(0, busy=True)
        came = time.monotonic()
        async with self._turns.of(device.stream):
            if self.allowance.left(device.stream) < -1.0:  # what came before it cost more than was known
                return Receipt(0, busy=True)
            message = await self._turns.work(read, is_long=size > SHORT_BYTES)
            if message.is_test or self._stopping:
                return Receipt(0, busy=not message.is_test)
            receipt, ordered = await self._take(device, message, size=size)
        if any(order.released for order in await asyncio.gather(*ordered)):
            self._metrics.latency.observe(time.monotonic() - came)
        return receipt if receipt.refusal else replace(receipt, refusal=self._refusal(device.stream))

    async def _take(self, device: Device, message: Message, *, size: int) -> tuple[Receipt, _Ordered]:
        """A message on the clock, and its windows on their way; the stream's turn is the caller's."""
        session, ordered = self._session(device, message.session)
        apps, refused = self._served(session)
        schemas = {bundle.schema for _, bundle in apps}
        windows, late_before = count_windows(message, schemas), session.late
        self.allowance.owe(device.stream, windows / WINDOWS_A_SECOND)
        is_long = size > SHORT_BYTES or windows > SHORT_WINDOWS
        due = await self._turns.work(lambda: session.take(message, schemas), is_long=is_long)
        session.last_seen = time.monotonic()
        session.note()
        self._show_raw(session, due)
        readings, late = sum(map(len, message.readings)), session.late - late_before
        self._metrics.readings.inc(readings)
        self._metrics.late.inc(late)
        return Receipt(max(0, readings - late), late, refused), ordered + self._order(session, apps, due)

    async def end_session(self, device: Device, name: str) -> None:
        session = self._sessions.get((device.stream, name))
        if session is not None:
            await self._end_in_turn(session)

    async def end_idle(self) -> None:
        """Sessions that have been silent for long, or whose device was revoked; one that is worked on is not silent."""
        oldest = time.monotonic() - IDLE_SECONDS
        idle = [each for each in self._sessions.values() if not self._turns.is_taken(each.stream)]
        over = [each for each in idle if each.last_seen < oldest or self._directory.device(each.stream) is None]
        await asyncio.gather(*(future for each in over for future in self._end(each)))

    def close_revoked(self) -> None:
        """Subscriptions of apps that are no more."""
        self._hub.close_all_but({_topic(app) for app in self._directory.apps()})

    def subscribe(self, app: App, *, most: int = MOST_WAITING) -> Subscription:
        """What this app is to get, from now on."""
        return self._hub.subscribe(_topic(app), most=most)

    def watch_raw(self, stream: str) -> Subscription:
        """Raw windows, for their owner's eyes: they stay in this process unless its console hands them on."""
        return self._raw.subscribe(stream)

    def _show_raw(self, session: Session, due: Due) -> None:
        """Whole windows in the form of the first schema, without the producer's names; nothing else shows them."""
        if not due or not self._raw.heard(session.stream):
            return
        schema, windows = next(iter(due.items()))
        for each in windows:
            if each.samples is not None:
                named = (session.stream, session.released_as, each.number, schema.names)
                self._raw.publish(session.stream, ReleasedWindow(*named, each.times_ns, each.samples, ()))

    async def _run(self) -> None:
        (least, most), took = BATCH_SECONDS, 0.0
        while True:
            await self._queued.wait()
            await asyncio.sleep(min(max(least, took), most))
            self._queued.clear()
            queue, self._queue = next_batch(self._queue)
            if self._queue:
                self._queued.set()
            began = time.monotonic()
            await self._release(queue)
            took = time.monotonic() - began

    async def _release(self, queue: _Queue) -> None:
        orders = [order for order, _ in queue]
        try:
            with self._metrics.batch.time():
                await asyncio.get_running_loop().run_in_executor(self._thread, self._releaser.run, orders)
        except Exception as error:
            failure("release failed", error)
            for order in orders:
                order.released, order.refusal = [], FAILED
        for order, future in queue:
            try:
                await self._publish(order)
            except Exception as error:
                failure("a delivery failed", error)
            if not future.done():
                future.set_result(order)

    async def _publish(self, order: Order) -> None:
        app, tally = order.app, self._tally(order.app)
        if order.refusal and order.refusal != tally.refusal:
            event("refused", stream=app.stream, app=app.name, reason=order.refusal)
        if order.refusal or order.released:
            tally.refusal = order.refusal
        for place, window in enumerate(order.released):
            if place % AT_ONCE == AT_ONCE - 1:  # an app that reads must not lose any of many windows
                await asyncio.sleep(0)
            tally.released += 1
            tally.placeholders += int(window.placeholder)
            self._metrics.windows.inc()
            self._hub.publish(_topic(app), window)

    def _order(self, session: Session, apps: _Served, due: Due, *, over: bool = False) -> _Ordered:
        futures = []
        for app, bundle in apps:
            windows = due.get(bundle.schema, [])
            # What ends with a session ends in one piece, and is short.
            size = max(1, len(windows)) if over else BATCH_WINDOWS
            for start in range(0, max(len(windows), int(over)), size):
                order = Order(session, app, bundle, windows[start : start + size], over)
                futures.append(asyncio.get_running_loop().create_future())
                self._queue.append((order, futures[-1]))
        if futures:
            self._queued.set()
        return futures

    def _served(self, session: Session) -> tuple[_Served, str | None]:
        """Apps of a session with their bundles, and why one of them gets nothing."""
        apps, refused = [], None
        for app in map(session.given, self._directory.apps_of(session.stream)):
            try:
                apps.append((app, session.bundle_of(app, self._bundle_of)))
            except BundleError as error:
                refused = self._tally(app).refusal = str(error)
        return apps, refused

    def _session(self, device: Device, name: str) -> tuple[Session, _Ordered]:
        """The session of this name, and what is to leave of one that makes way for it."""
        key = (device.stream, name)
        if key in self._sessions:
            return self._sessions[key], []
        own = self._sessions_of(device)
        session = self._sessions[key] = Session(device, name, time.monotonic())
        self._metrics.sessions.set(len(self._sessions))
        most = len(own) >= MOST_SESSIONS
        return session, self._end(min(own, key=lambda each: each.last_seen)) if most else []

    def _sessions_of(self, device: Device) -> list[Session]:
        return [each for each in self._sessions.values() if each.stream == device.stream]

    async def _end_in_turn(self, session: Session) -> None:
        async with self._turns.of(session.stream):
            ordered = self._end(session) if session in self._sessions.values() else []
        await asyncio.gather(*ordered)

    def _end(self, session: Session) -> _Ordered:
        """Nobody works on it."""
        self._sessions.pop((session.stream, session.name), None)
        self._metrics.sessions.set(len(self._sessions))
        if self._directory.device(session.stream) is None:
            return []
        apps, _ = self._served(session)
        return self._order(session, apps, session.finish(), over=True)

    def status(self) -> list[StreamStatus]:
        return [self._status(device) for device in self._directory.devices()]

    def _status(self, device: Device) -> StreamStatus:
        sessions, apps = self._sessions_of(device), self._directory.apps_of(device.stream)
        newest = max(sessions, key=lambda each: each.last_seen, default=None)
        seen = None if newest is None else time.time() - (time.monotonic() - newest.last_seen)
        told = [replace(self._tally(app), bundle=app.bundle, dropped=self._hub.dropped(_topic(app))) for app in apps]
        return StreamStatus(
            device.stream,
            device.person,
            newest.released_as if newest else None,
            None if seen is None else datetime.fromtimestamp(seen, UTC),
            newest.missing_then if newest else (),
            sum(each.late_then for each in sessions),
            sum(app.released for app in told),
            tuple(told),
        )

    def _tally(self, app: App) -> AppStatus:
        return self._tallies.setdefault((app.stream, app.name), AppStatus(app.name))

    def _refusal(self, stream: str) -> str | None:
        refusals = (self._tally(app).refusal for app in self._directory.apps_of(stream))
        return next((each for each in refusals if each), None)


def next_batch(queue: _Queue) -> tuple[_Queue, _Queue]:
    """Orders of the next batch, and those that wait: of each stream so many windows, in order."""
    batch: _Queue = []
    rest: _Queue = []
    windows = Counter[str]()
    for each in queue:
        stream, count = each[0].app.stream, len(each[0].windows)
        fits = not windows[stream] or windows[stream] + count <= BATCH_WINDOWS
        windows[stream] += count if fits else BATCH_WINDOWS  # what comes after one that waits, waits
        (batch if fits else rest).append(each)
    return batch, rest


def count_windows(message: Message, schemas: Collection[Schema]) -> int:
    """That it covers, of all schemas together; one that covers too many is refused."""
    stamps = [each.times_ns for each in message.readings if len(each)]
    if not stamps or not schemas:
        return 0
    seconds = (max(int(each.max()) for each in stamps) - min(int(each.min()) for each in stamps)) / SECOND
    in_second = sum(schema.rate_hz / schema.window for schema in schemas)
    longest = min(LONGEST_SECONDS, MOST_WINDOWS / in_second)
    if seconds > longest:
        raise InputError(f"a message covers at most {longest:.4g} s; send smaller ones")
    return len(schemas) + round(seconds * in_second)


def _topic(app: App) -> tuple[str, str]:
    return app.stream, app.key
