"""The delay of messages in this process, and a limit on it: the waiting time is bounded."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LAG_SECONDS = 0.1  # between two measurements of the event loop's lag
RECENT_SECONDS = 1.0  # that a wait counts after it has ended
REFUSING_SECONDS = 5.0  # that the last refusal counts


class Waits:
    """The longest of the current and recent waits."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._over: deque[tuple[float, float]] = deque(maxlen=1024)  # end and length of each wait
        self._begun: dict[object, float] = {}

    def begin(self) -> Callable[[], None]:
        """Start a wait; call the result to end it."""
        key = object()
        self._begun[key] = self._now()

        def over() -> None:
            if (began := self._begun.pop(key, None)) is not None:
                self.note(self._now() - began)

        return over

    @contextmanager
    def one(self) -> Iterator[None]:
        over = self.begin()
        try:
            yield
        finally:
            over()

    def note(self, seconds: float) -> None:
        now = self._now()
        while self._over and self._over[0][0] < now - RECENT_SECONDS:
            self._over.popleft()
        self._over.append((now, seconds))

    @property
    def longest(self) -> float:
        now = self._now()
        recent = (seconds for at, seconds in self._over.copy() if at >= now - RECENT_SECONDS)
        return max((0.0, *recent, *(now - began for began in self._begun.copy().values())))


class Load:
    """A message waits for the event loop, for the parsing thread, and for the batch before its own."""

    def __init__(self, most: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self.loop, self.reading, self.releasing = Waits(now), Waits(now), Waits(now)
        self._refused = -REFUSING_SECONDS

    @property
    def delay(self) -> float:
        """Expected waiting time, in seconds, of a message that arrives now, judging by others."""
        return self.loop.longest + self.reading.longest + self.releasing.longest

    def refusal(self) -> str | None:
        """Why another message is refused; half of the bound is reserved for messages on their way."""
        if (delay := self.delay) <= self._most / 2:
            return None
        self._refused = self._now()
        return f"overloaded: it would wait {delay:.1f} s; send it again in a few seconds, or send less"

    @property
    def trouble(self) -> str | None:
        """The problem while messages are refused, and for a few seconds afterwards."""
        if self._now() - self._refused >= REFUSING_SECONDS and self.delay <= self._most / 2:
            return None
        return "overloaded: messages are refused; start a second gateway, or send less"

    async def watch(self, tell: Callable[[str | None], None]) -> None:
        """Measure the event loop's lag, until cancelled: a socket with new data waits as long."""
        while True:
            due = self._now() + LAG_SECONDS
            await asyncio.sleep(LAG_SECONDS)
            self.loop.note(max(0.0, self._now() - due))
            tell(self.trouble)
