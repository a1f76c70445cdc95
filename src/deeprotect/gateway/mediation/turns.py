"""Turns of streams: of each one piece of work at a time, in order; long ones off the event loop."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

Found = TypeVar("Found")
MOST_WAITING = 64  # messages of one stream


class Turns:
    """One thread for all; no stream has more than one piece before it, so that each waits for one of every other's."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading")
        self._locks: dict[str, asyncio.Lock] = {}
        self._there: Counter[str] = Counter()  # who waits or has the turn

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
        """A short piece takes less time than to hand it over."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, piece) if is_long else piece()

    def close(self) -> None:
        self._thread.shutdown(wait=True)
