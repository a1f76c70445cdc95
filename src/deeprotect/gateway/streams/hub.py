"""Released windows on their way to subscribers, and the current readers, without whom nothing is drawn.

A slow reader loses the oldest windows and delays no one. A window without a reader waits a few seconds, for a reader
whose connection broke.
"""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Hashable
from contextlib import AbstractContextManager
from typing import Any, Literal

from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.message import ReleasedWindow

MOST_WAITING = 256  # windows that one reader may be behind
KEPT_SECONDS = 5.0  # that a window waits for a reader
MOST_LISTENERS = 16  # on one topic; a further one replaces the oldest


class Subscription(AbstractContextManager["Subscription"], AsyncIterator[ReleasedWindow]):
    """Windows from now on, preceded by undelivered ones; must be closed."""

    def __init__(self, hub: "Hub", topic: Hashable, most: int, wanted: Callable[[], bool]) -> None:
        self._hub, self._topic, self._wanted = hub, topic, wanted
        self._waiting: deque[ReleasedWindow] = deque(maxlen=most)
        self._there = asyncio.Event()
        self.since = time.monotonic()
        self.closed = False

    def put(self, window: ReleasedWindow) -> None:
        if len(self._waiting) == self._waiting.maxlen:
            self._hub.count_dropped(self._topic)
        self._waiting.append(window)
        self._there.set()

    def close(self) -> None:
        self._hub.leave(self._topic, self)
        self.closed = True
        self._there.set()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __anext__(self) -> ReleasedWindow:
        while True:
            while not self._waiting:
                if self.closed:
                    raise StopAsyncIteration
                self._there.clear()
                await self._there.wait()
            window = self._waiting.popleft()
            if self._wanted():  # also for windows that waited for a slow reader
                return window


class Hub:
    """Topics and their subscribers; used only by the event loop's thread."""

    def __init__(self, lost: Callable[[], None] | None = None) -> None:
        self._lost = lost
        self._listeners: defaultdict[Hashable, list[Subscription]] = defaultdict(list)
        self._kept: dict[Hashable, deque[tuple[float, ReleasedWindow]]] = {}
        self._dropped: defaultdict[Hashable, int] = defaultdict(int)

    def subscribe(
        self, topic: Hashable, *, most: int = MOST_WAITING, wanted: Callable[[], bool] = lambda: True
    ) -> Subscription:
        """Subscribe; `wanted` says at delivery whether a window may still be released."""
        subscription = Subscription(self, topic, most, wanted)
        if len(self._listeners[topic]) >= MOST_LISTENERS:
            self._listeners[topic][0].close()
        self._listeners[topic].append(subscription)
        for at, window in self._kept.pop(topic, ()):
            if at >= subscription.since - KEPT_SECONDS:
                subscription.put(window)
        return subscription

    def publish(self, topic: Hashable, window: ReleasedWindow) -> None:
        for subscription in self._listeners.get(topic, ()):
            subscription.put(window)

    def keep(self, topic: Hashable, window: ReleasedWindow) -> None:
        """Keep a window briefly for the next subscriber."""
        kept, now = self._kept.setdefault(topic, deque(maxlen=MOST_WAITING)), time.monotonic()
        while kept and kept[0][0] < now - KEPT_SECONDS:
            kept.popleft()
        kept.append((now, window))

    def heard(self, topic: Hashable) -> bool:
        return bool(self._listeners.get(topic))

    def dropped(self, topic: Hashable) -> int:
        return self._dropped[topic]

    def count_dropped(self, topic: Hashable) -> None:
        self._dropped[topic] += 1
        if self._lost is not None:
            self._lost()

    def leave(self, topic: Hashable, subscription: Subscription) -> None:
        self._listeners[topic] = [each for each in self._listeners[topic] if each is not subscription]
        if not self._listeners[topic]:
            del self._listeners[topic]

    def close_where(self, is_over: Callable[[Any, float], bool]) -> None:
        """Close subscriptions by topic and start time: the app was revoked, its stream moved, or this gateway stops."""
        every = [(topic, each) for topic, some in self._listeners.items() for each in some]
        for subscription in [each for topic, each in every if is_over(topic, each.since)]:
            subscription.close()


Kind = Literal["reads", "is brought", "looks on"]
"""How windows are delivered: fetched by the app, brought to it, or shown on a page, which is not a reader."""
Topic = tuple[Kind, str, str]


def topic_of(app: App, kind: Kind = "reads") -> Topic:
    return kind, app.stream, app.key


class Readers:
    """Readers: open connections, and addresses and topics that accepted the last message."""

    def __init__(self, is_heard: Callable[[Topic], bool]) -> None:
        self._is_heard = is_heard
        self._answering: set[str] = set()  # keys of apps with their streams
        self._wanted: set[str] = set()

    def is_here(self, app: App) -> bool:
        return _name(app) in self._answering or self._is_heard(topic_of(app))

    def are_there(self, app: App) -> bool:
        """Whether a draw may be made; if not, a receiver may be searched for."""
        there = self.is_here(app)
        (self._wanted.discard if there else self._wanted.add)(_name(app))
        return there

    def answers(self, app: App, *, is_so: bool) -> None:
        """Record whether an address accepted a message, or a topic has subscribers."""
        (self._answering.add if is_so else self._answering.discard)(_name(app))

    def are_wanted(self, app: App) -> bool:
        """Whether something could have been drawn with a reader."""
        return _name(app) in self._wanted and not self.is_here(app)

    def forget_all_but(self, apps: Collection[App]) -> None:
        names = set(map(_name, apps))
        self._answering &= names
        self._wanted &= names


def _name(app: App) -> str:
    return f"{app.stream}\n{app.key}"
