"""One figure of a protector's cost, and the paper's own for comparison."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

BATTERY_PER_PROCESSOR = 2.5 / 3.8
"""The paper measured 2.5 % battery beside 3.8 % processor; there is no battery here to measure."""


@dataclass(frozen=True)
class Overhead:
    """One figure measured at one place, without and with the protector; `added` is the difference, if there is one."""

    place: str
    what: str
    off: float | None
    on: float
    unit: str

    @property
    def added(self) -> float | None:
        return None if self.off is None else self.on - self.off

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"added": self.added}


def processor(place: str, off: float, on: float) -> Iterator[Overhead]:
    yield Overhead(place, "processor time of a second of the stream", 100 * off, 100 * on, "%")
    guess = BATTERY_PER_PROCESSOR * 100
    yield Overhead(place, "battery, estimated from processor time", guess * off, guess * on, "%")


def paper() -> Iterator[Overhead]:
    """As reported of a phone of 2015, with the protector on; measured there, not here."""
    yield Overhead("paper's phone", "processor time of a second of the stream", None, 3.8, "%")
    yield Overhead("paper's phone", "memory of the process", None, 0.6, "MB")
    yield Overhead("paper's phone", "battery", None, 2.5, "%")
