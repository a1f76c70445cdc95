"""The live pipeline: readings in, released windows out, many streams in one batch."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import get_args

from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError, InputError
from deeprotect.gateway.mediation.turns import RateLimiter, Turns
from deeprotect.gateway.operation.health import AppTotals, Health, Metrics
from deeprotect.gateway.operation.load import Load
from deeprotect.gateway.operation.log import event, event_seldom, failure
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.streams.hub import MOST_WAITING, Hub, Kind, Readers, Subscription, topic_of
from deeprotect.gateway.streams.releaser import BROKEN, NO_ACCOUNT, UNPAID, UNREAD, Order, Releaser
from deeprotect.gateway.streams.session import (
    BEHIND,
    FAILING,
    LIVE_SECONDS,
    OK,
    SPENT,
    Answer,
    AppStatus,
    Due,
    Session,
    State,
    StreamStatus,
)
from deeprotect.gateway.wire.message import Message, ReleasedWindow
from deeprotect.release.by_time import LONGEST_SECONDS
from deeprotect.signals.schema import Schema
from deeprotect.signals.ticks import SECOND

BATCH_SECONDS = (0.005, 0.1)  # to wait for windows of other streams: as long as the last batch took
IDLE_SECONDS = 30.0  # after which a session without new readings ends
STAY_SECONDS = 1.0  # that readers stay after the last message of a stream that moved
MOST_SESSIONS = 4  # of one stream; a further one ends the one that was silent longest
AT_ONCE = MOST_WAITING // 4  # windows handed on before their readers get a turn
MOST_QUEUED = 20_000  # orders; more are refused, to bound memory
BATCH_WINDOWS = 64  # of one stream in one batch, so that others wait for no more
WINDOWS_A_SECOND = 4096  # that one device may make due on average
MOST_WINDOWS = 2 * WINDOWS_A_SECOND  # of one message
NO_BUNDLE = "bundle not served"
MOST_LABELS, OTHER = 50, "other"  # apps with their own label in the metrics; others share one
BUSY = Answer(503, "server busy; send it again in a few seconds")
_FAILING = (UNPAID, NO_ACCOUNT, BROKEN)
SHORT_BYTES, SHORT_WINDOWS = 1 << 13, 16  # parsed or cut in about a millisecond
_Ordered = list[asyncio.Future[Order]]
_Queue = list[tuple[Order, asyncio.Future[Order]]]
_Served = Sequence[tuple[App, Bundle]]


class Mediator:
    """Connects sessions, which belong to their stream's turn, with episodes, which belong to the releaser's thread."""

    def __init__(
        self,
        directory: Directory,
        bundle_of: Callable[[App], Bundle],
        *,
        releaser: Releaser,
        metrics: Metrics,
        health: Health,
        load: Load,
    ) -> None:
        self._directory, self._bundle_of, self._releaser = directory, bundle_of, releaser
        self._metrics, self._health, self._load = metrics, health, load
        self.allowance, self._turns = RateLimiter(), Turns(load.reading)
        metrics.waiting.set_function(lambda: float(len(self._queue)))
        metrics.add_apps(self.by_app)
        for why in (UNREAD, *_FAILING):
            metrics.withheld.labels(why)  # present from the start, so that the first one shows as an increase
        # Two hubs, so that raw windows can never reach an app's topic.
        self._hub, self._raw = Hub(metrics.lost.labels("slow").inc), Hub()
        self.readers = Readers(self._hub.heard)
        self._sessions: dict[tuple[str, str], Session] = {}
        self._tallies: dict[tuple[str, str], AppStatus] = {}
        self._people: set[str] = set()  # words of all names known since the start
        self._queue: _Queue = []
        self._queued = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="release")
        self._task: asyncio.Task[None] | None = None
        self.stopping = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Finish or drop all work; afterwards nothing comes in or goes out."""
        self.stopping = True
        await asyncio.gather(*map(self._end_in_turn, list(self._sessions.values())))
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for hub in (self._hub, self._raw):
            hub.close_where(lambda *_: True)
        self._thread.shutdown(wait=True)
        self._turns.close()

    async def receive(self, device: Device, message: Message) -> Answer:
        """Accept parsed readings."""
        return await self.read(device, lambda: message)

    async def read(self, device: Device, read: Callable[[], Message], *, size: int = 0) -> Answer:
        """Accept a message of `size` bytes; the answer comes when all its due windows are released or refused."""
        if len(self._queue) > MOST_QUEUED or self._turns.is_full(device.stream):
            return BUSY
        came = time.monotonic() - self._load.loop.longest  # it may have waited that long at its socket
        async with self._turns.of(device.stream):
            if self.allowance.left(device.stream) < -1.0:  # earlier messages cost more than expected
                return BUSY
            message = await self._turns.work(read, is_long=size > SHORT_BYTES)
            if message.is_test or self.stopping:
                return Answer() if message.is_test else BUSY
            answer, ordered = await self._take(device, message, size=size)
        if any(order.released for order in await asyncio.gather(*ordered)):
            self._metrics.note_latency(time.monotonic() - came)
        return answer if answer.text else self._told(answer, device.stream)

    async def _take(self, device: Device, message: Message, *, size: int) -> tuple[Answer, _Ordered]:
        """Put a message on the clock and order its windows; the caller has the stream's turn."""
        session, ordered = self._session(device, message.session)
        apps, refused = self._served(session)
        schemas = {bundle.schema for _, bundle in apps}
        windows, late_before = count_windows(message, schemas), session.late
        self.allowance.owe(device.stream, windows / WINDOWS_A_SECOND)
        is_long = size > SHORT_BYTES or windows > SHORT_WINDOWS
        due = await self._turns.work(lambda: session.take(message, schemas), is_long=is_long)
        session.note()
        session.last_seen = time.monotonic()
        if not session.behind:
            session.last_new = session.last_seen
        else:
            event_seldom("readings come late", stream=device.stream, seconds=round(session.behind, 1), why=BEHIND)
        self._show_raw(session, due)
        if session.apart_then:
            event_seldom("readings are too far apart", stream=device.stream, why=session.apart_then)
        names = dict.fromkeys(name for schema in schemas for name in schema.names)
        # Windows that no app of this stream reads can never be released.
        readings = sum(len(each) for each in message.readings if not names.keys().isdisjoint(each.channels))
        missing, late = session.missing_then if readings else tuple(names), session.late - late_before
        self._metrics.readings.inc(readings)
        self._metrics.late.inc(late)
        whole = any(each.samples is not None for windows in due.values() for each in windows)
        waits = f"readings of {', '.join(missing)}" if missing and not whole else None
        if session.apart_then:
            waits = f"readings that are closer: {session.apart_then}"
        if session.behind:
            waits = f"readings that are newer: these came {session.behind:.1f} s late; {BEHIND}"
        answer = Answer(SPENT if refused else OK, refused or "", max(0, readings - late), waits)
        return answer, ordered + self._order(session, apps, due)

    async def end_idle(self) -> None:
        """End sessions without new readings for long, or whose device was revoked, unless they are being worked on.

        Later readings start a new session at their stamps, but never repeat an earlier draw.
        """
        oldest = time.monotonic() - IDLE_SECONDS
        idle = [each for each in self._sessions.values() if not self._turns.is_taken(each.stream)]
        over = [each for each in idle if each.last_new < oldest or self._directory.device(each.stream) is None]
        await asyncio.gather(*(future for each in over for future in self._end(each)))

    def close_revoked(self, has: Callable[[str, float], bool] = lambda *_: True) -> None:
        """Close subscriptions of revoked apps, and of apps whose stream moved to another gateway."""
        apps, recent = self._directory.apps(), time.monotonic() - STAY_SECONDS
        known = {topic_of(app, kind) for app in apps for kind in get_args(Kind)}
        here = {each.stream for each in self._sessions.values() if each.last_seen > recent}
        self._hub.close_where(lambda topic, at: topic not in known or not (topic[1] in here or has(topic[1], at)))
        self.readers.forget_all_but(apps)

    def subscribe(self, app: App, kind: Kind = "reads", *, most: int = MOST_WAITING) -> Subscription:
        """Subscribe to an app's windows, from now on."""
        return self._hub.subscribe(topic_of(app, kind), most=most, wanted=partial(self._is_wanted, app))

    def lose(self, app: App, why: str) -> None:
        """Count a drawn window that its app did not receive."""
        self._metrics.lost.labels(why).inc()
        self._tally(app).dropped += 1

    def watch_raw(self, stream: str) -> Subscription:
        """Subscribe to raw windows, for their owner; they stay in this process unless its console shows them."""
        return self._raw.subscribe(stream)

    def _show_raw(self, session: Session, due: Due) -> None:
        """Publish complete raw windows in the form of the first schema, without the producer's names."""
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
        orders = [order for order, _ in queue if self._is_wanted(order.app)]
        for order in orders:
            order.is_read = self.readers.are_there(order.app)
        try:
            with self._metrics.batch.time(), self._load.releasing.one():
                await asyncio.get_running_loop().run_in_executor(self._thread, self._releaser.run, orders)
        except Exception as error:
            failure("release failed", error)
            for order in orders:
                order.fail()
        self._health.note(
            paid=any(order.is_paid for order in orders), unpaid=any(order.why == UNPAID for order in orders)
        )
        for order, future in queue:
            try:
                if self._is_wanted(order.app):
                    await self._publish(order)
            except Exception as error:
                failure("a delivery failed", error)
            if not future.done():
                future.set_result(order)

    async def _publish(self, order: Order) -> None:
        app = order.app
        self._tell(app, order.why, order.refusal, order.withheld, left=bool(order.released))
        for place, window in enumerate(order.released):
            if place % AT_ONCE == AT_ONCE - 1:  # so that a reading app does not lose windows of a large message
                await asyncio.sleep(0)
            self._hand_out(app, window)

    def _hand_out(self, app: App, window: ReleasedWindow) -> None:
        """Hand a window to all readers; without a reader it is lost."""
        tally, topics = self._tally(app), [topic_of(app, kind) for kind in get_args(Kind)]
        tally.released += 1
        tally.placeholders += int(window.placeholder)
        self._metrics.windows.inc()
        self._metrics.age.observe(max(0.0, time.time() - window.times_ns[-1] / SECOND))
        if not any(map(self._hub.heard, topics[:2])):
            self.lose(app, "absent")
            self._hub.keep(topics[0], window)
        for topic in topics:
            self._hub.publish(topic, window)

    def _tell(self, app: App, why: str, refusal: str | None, withheld: Mapping[str, int], *, left: bool) -> None:
        """Count withheld windows, and log each reason when it begins and when all have ended."""
        tally = self._tally(app)
        for reason, windows in withheld.items():
            self._metrics.withheld.labels(reason).inc(windows)
            tally.withheld[reason] = tally.withheld.get(reason, 0) + windows
        whys = tuple(dict.fromkeys([why, *withheld] if why else withheld))
        for each in (each for each in whys if each not in tally.whys):
            reason = refusal if each == why and refusal else each
            event("nothing leaves", stream=app.stream, app=app.name, why=each, reason=reason)
        if tally.whys and left and not whys:
            event("windows leave again", stream=app.stream, app=app.name)
        if whys or left:
            tally.whys, tally.refusal = whys, refusal

    def _is_wanted(self, app: App) -> bool:
        """Whether the app was neither revoked nor halted while the order waited."""
        return app in self._directory.apps_of(app.stream)

    def _order(self, session: Session, apps: _Served, due: Due, *, over: bool = False) -> _Ordered:
        futures = []
        for app, bundle in apps:
            windows = due.get(bundle.schema, [])
            # A session's end is one short piece.
            size = max(1, len(windows)) if over else BATCH_WINDOWS
            for start in range(0, max(len(windows), int(over)), size):
                order = Order(session, app, bundle, windows[start : start + size], over)
                futures.append(asyncio.get_running_loop().create_future())
                self._queue.append((order, futures[-1]))
        if futures:
            self._queued.set()
        return futures

    def _served(self, session: Session) -> tuple[_Served, str | None]:
        """A session's apps with their bundles, and why one of them gets nothing."""
        apps, refused = [], None
        for app in self._directory.apps_of(session.stream):
            try:
                apps.append((app, session.bundle_of(app, self._bundle_of)))
            except BundleError as error:
                refused = str(error)
                # The number of windows is unknown without the bundle, so each message counts as one.
                self._tell(app, NO_BUNDLE, refused, {NO_BUNDLE: 1}, left=False)
        return apps, refused

    def _session(self, device: Device, name: str) -> tuple[Session, _Ordered]:
        """The session of this name, and the windows of one that ends to make room for it."""
        key = (device.stream, name)
        if key in self._sessions:
            return self._sessions[key], []
        own = self._sessions_of(device)
        now = time.monotonic()
        session = self._sessions[key] = Session(device, name, now, now)
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
        """End a session that is not being worked on."""
        self._sessions.pop((session.stream, session.name), None)
        self._metrics.sessions.set(len(self._sessions))
        if self._directory.device(session.stream) is None:
            return []
        apps, _ = self._served(session)
        return self._order(session, apps, session.finish(), over=True)

    def status(self, streams: Collection[str]) -> list[StreamStatus]:
        """Status of the registered ones among these streams."""
        found = (self._directory.device(stream) for stream in streams)
        return [self._status(device) for device in found if device is not None]

    def states(self) -> dict[str, State]:
        """The state of every stream that has sent, in a word, at little cost."""
        newest: dict[str, float] = {}
        for each in self._sessions.values():
            newest[each.stream] = max(each.last_seen, newest.get(each.stream, 0.0))
        refused = {stream for (stream, _), tally in self._tallies.items() if tally.refusal}
        oldest = time.monotonic() - LIVE_SECONDS
        return {
            stream: "quiet" if seen < oldest else "refused" if stream in refused else "live"
            for stream, seen in newest.items()
        }

    def _status(self, device: Device) -> StreamStatus:
        sessions, apps = self._sessions_of(device), self._directory.registered(device.stream)
        newest = max(sessions, key=lambda each: each.last_seen, default=None)
        seen = None if newest is None else time.time() - (time.monotonic() - newest.last_seen)
        told = [self._app_status(app) for app in apps]
        return StreamStatus(
            device.stream,
            device.person,
            newest.released_as if newest else None,
            None if seen is None else datetime.fromtimestamp(seen, UTC),
            newest.missing_then if newest else (),
            sum(each.late_then for each in sessions),
            sum(app.released for app in told),
            tuple(told),
            max((each.behind_then for each in sessions), default=0.0),
            next((each.apart_then for each in sessions if each.apart_then), ""),
        )

    def _tally(self, app: App) -> AppStatus:
        return self._tallies.setdefault((app.stream, app.name), AppStatus(app.name))

    def reasons(self) -> Counter[str]:
        """Number of apps of sending streams that get nothing, by reason."""
        sending = {stream for stream, _ in self._sessions}
        return Counter(
            tally.whys[0] for (stream, _), tally in self._tallies.items() if tally.whys and stream in sending
        )

    def by_app(self) -> dict[str, AppTotals]:
        """Totals over all streams: the first apps by name, if the name is not a person's, and the rest as one."""
        self._people.update(word for device in self._directory.devices() for word in _words(device.person))
        found: dict[str, AppTotals] = {}
        for (_, app), tally in self._tallies.items():
            is_full = app not in found and len(found) >= MOST_LABELS
            label = OTHER if is_full or not self._people.isdisjoint(_words(app)) else app
            total = found.setdefault(label, AppTotals())
            total.released += tally.released
            total.lost += tally.dropped
            for why, windows in tally.withheld.items():
                total.withheld[why] = total.withheld.get(why, 0) + windows
        return found

    def _app_status(self, app: App) -> AppStatus:
        tally, topics = self._tally(app), (topic_of(app), topic_of(app, "is brought"))
        dropped = tally.dropped + sum(map(self._hub.dropped, topics))
        return replace(tally, bundle=app.bundle, dropped=dropped, is_read=self.readers.is_here(app))

    def _told(self, answer: Answer, stream: str) -> Answer:
        """Add to the answer what the person should know, about any app."""
        device = self._directory.device(stream)
        if device is not None and self._directory.halt_of(device.person):
            return replace(answer, waits="its person, who has paused or stopped it")
        told = [(app, self._tally(app)) for app in self._directory.apps_of(stream)]
        refused = next((tally for _, tally in told if tally.refusal), None)
        if refused is not None:
            status = FAILING if any(why in _FAILING for why in refused.whys) else SPENT
            return replace(answer, status=status, text=refused.refusal or "")
        if any(self.readers.are_there(app) for app, _ in told):
            return answer
        reader = "a reader: nothing is drawn before one is there" if told else "an app: register one"
        return replace(answer, waits=f"{answer.waits}; {reader}" if answer.waits else reader)


