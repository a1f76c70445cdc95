"""Where the time went: seconds of each stage of an experiment."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up the seconds of named stages; a stage inside another is taken off the outer one."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner = [0.0]

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            self.seconds[stage] += passed - self._inner.pop()  # type: ignore[assignment]
            self._inner[-1] += passed
