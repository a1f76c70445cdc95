"""Readings as they come, out of order, twice, late or not at all: each belongs to one window, by its own stamp."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deeprotect.gateway.streams.clock_window import ClockWindow, Stamps
from deeprotect.gateway.streams.simultaneous import OnTicks, increases
from deeprotect.gateway.streams.window_samples import GAP, OwnReadings, reaches, window_samples
from deeprotect.signals.schema import Schema
from deeprotect.signals.ticks import Nanoseconds, Ticks

GRACE_SECONDS = 2.0  # that a window waits for what is missing, by the stamps of what comes after it


class Assembly:
    """One unbroken stretch of a stream; windows come out in order, each once, and never again.

    What a window holds is made of its own readings. When it comes out is told by stamps alone, those of later readings
    included: no value of a reading has a say in it.
    """

    def __init__(self, schema: Schema, ticks: Ticks, *, first_tick: int, part: int = 0) -> None:
        self._schema, self._ticks, self._part = schema, ticks, part
        self._place = {name: place for place, name in enumerate(schema.names)}
        self._known: dict[tuple[str, ...], list[int]] = {}  # places of channels that are read together
        self._grace = self._ticks.ticks_in(GRACE_SECONDS)
        self._next = -(-first_tick // schema.window)  # window that comes out next: the first that can be whole
        self._first = self._next
        self._came: list[OnTicks] = []  # of which the open windows may have some
        self.newest = first_tick
        self.late = 0

    def push(self, each: OnTicks) -> None:
        """Those that belong to a window that is closed are counted, and nothing else."""
        start = self._next * self._schema.window
        own = each.between(start, each.last + 1)
        self.late += len(each.ticks) - len(own.ticks) if self._next > self._first else 0
        if len(own.ticks):
            self.newest = max(self.newest, own.last)
            self._came.append(own)

    def due(self, *, closing: bool = False) -> Iterator[ClockWindow]:
        """Windows that are whole, and those that nothing more is awaited for; when closing, all that have begun."""
        length = self._schema.window
        while (self._next + 1) * length <= self.newest + 1 or (closing and self._next * length <= self.newest):
            over = closing or self.newest >= (self._next + 1) * length + self._grace
            if not (over or self._is_whole()):
                return
            own = list(self._own())
            stamps = tuple(Stamps(each.sensor, each.channels, each.places, each.times_ns, each.ticks) for each in own)
            samples = window_samples(own, window=length, channels=len(self._schema.channels))
            yield ClockWindow(self._next, self._times(), samples, stamps, self._part)
            self._advance()

    def missing(self) -> tuple[str, ...]:
        """Channels of which nothing has come in the window that is open."""
        there = {name for each in self._own() for name in each.channels}
        return tuple(name for name in self._schema.names if name not in there)

    def _is_whole(self) -> bool:
        """Whether the stamps of every channel go through the open window, and none of it can be still to come."""
        start, length = self._next * self._schema.window, self._schema.window
        ticks: dict[int, list[NDArray[np.int64]]] = {place: [] for place in self._place.values()}
        for each in self._came:
            near = each.between(start, start + length + GAP).ticks - start
            for readings in each.together.readings:
                for place in self._places(readings.channels):
                    ticks[place].append(near)
        known: dict[tuple[int, ...], bool] = {}  # channels that are read together are looked at once
        for some in ticks.values():
            key = tuple(map(id, some))
            if key not in known:
                known[key] = reaches(some, window=length)
        return all(known.values())

    def _own(self) -> Iterator[OwnReadings]:
        """The readings of the open window by sensor, each once, in order of time."""
        start = self._next * self._schema.window
        came = [part for each in self._came if len((part := each.between(start, start + self._schema.window)).ticks)]
        sources: dict[tuple[str, tuple[str, ...]], tuple[tuple[int, int], ...]] = {}
        for number, each in enumerate(came):
            for place, readings in enumerate(each.together.readings):
                key = (readings.sensor, readings.channels)
                sources[key] = (*sources.get(key, ()), (number, place))
        joined: dict[tuple[int, ...], tuple[Nanoseconds, NDArray[np.int64], NDArray[np.int64] | None]] = {}
        for (sensor, channels), places in sources.items():
            numbers = tuple(number for number, _ in places)
            if numbers not in joined:
                joined[numbers] = _joined([came[number] for number in numbers], start)
            times, ticks, order = joined[numbers]
            values = np.concatenate([came[number].together.readings[place].values for number, place in places])
            values = values if order is None else values[order]
            yield OwnReadings(sensor, channels, self._places(channels), times, ticks, values)

    def _places(self, channels: tuple[str, ...]) -> list[int]:
        if channels not in self._known:
            self._known[channels] = [self._place[name] for name in channels]
        return self._known[channels]

    def _times(self) -> Nanoseconds:
        length = self._schema.window
        return self._ticks.times(self._next * length + np.arange(length, dtype=np.int64))

    def _advance(self) -> None:
        self._next += 1
        start = self._next * self._schema.window
        self._came = [each for each in self._came if each.last >= start]


def _joined(some: list[OnTicks], start: int) -> tuple[Nanoseconds, NDArray[np.int64], NDArray[np.int64] | None]:
    """Times and ticks from `start` of what came in pieces, and which of the readings: of a stamp, the first to come."""
    times = np.concatenate([each.together.times_ns for each in some])
    ticks = np.concatenate([each.ticks for each in some]) - start
    if increases(times):
        return times, ticks, None
    times, order = np.unique(times, return_index=True)
    return times, ticks[order], order
