"""Turns and rate limits: one piece of work of each stream at a time, in order, and a limit on each device's work."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from deeprotect.gateway.operation.load import Waits

Found = TypeVar("Found")
MOST_WAITING = 64  # messages of one stream


class Turns:
    """One thread for long pieces of work, off the event loop.

    Each stream has at most one piece queued, so that each waits for at most one of every other's.
    """

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading")
        self._locks: dict[str, asyncio.Lock] = {}
        self._there: Counter[str] = Counter()  # streams that wait or have the turn

    @asynccontextmanager
    async def of(self, stream: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(stream, asyncio.Lock())
        self._there[stream] += 1
        try:
            async with lock:
                yield
        finally:
            self._there[stream] -= 1
            if not self._there[stream]:
                del self._there[stream], self._locks[stream]

    def is_taken(self, stream: str) -> bool:
        return stream in self._there

    def is_full(self, stream: str) -> bool:
        return self._there[stream] >= MOST_WAITING

    async def work(self, piece: Callable[[], Found], *, is_long: bool) -> Found:
        """Run a piece of work; a short one takes less time than handing it over."""
        if not is_long:
            return piece()
        begins = self._waits.begin()

        def work() -> Found:
            begins()
            return piece()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            begins()

    def close(self) -> None:
        self._thread.shutdown(wait=True)


class RateLimiter:
    """Remaining seconds of work for each stream: one second is added per second, up to one.

    Work that later turns out to cost more is subtracted afterwards.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}  # seconds, and when they were counted

    def left(self, stream: str) -> float:
        seconds, counted = self._left.get(stream, (1.0, 0.0))
        return min(1.0, seconds + self._now() - counted)

    def spend(self, stream: str, seconds: float) -> bool:
        """Spend work; return whether any was left."""
        allowed = self.left(stream) > 0.0
        if allowed:
            self.owe(stream, seconds)
        return allowed

    def owe(self, stream: str, seconds: float) -> None:
        self._left[stream] = self.left(stream) - seconds, self._now()
