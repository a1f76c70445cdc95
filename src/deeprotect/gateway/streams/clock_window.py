"""A window on the clock: the samples of its ticks where all are there, and the producer's own time stamps."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.gateway.wire.message import Readings
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds


@dataclass(frozen=True)
class Stamps:
    """When one sensor was read inside a window, and at which of its ticks."""

    sensor: str
    channels: tuple[str, ...]
    places: list[int]  # of these channels in the schema
    times_ns: Nanoseconds
    ticks: NDArray[np.int64]  # counted from the window's first


@dataclass(frozen=True)
class ClockWindow:
    """Window `number` of the clock, counted since 1970; no samples where some are missing."""

    number: int
    times_ns: Nanoseconds  # of its ticks
    samples: Floats | None  # (tick, channel) in units
    stamps: tuple[Stamps, ...]
    part: int = 0  # how often the clock had been set back before it: its draws are not those of before

    def with_values(self, released: Floats) -> Iterator[Readings]:
        """The same readings with values of a released window (tick, channel)."""
        rows: dict[int, Floats] = {}  # by their ticks, which sensors that are read together share
        for each in self.stamps:
            if id(each.ticks) not in rows:
                rows[id(each.ticks)] = released[each.ticks]
            yield Readings(each.sensor, each.channels, each.times_ns, rows[id(each.ticks)][:, each.places])
