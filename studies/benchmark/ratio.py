"""A ratio against a peer that ran on the same machine in the same minute; no other figure of speed is kept."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

Work = Callable[[], int]
"""Does something and says how many items that was."""
Clock = Callable[[], float]
Quantity = Literal["throughput", "time", "memory"]
Key = tuple[str, str, Quantity]
REPEATS = 5


@dataclass(frozen=True)
class Ratio:
    """`ratio` is ours divided by the peer's: more is better for throughput, less for time and memory."""

    what: str
    peer: str
    quantity: Quantity
    ratio: float

    @property
    def key(self) -> Key:
        return self.what, self.peer, self.quantity

    def times_worse(self, reference: float) -> float:
        """Than a ratio of the same kind; below 1 it is better."""
        return reference / self.ratio if self.quantity == "throughput" else self.ratio / reference

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        return cls(fields["what"], fields["peer"], fields["quantity"], float(fields["ratio"]))


def compare(ours: Work, theirs: Work, *, repeats: int = REPEATS, clock: Clock = time.process_time) -> float:
    """Throughput of ours over theirs. They take turns, and the fastest turn counts: others only ever add time."""
    rates = [(_rate(ours, clock), _rate(theirs, clock)) for _ in range(repeats)]
    return max(our for our, _ in rates) / max(their for _, their in rates)


def _rate(work: Work, clock: Clock) -> float:
    start = clock()
    items = work()
    return items / max(clock() - start, 1e-9)
