"""A session's readings on the clock of one schema: they come out of order, twice, late or not, and leave as windows.

Each reading belongs to one window, by its own stamp, and a window is made of its own readings and of no other.
docs/claims.md#draws-of-the-gateway
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import InputError
from deeprotect.signals.clock import GAP_STEPS
from deeprotect.signals.readings import Readings
from deeprotect.signals.resampling import run_means
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import SECOND, Nanoseconds, Ticks

JUMP_SECONDS = 3.0
"""A step of the stamps by more than this is a gap: nothing is bridged across it."""
LONGEST_SECONDS = 600
"""That one message may cover, so that nobody makes a gateway count through years,"""
LONGEST_TICKS = 1 << 19
"""or through a minute of sound."""
GRACE_SECONDS = 2.0  # that a window waits for what is missing, by the stamps of what comes after it
STEPS = 16  # between stamps, that tell how far apart readings are
GAP = int(GAP_STEPS)  # ticks from one reading to the next at most; a file's rows may lie as far apart
LARGEST = 1e300
"""No sensor reads as much; a mean beyond it might be no number, and what is there would depend on what is read."""
MOST_PHASE = 1 << 20
_Counted = NDArray[np.int64]
_Sensor = tuple[Any, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class OnTicks:
    """Readings of sensors that are read at the same times, in order of time, each nearest to a tick of the clock.

    What is asked of the times is asked once for all of them.
    """

    readings: tuple[Readings, ...]  # at least one; all at the same times
    ticks: _Counted

    @property
    def times_ns(self) -> Nanoseconds:
        return self.readings[0].times_ns

    def __len__(self) -> int:
        return len(self.ticks) * len(self.readings)

    def where(self, chosen: NDArray[np.bool_] | _Counted | slice) -> "OnTicks":
        """Some of them."""
        return OnTicks(tuple(each.where(chosen) for each in self.readings), self.ticks[chosen])

    def between(self, start: int, end: int) -> "OnTicks":
        """Those of some ticks, `end` not included; possibly none."""
        if self.ticks[0] >= start and self.ticks[-1] < end:
            return self
        return self.where(slice(*np.searchsorted(self.ticks, (start, end)).tolist()))


@dataclass(frozen=True)
class ClockWindow:
    """Window `number` of the clock, counted since 1970; no samples where some are missing."""

    number: int
    times_ns: Nanoseconds  # of its ticks
    samples: Floats | None  # (tick, channel) in units
    own: tuple[OnTicks, ...]  # the producer's readings; ticks are counted from the window's first

    def with_values(self, released: Floats, channels: Sequence[str]) -> Iterator[Readings]:
        """The same readings with values of a released window (tick, channel)."""
        place = {name: place for place, name in enumerate(channels)}
        for each in self.own:
            rows = released[each.ticks]
            for own in each.readings:
                yield Readings(own.sensor, own.channels, own.times_ns, rows[:, [place[name] for name in own.channels]])


def phase_of(stream: str) -> int:
    """Ticks after the clock's own at which a stream's windows and episodes begin: public, by its name alone.

    So that not all streams of a gateway draw in the same instant.
    """
    return int.from_bytes(hashlib.sha256(stream.encode("utf-8", "surrogatepass")).digest()[:4]) % MOST_PHASE


class ByTime:
    """Takes readings as they come; gives windows in order, each once, cut `phase` ticks after the clock's.

    What belongs to a window that is over counts as late, however far back it lies and however often it comes: it was
    sent before, or the device's clock was set back, and no guess is made.
    """

    def __init__(self, schema: Schema, *, phase: int = 0) -> None:
        self._schema, self._ticks = schema, Ticks.of(schema.rate_hz, offset=phase)
        self._jump = self._ticks.ticks_in(JUMP_SECONDS)
        self._stretch: _Stretch | None = None
        self._next = 0  # the first window that is not over, also after a stretch has ended
        self._late, self._newest = 0, 0  # the newest stamp so far
        self._closest: deque[int] = deque(maxlen=STEPS)  # nanoseconds, of the last messages
        self.apart = 0.0  # seconds between stamps, while they are too far apart for a window to be whole
        self.behind = 0.0  # seconds from the last message to the newest reading, if all of it was late

    @property
    def late(self) -> int:
        return self._late + (self._stretch.late if self._stretch else 0)

    @property
    def missing(self) -> tuple[str, ...]:
        """Channels that are awaited; none before anything came."""
        return self._stretch.missing() if self._stretch else ()

    def push(self, sent: Iterable[Readings]) -> list[ClockWindow]:
        """Windows that are due after one message more."""
        there = (each.only(self._schema.names).numbers() for each in sent)
        readings = self._on_ticks(each for each in there if each.channels and len(each))
        self.behind = 0.0
        if not readings:
            return []
        every = np.sort(np.concatenate([each.times_ns for each in readings]))
        longest = min(LONGEST_SECONDS, LONGEST_TICKS * self._ticks.seconds // self._ticks.count)
        if every[-1] - every[0] > longest * SECOND:
            raise InputError(f"a message covers at most {longest} s; send smaller ones")
        late, self._newest = self.late, self._note_steps(every)
        windows = [window for piece in _pieces(readings, every) for window in self._through(piece)]
        if self._stretch and self.late - late == sum(len(each) for each in readings):
            newest = int(self._ticks.times(np.array([self._stretch.newest]))[0])
            self.behind = (newest - int(every[-1])) / SECOND
        if windows:
            self.apart = 0.0 if any(each.samples is not None for each in windows) else self._far_apart()
        return windows

    def _note_steps(self, every: Nanoseconds) -> int:
        """How close stamps are, by what is new; the newest of all."""
        steps = np.diff(every[every > self._newest], prepend=self._newest) if self._newest else np.diff(every)
        if (steps > 0).any():
            self._closest.append(int(steps[steps > 0].min()))
        return max(self._newest, int(every[-1]))

    def _far_apart(self) -> float:
        """Seconds, if none of the last steps was short enough to be bridged."""
        closest = min(self._closest, default=0)
        is_far = len(self._closest) > 2 and closest > GAP * self._ticks.seconds * SECOND // self._ticks.count
        return closest / SECOND if is_far else 0.0

    def finish(self) -> list[ClockWindow]:
        """What has begun and will not go on."""
        stretch, self._stretch = self._stretch, None
        if stretch is None:
            return []
        windows = list(stretch.due(closing=True))
        self._late, self._next = self._late + stretch.late, stretch.next
        return windows

    def _on_ticks(self, readings: Iterable[Readings]) -> list[OnTicks]:
        """By their array of times, in the order of their first; the same times in two arrays count as different."""
        by_times: dict[int, list[Readings]] = {}
        for each in readings:
            by_times.setdefault(id(each.times_ns), []).append(each)
        together = (OnTicks(tuple(some), self._ticks.nearest(some[0].times_ns)) for some in by_times.values())
        return [
            each if _increases(each.times_ns) else each.where(np.argsort(each.times_ns, kind="stable"))
            for each in together
        ]

    def _through(self, readings: list[OnTicks]) -> Iterator[ClockWindow]:
        first, stretch = min(int(each.ticks[0]) for each in readings), self._stretch
        if stretch is None or first > stretch.newest + self._jump:
            yield from self.finish()
            stretch = self._stretch = _Stretch(self._schema, self._ticks, first_tick=first, over=self._next)
        for each in readings:
            stretch.push(each)
        yield from stretch.due()


class _Stretch:
    """One unbroken stretch of a stream; windows come out in order, each once, and never again.

    When a window comes out is told by stamps alone, those of later readings included: no value has a say in it.
    """

    def __init__(self, schema: Schema, ticks: Ticks, *, first_tick: int, over: int) -> None:
        self._schema, self._ticks = schema, ticks
        self._place = {name: place for place, name in enumerate(schema.names)}
        self._grace = ticks.ticks_in(GRACE_SECONDS)
        self._begun = max(first_tick, over * schema.window)  # what comes before it is late
        self.next = self._first = max(over, -(-first_tick // schema.window))  # the first that can be whole
        self._came: list[OnTicks] = []  # of which the open windows may have some
        self._early: set[str] = set()  # channels that came before the first window begins
        self.newest = first_tick
        self.late = 0

    @property
    def _start(self) -> int:
        return self.next * self._schema.window

    def push(self, each: OnTicks) -> None:
        """Those that belong to a window that is closed are counted, and nothing else."""
        own = each.between(self._start, int(each.ticks[-1]) + 1)
        is_new = self.next == self._first
        if is_new and len(own.ticks) < len(each.ticks):
            self._early.update(name for readings in each.readings for name in readings.channels)
        over = self._begun if is_new else self._start
        self.late += int(np.searchsorted(each.ticks, over)) * len(each.readings)
        if len(own.ticks):
            self.newest = max(self.newest, int(own.ticks[-1]))
            self._came.append(own)

    def due(self, *, closing: bool = False) -> Iterator[ClockWindow]:
        """Windows that are whole, and those that nothing more is awaited for; when closing, all that have begun."""
        length = self._schema.window
        while self._start + length <= self.newest + 1 or (closing and self._start <= self.newest):
            over = closing or self.newest >= self._start + length + self._grace
            if not (over or self._is_whole()):
                return
            own = self._own()
            times = self._ticks.times(self._start + np.arange(length, dtype=np.int64))
            yield ClockWindow(self.next, times, window_samples(own, self._place, window=length), own)
            self.next += 1
            self._came = [each for each in self._came if each.ticks[-1] >= self._start]

    def missing(self) -> tuple[str, ...]:
        """Channels of which nothing has come in the window that is open."""
        there = {name for each in self._own() for readings in each.readings for name in readings.channels}
        there |= self._early if self.next == self._first else set()
        return tuple(name for name in self._schema.names if name not in there)

    def _is_whole(self) -> bool:
        """Whether the stamps of every channel go through the open window, and none of it can be still to come."""
        length = self._schema.window
        ticks: dict[str, list[_Counted]] = {name: [] for name in self._place}
        for each in self._came:
            near = each.between(self._start, self._start + length + GAP).ticks - self._start
            for name in (name for readings in each.readings for name in readings.channels):
                ticks[name].append(near)
        different = {tuple(map(id, some)): some for some in ticks.values()}  # channels that are read together, once
        return all(_reaches(some, window=length) for some in different.values())

    def _own(self) -> tuple[OnTicks, ...]:
        """The readings of the open window by sensor, each once, in order of time."""
        start, end = self._start, self._start + self._schema.window
        came = [part for each in self._came if len((part := each.between(start, end)).ticks)]
        by_sensor: dict[_Sensor, list[tuple[int, Readings]]] = {}
        for number, each in enumerate(came):
            for readings in each.readings:
                by_sensor.setdefault((readings.sensor, readings.channels), []).append((number, readings))
        together: dict[tuple[int, ...], list[list[Readings]]] = {}  # sensors that came in the same pieces
        for some in by_sensor.values():
            together.setdefault(tuple(number for number, _ in some), []).append([readings for _, readings in some])
        return tuple(_joined([came[n] for n in numbers], some, start=start) for numbers, some in together.items())


def _pieces(readings: list[OnTicks], every: Nanoseconds) -> Iterator[list[OnTicks]]:
    """The same readings cut where the stamps of all sensors together jump, in order of time."""
    borders = every[1:][every[1:] - every[:-1] > JUMP_SECONDS * SECOND]
    if not len(borders):
        yield readings
        return
    for low, high in zip([every[0], *borders], [*borders, every[-1] + 1], strict=True):
        parts = (each.where((each.times_ns >= low) & (each.times_ns < high)) for each in readings)
        yield [each for each in parts if len(each.ticks)]


def _joined(pieces: Sequence[OnTicks], sensors: Sequence[Sequence[Readings]], *, start: int) -> OnTicks:
    """What came in pieces, ticks counted from `start`: of readings with one stamp, the first to come."""
    times = np.concatenate([each.times_ns for each in pieces])
    ticks = np.concatenate([each.ticks for each in pieces]) - start
    order = slice(None) if _increases(times) else np.unique(times, return_index=True)[1]
    times = times[order]
    values = (np.concatenate([each.values for each in some])[order] for some in sensors)
    named = ((some[0].sensor, some[0].channels) for some in sensors)
    return OnTicks(tuple(Readings(*who, times, own) for who, own in zip(named, values, strict=True)), ticks[order])


def window_samples(own: Sequence[OnTicks], place: Mapping[str, int], *, window: int) -> Floats | None:
    """(tick, channel): the mean of a tick's readings, as `prepare` averages; None where a channel lacks too many.

    Ticks without a reading lie on a straight line between their neighbours in the window; at its edges the nearest
    reading is repeated. Up to two ticks in a row may be without.
    """
    rows = np.full((window, len(place)), np.nan)
    for each in own:
        starts = np.flatnonzero(np.diff(each.ticks, prepend=-1))
        for readings in each.readings:
            columns = [place[name] for name in readings.channels]
            means = run_means(np.clip(readings.values, -LARGEST, LARGEST), starts)
            rows[each.ticks[starts][:, None], columns] = means
    if not np.isfinite(rows).all():
        for column in rows.T:
            _bridge(column)
    return rows if np.isfinite(rows).all() else None


def _bridge(column: Floats) -> None:
    """Close the gaps of a channel, in place; not where one is too wide, or all is missing."""
    known = np.flatnonzero(np.isfinite(column))
    if len(known) and (np.diff(known, prepend=-1, append=len(column)) <= GAP).all():
        column[:] = np.interp(np.arange(len(column)), known, column[known])


def _reaches(ticks: Sequence[_Counted], *, window: int) -> bool:
    """Whether stamps of one channel, at ticks from a window's first, go through it without a gap and beyond its end.

    Where each tick of the window has its one stamp, nothing beyond is waited for. A faster device may have more to say
    about the last tick, and about an only one.
    """
    every = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *ticks]))
    inside = every[: np.searchsorted(every, window)]
    if len(inside) == window > 1 and (inside[1:] > inside[:-1]).all():
        return True
    there = np.concatenate([[-1], every[: len(inside) + 1]])
    return len(inside) > 0 and len(every) > len(inside) and bool((np.diff(there) <= GAP).all())


def _increases(times_ns: Nanoseconds) -> bool:
    """Each later than the one before, which they mostly are."""
    return bool((times_ns[1:] > times_ns[:-1]).all())
