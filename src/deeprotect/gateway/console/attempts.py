"""How often somebody may try to sign in: a few times, then they wait."""

import time
from collections import deque
from collections.abc import Callable

MOST_FAILURES = 10
SECONDS = 60.0
MOST_CLIENTS = 10_000


class Attempts:
    """Failures of each client in the last minute; of one process, and forgotten with it."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures: dict[str, deque[float]] = {}

    def wait(self, client: str) -> float:
        """Seconds until this client may try again; 0 for at once."""
        recent = self._recent(client)
        return recent[0] + SECONDS - self._now() if len(recent) >= MOST_FAILURES else 0.0

    def failed(self, client: str) -> None:
        if len(self._failures) >= MOST_CLIENTS:
            self._failures = {name: times for name in list(self._failures) if (times := self._recent(name))}
        self._failures.setdefault(client, deque(maxlen=MOST_FAILURES)).append(self._now())

    def succeeded(self, client: str) -> None:
        self._failures.pop(client, None)

    def _recent(self, client: str) -> deque[float]:
        times = self._failures.get(client, deque())
        while times and times[0] <= self._now() - SECONDS:
            times.popleft()
        return times
