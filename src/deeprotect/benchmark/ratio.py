"""A ratio against a peer that ran on the same machine in the same minute; no other figure of speed is kept."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Work = Callable[[], int]
"""Does something and says how many items that was."""
Clock = Callable[[], float]
Quantity = Literal["throughput", "time", "memory"]
REPEATS = 5


@dataclass(frozen=True)
class Ratio:
    """`ratio` is ours divided by the peer's: more is better for throughput, less for time and memory."""

    what: str
    peer: str
    quantity: Quantity
    ratio: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(ours: Work, theirs: Work, *, repeats: int = REPEATS, clock: Clock = time.process_time) -> float:
    """Throughput of ours over theirs. They take turns, and the fastest turn counts: others only ever add time."""
    rates = [(_rate(ours, clock), _rate(theirs, clock)) for _ in range(repeats)]
    return max(our for our, _ in rates) / max(their for _, their in rates)


def _rate(work: Work, clock: Clock) -> float:
    start = clock()
    items = work()
    return items / max(clock() - start, 1e-9)
