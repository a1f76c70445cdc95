"""A session's readings on the clock of one schema: windows in order, through gaps and clocks that jump."""

from collections.abc import Iterator

import numpy as np

from deeprotect.errors import InputError
from deeprotect.gateway.streams.assembly import Assembly
from deeprotect.gateway.streams.clock_window import ClockWindow
from deeprotect.gateway.streams.simultaneous import OnTicks, Simultaneous
from deeprotect.gateway.wire.message import Message
from deeprotect.signals.schema import Schema
from deeprotect.signals.ticks import SECOND, Ticks

JUMP_SECONDS = 3.0
"""A step of the stamps by more than this, either way, is a gap or a clock set anew: nothing is bridged across it."""
LONGEST_SECONDS = 600
"""That one message may cover, so that nobody makes a gateway count through years,"""
LONGEST_TICKS = 1 << 19
"""or through a minute of sound."""


class Track:
    """Takes messages as they come; gives windows, in order inside each part, cut `phase` ticks after the clock's."""

    def __init__(self, schema: Schema, *, phase: int = 0) -> None:
        self._schema, self._ticks = schema, Ticks.of(schema.rate_hz, offset=phase)
        self._jump = self._ticks.ticks_in(JUMP_SECONDS)
        self._assembly: Assembly | None = None
        self._part = 0
        self._late = 0

    @property
    def late(self) -> int:
        return self._late + (self._assembly.late if self._assembly else 0)

    @property
    def missing(self) -> tuple[str, ...]:
        """Channels that are awaited; none before anything came."""
        return self._assembly.missing() if self._assembly else ()

    def take(self, message: Message) -> list[ClockWindow]:
        """Windows that are due now."""
        there = (each.only(self._schema.names).numbers() for each in message.readings)
        readings = Simultaneous.of(each for each in there if each.channels and len(each))
        check_span(readings, self._ticks)
        return [window for piece in self._pieces(readings) for window in self._through(piece)]

    def finish(self) -> list[ClockWindow]:
        """What has begun and will not go on."""
        assembly, self._assembly = self._assembly, None
        if assembly is None:
            return []
        self._late += assembly.late
        return list(assembly.due(closing=True))

    def _pieces(self, readings: list[Simultaneous]) -> Iterator[list[Simultaneous]]:
        """The same readings cut where the stamps of all sensors together jump, in order of time."""
        if not readings:
            return
        every = readings[0].times_ns
        if len(readings) > 1:
            every = np.sort(np.concatenate([each.times_ns for each in readings]))
        borders = every[1:][every[1:] - every[:-1] > JUMP_SECONDS * SECOND]
        if not len(borders):
            yield readings
            return
        for low, high in zip([every[0], *borders], [*borders, every[-1] + 1], strict=True):
            parts = (each.where((each.times_ns >= low) & (each.times_ns < high)) for each in readings)
            yield [each for each in parts if len(each.times_ns)]

    def _through(self, readings: list[Simultaneous]) -> Iterator[ClockWindow]:
        on_ticks = [OnTicks(each, self._ticks.nearest(each.times_ns)) for each in readings]
        first, last = min(each.first for each in on_ticks), max(each.last for each in on_ticks)
        assembly = self._assembly
        if assembly is None or first > assembly.newest + self._jump or last < assembly.newest - self._jump:
            set_back = assembly is not None and last < assembly.newest
            yield from self.finish()
            self._part += int(set_back)
            assembly = self._assembly = Assembly(self._schema, self._ticks, first_tick=first, part=self._part)
        for each in on_ticks:
            assembly.push(each)
        yield from assembly.due()


def check_span(readings: list[Simultaneous], ticks: Ticks) -> None:
    """A message is about now, not about a life."""
    if not readings:
        return
    first, last = min(int(each.times_ns[0]) for each in readings), max(int(each.times_ns[-1]) for each in readings)
    longest = min(LONGEST_SECONDS, LONGEST_TICKS * ticks.seconds // ticks.count)
    if last - first > longest * SECOND:
        raise InputError(f"a message covers at most {longest} s; send smaller ones")
