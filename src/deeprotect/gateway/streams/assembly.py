"""Readings as they come, out of order, twice, late or not at all: put on the clock's grid and cut into windows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deeprotect.gateway.streams.clock_window import ClockWindow, Stamps
from deeprotect.gateway.streams.simultaneous import OnTicks, increases
from deeprotect.signals.clock import GAP_STEPS
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import Nanoseconds, Ticks

GRACE_SECONDS = 2.0  # that a window waits for what is missing, by the stamps of what comes after it
GAP = int(GAP_STEPS)  # ticks between two readings that may be bridged; a file's rows may lie as far apart


class Assembly:
    """One unbroken stretch of a stream; windows come out in order, each once, and never again."""

    def __init__(self, schema: Schema, ticks: Ticks, *, first_tick: int) -> None:
        self._schema, self._ticks = schema, ticks
        self._place = {name: place for place, name in enumerate(schema.names)}
        self._known: dict[tuple[str, ...], list[int]] = {}  # places of channels that are read together
        self._grace = self._ticks.ticks_in(GRACE_SECONDS)
        self._next = -(-first_tick // schema.window)  # window that comes out next: the first that can be whole
        self._first = self._next
        self._base = self._next * schema.window - GAP  # tick of the first row below
        self._rows: Floats = np.full((GAP + schema.window + GAP, len(schema.channels)), np.nan)
        self._came: list[OnTicks] = []  # of which the open windows may have some
        self.newest = first_tick
        self.late = 0

    def push(self, each: OnTicks) -> int:
        """How many are in time; the others belong to windows that are closed."""
        start = self._next * self._schema.window
        earliest = start - GAP if self._next == self._first else start
        if each.first < earliest:
            kept = each.ticks >= earliest
            self.late += int(np.count_nonzero(each.ticks < start)) if self._next > self._first else 0
            if not kept.any():
                return 0
            each = each.where(kept)
        self.newest = max(self.newest, each.last)
        self._make_room()
        rows = each.ticks - self._base
        for readings in each.together.readings:
            self._rows[rows[:, None], self._places(readings.channels)] = readings.values
        self._came.append(each)
        return len(rows)

    def due(self, *, closing: bool = False) -> Iterator[ClockWindow]:
        """Windows that are whole, and those that nothing more is awaited for; when closing, all that have begun."""
        length = self._schema.window
        while (self._next + 1) * length <= self.newest + 1 or (closing and self._next * length <= self.newest):
            samples = self._samples()
            over = closing or self.newest >= (self._next + 1) * length + self._grace
            if samples is None and not over:
                return
            yield ClockWindow(self._next, self._times(), samples, tuple(self._taken()))
            self._advance()

    def missing(self) -> tuple[str, ...]:
        """Channels of which nothing has come in the window that is open."""
        rows = self._open_rows()[GAP : GAP + self._schema.window]
        return tuple(name for place, name in enumerate(self._schema.names) if not np.isfinite(rows[:, place]).any())

    def _places(self, channels: tuple[str, ...]) -> list[int]:
        if channels not in self._known:
            self._known[channels] = [self._place[name] for name in channels]
        return self._known[channels]

    def _samples(self) -> Floats | None:
        """Of the open window, small gaps bridged; None where a channel has a larger one."""
        length = self._schema.window
        rows = self._open_rows()
        own = rows[GAP : GAP + length]
        if np.isfinite(own).all():
            return own.copy()
        columns = [_bridged(column, GAP, GAP + length) for column in rows.T]
        return None if any(column is None for column in columns) else np.stack(columns, axis=1)  # type: ignore[arg-type]

    def _times(self) -> Nanoseconds:
        length = self._schema.window
        return self._ticks.times(self._next * length + np.arange(length, dtype=np.int64))

    def _taken(self) -> Iterator[Stamps]:
        """The stamps of the open window by sensor, each once, in order of time."""
        sources: dict[tuple[str, tuple[str, ...]], tuple[int, ...]] = {}
        for number, each in enumerate(self._came):
            for readings in each.together.readings:
                key = (readings.sensor, readings.channels)
                sources[key] = (*sources.get(key, ()), number)
        joined = {numbers: self._joined(numbers) for numbers in set(sources.values())}
        for (sensor, channels), numbers in sources.items():
            times, ticks = joined[numbers]
            if len(times):
                yield Stamps(sensor, channels, self._places(channels), times, ticks)

    def _joined(self, numbers: tuple[int, ...]) -> tuple[Nanoseconds, NDArray[np.int64]]:
        """Times of some of what came and their ticks, counted from the open window's first, where they are of it."""
        start, end = self._next * self._schema.window, (self._next + 1) * self._schema.window
        some = [self._came[number] for number in numbers]
        times = np.concatenate([each.together.times_ns for each in some])
        ticks = np.concatenate([each.ticks for each in some])
        inside = (ticks >= start) & (ticks < end)
        times, ticks = times[inside], ticks[inside] - start
        if increases(times):
            return times, ticks
        times, places = np.unique(times, return_index=True)
        return times, ticks[places]

    def _open_rows(self) -> Floats:
        """Of the open window, and as many before and after it as may be needed to bridge a gap."""
        start = self._next * self._schema.window - GAP - self._base
        return self._rows[start : start + GAP + self._schema.window + GAP]

    def _advance(self) -> None:
        self._next += 1
        start = self._next * self._schema.window
        self._came = [each for each in self._came if each.last >= start]

    def _make_room(self) -> None:
        """Rows for the newest tick and a window after it; those of windows that are closed make way."""
        first = self._next * self._schema.window - GAP
        rows = self._rows[first - self._base :]
        short = self.newest + 1 + self._schema.window + GAP - first - len(rows)
        self._rows = np.concatenate([rows, np.full((max(0, short), rows.shape[1]), np.nan)])
        self._base = first


def _bridged(column: Floats, start: int, end: int) -> Floats | None:
    """Ticks start to end of a channel, by linear interpolation; None where readings lie too far apart."""
    known = np.flatnonzero(np.isfinite(column))
    if not len(known):
        return None
    around = known[np.searchsorted(known, start, side="right") - 1 if known[0] <= start else 0 :]
    reaches = around[0] <= start and around[-1] >= end - 1
    wide = np.diff(around[: np.searchsorted(around, end - 1) + 1]) > GAP
    if not reaches or wide.any():
        return None
    return np.interp(np.arange(start, end), around, column[around])
