"""Released windows on their way to whoever subscribed; a slow reader loses the oldest, and holds nobody up."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Hashable
from contextlib import AbstractContextManager

from deeprotect.gateway.wire.message import ReleasedWindow

MOST_WAITING = 256  # windows that one reader may be behind
MOST_LISTENERS = 16  # on one topic; the one that came first makes way for one more


class Subscription(AbstractContextManager["Subscription"], AsyncIterator[ReleasedWindow]):
    """Windows as they are released, from now on; to be closed."""

    def __init__(self, hub: "Hub", topic: Hashable, most: int) -> None:
        self._hub, self._topic = hub, topic
        self._waiting: deque[ReleasedWindow] = deque(maxlen=most)
        self._there = asyncio.Event()
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
        while not self._waiting:
            if self.closed:
                raise StopAsyncIteration
            self._there.clear()
            await self._there.wait()
        return self._waiting.popleft()


class Hub:
    """Topics and who listens to them; only ever touched by the event loop's thread."""

    def __init__(self, lost: Callable[[], None] | None = None) -> None:
        self._lost = lost
        self._listeners: defaultdict[Hashable, list[Subscription]] = defaultdict(list)
        self._dropped: defaultdict[Hashable, int] = defaultdict(int)

    def subscribe(self, topic: Hashable, *, most: int = MOST_WAITING) -> Subscription:
        subscription = Subscription(self, topic, most)
        if len(self._listeners[topic]) >= MOST_LISTENERS:
            self._listeners[topic][0].close()
        self._listeners[topic].append(subscription)
        return subscription

    def publish(self, topic: Hashable, window: ReleasedWindow) -> None:
        for subscription in self._listeners.get(topic, ()):
            subscription.put(window)

    def heard(self, topic: Hashable) -> bool:
        return bool(self._listeners.get(topic))

    def dropped(self, topic: Hashable) -> int:
        return self._dropped[topic]

    def count_dropped(self, topic: Hashable) -> None:
        self._dropped[topic] += 1
        if self._lost is not None:
            self._lost()

    def leave(self, topic: Hashable, subscription: Subscription) -> None:
        others = [each for each in self._listeners.get(topic, ()) if each is not subscription]
        if others:
            self._listeners[topic] = others
        else:
            self._listeners.pop(topic, None)

    def close_all_but(self, topics: Collection[Hashable]) -> None:
        """Whoever listens to another is done: the app was revoked, or the gateway stops."""
        for subscription in [each for topic, some in self._listeners.items() if topic not in topics for each in some]:
            subscription.close()

    def topics(self) -> list[Hashable]:
        return list(self._listeners)
