"""Playing a table as if it were live: messages at the pace of its time stamps, or faster, to a gateway or a broker."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from uuid import uuid4

import numpy as np

from deeprotect.errors import TableError
from deeprotect.gateway.feeds.recorded import SECOND, Stretch
from deeprotect.gateway.wire.channel_columns import readings_of
from deeprotect.gateway.wire.formats import Form, write
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.signals.schema import Floats, Schema

Send = Callable[[bytes], Awaitable[int]]
"""Brings a message to where it goes; how many readings were taken, or an error that ends the play."""
MOST_ROWS = 1000  # of one message
NAME = "replay"


@dataclass(frozen=True)
class Pace:
    """So many times as fast as it was recorded, a message so many seconds; a table's own time is kept if asked for."""

    speed: float = 1.0
    every: float = 0.2
    keep_time: bool = False


@dataclass
class Played:
    """What was sent, and what was taken of it."""

    recordings: int = 0
    messages: int = 0
    rows: int = 0
    accepted: int = 0
    seconds: float = 0.0


@dataclass
class Player:
    """One run over a table; sessions are called anew in each, for nothing is sent twice under one name."""

    schema: Schema
    form: Form
    send: Send
    pace: Pace
    told: Callable[[], object] = lambda: None  # after each message
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _run: str = field(default_factory=lambda: uuid4().hex)
    _recording: int = 0
    _begun: float = 0.0  # on the monotonic clock, of the recording that is being played
    _base_ns: int = 0
    _last_ns: int = 0

    async def play(self, stretches: Iterable[Stretch], played: Played) -> None:
        """Adds to `played` as it goes, so that it can be told how far it came."""
        started, recording = time.monotonic(), -1
        before = played.seconds
        for stretch in parts(stretches, self.pace.speed * self.pace.every):
            if stretch.number != recording:
                recording = stretch.number
                played.recordings += 1
                self._begin(stretch)
            due = self._begun + float(stretch.seconds[-1]) / self.pace.speed
            await self.sleep(max(0.0, due - time.monotonic()))
            played.accepted += await self.send(self._message(stretch, played.messages))
            played.messages += 1
            played.rows += len(stretch.seconds)
            played.seconds = before + time.monotonic() - started
            self.told()

    def _begin(self, first: Stretch) -> None:
        """A recording begins now, and after whatever was played before."""
        self._begun = time.monotonic()
        self._recording += 1
        if not self.pace.keep_time:
            self._base_ns = max(time.time_ns(), self._last_ns + SECOND)
        elif first.begun_ns is None:
            raise TableError("--keep-time needs a table whose time is UTC, as dates or seconds since 1970")
        else:
            self._base_ns = first.begun_ns

    def _message(self, stretch: Stretch, number: int) -> bytes:
        times = self._base_ns + np.rint(stretch.seconds * SECOND).astype(np.int64)
        self._last_ns = max(self._last_ns, int(times[-1]))
        names, values = self.schema.names, stretch.samples
        columns = {name: values[:, place] for place, name in enumerate(names)}
        readings = readings_of(times, columns, self.schema, sensors={}) if self.form == "sensor-logger" else ()
        session = f"{self._run}-{self._recording}"
        return write(ReleasedWindow(NAME, session, number, names, times, values, readings), self.form)


def parts(stretches: Iterable[Stretch], seconds: float) -> Iterator[Stretch]:
    """The same rows, cut where `seconds` of a recording are full, whatever batches they came in."""
    waiting: list[Stretch] = []
    for stretch in stretches:
        slots = _slots(stretch.seconds, seconds)
        cuts = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
        for start, end in pairwise(cuts):
            part = Stretch(stretch.number, stretch.seconds[start:end], stretch.samples[start:end], stretch.begun_ns)
            if waiting and (_is_full(waiting) or not _same_slot(waiting[0], part, seconds)):
                yield from _joined(waiting)
                waiting = []
            waiting.append(part)
    if waiting:
        yield from _joined(waiting)


def _slots(of: Floats, seconds: float) -> Floats:
    return np.asarray(np.floor(of / seconds))


def _same_slot(first: Stretch, other: Stretch, seconds: float) -> bool:
    return first.number == other.number and bool(
        _slots(first.seconds[:1], seconds) == _slots(other.seconds[:1], seconds)
    )


def _is_full(waiting: list[Stretch]) -> bool:
    return sum(len(each.seconds) for each in waiting) >= MOST_ROWS


def _joined(stretches: list[Stretch]) -> Iterator[Stretch]:
    first = stretches[0]
    seconds = np.concatenate([each.seconds for each in stretches])
    samples = np.concatenate([each.samples for each in stretches])
    for start in range(0, len(seconds), MOST_ROWS):
        end = start + MOST_ROWS
        yield Stretch(first.number, seconds[start:end], samples[start:end], first.begun_ns)