@lru_cache(maxsize=1 << 15)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name, whatever separates them."""
    return tuple(re.findall(r"[^\W_]+", name.casefold()))


def next_batch(queue: _Queue) -> tuple[_Queue, _Queue]:
    """Orders of the next batch, and those that wait: up to BATCH_WINDOWS of each stream, in order."""
    batch: _Queue = []
    rest: _Queue = []
    windows = Counter[str]()
    for each in queue:
        stream, count = each[0].app.stream, len(each[0].windows)
        fits = not windows[stream] or windows[stream] + count <= BATCH_WINDOWS
        windows[stream] += count if fits else BATCH_WINDOWS  # later orders wait as well
        (batch if fits else rest).append(each)
    return batch, rest


def count_windows(message: Message, schemas: Collection[Schema]) -> int:
    """Number of windows that a message covers, over all schemas; too many are refused."""
    stamps = [each.times_ns for each in message.readings if len(each)]
    if not stamps or not schemas:
        return 0
    seconds = (max(int(each.max()) for each in stamps) - min(int(each.min()) for each in stamps)) / SECOND
    in_second = sum(schema.rate_hz / schema.window for schema in schemas)
    longest = min(LONGEST_SECONDS, MOST_WINDOWS / in_second)
    if seconds > longest:
        raise InputError(f"a message covers at most {longest:.4g} s; send smaller ones")
    return len(schemas) + round(seconds * in_second)
