"""How much one device may ask of the gateway: a second's worth in each second, whatever it asks for."""

import time
from collections.abc import Callable


class Allowance:
    """Seconds that each stream has left, one at most. What only turns out later to cost more is owed."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}  # seconds, and when they were counted

    def left(self, stream: str) -> float:
        seconds, counted = self._left.get(stream, (1.0, 0.0))
        return min(1.0, seconds + self._now() - counted)

    def spend(self, stream: str, seconds: float) -> bool:
        """Whether there was anything left to spend it from."""
        allowed = self.left(stream) > 0.0
        if allowed:
            self.owe(stream, seconds)
        return allowed

    def owe(self, stream: str, seconds: float) -> None:
        self._left[stream] = self.left(stream) - seconds, self._now()
