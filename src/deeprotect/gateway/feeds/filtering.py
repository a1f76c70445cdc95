"""A filter for pipes: lines of raw readings in, lines of released ones out, through one live stream.

A line that cannot be parsed or released is reported and left out; raw data is never written or quoted.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

import numpy as np

from deeprotect.errors import DeeprotectError, InputError, WireError
from deeprotect.gateway.wire.line_protocol import write_line
from deeprotect.gateway.wire.records import TIME, Sent, read_text
from deeprotect.gateway.wire.sensor_layout import SensorSettings
from deeprotect.gateway.wire.strict_json import decoded
from deeprotect.gateway.wire.times import write_time
from deeprotect.release.live import LiveStream
from deeprotect.signals.clock import GAP_STEPS, RATE_TOLERANCE, SLACK, median
from deeprotect.signals.schema import Floats, Schema
from deeprotect.signals.ticks import SECOND

LineForm = Literal["line-protocol", "json"]
MOST_BYTES = 1 << 20  # of a line
RATE_STEPS = 50  # steps that determine the input's rate
LATE = "readings that came late, or twice, were left out; if the clock was set back, start the filter again"
_MOST_TOLD = 100  # different errors; each is reported once
_Row = dict[str, float]


@dataclass
class Filter:
    """Readings of one stream, in order of time, each time once; a gap ends a recording and begins the next."""

    live: LiveStream
    schema: Schema
    form: LineForm
    measurement: str
    settings: SensorSettings
    tell: Callable[[str], None]
    now_ns: Callable[[], int] = time.time_ns
    released: int = 0  # released readings
    refused: int = 0  # lines or readings that were not released
    dropped: int = 0
    _waiting: deque[int] = field(default_factory=deque)  # times of readings that wait
    _open: tuple[int, _Row] | None = None  # a reading with some of its channels
    _last: int | None = None
    _steps: list[int] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)

    def run(self, lines: BinaryIO, out: BinaryIO) -> None:
        """Filter to the end of the input, then release the rest; each release is flushed."""
        for line in _lines(lines):
            _write(out, self.take(line))
        _write(out, self.finish())

    def take(self, line: bytes) -> str:
        """Released lines for an input line, often none."""
        try:
            if len(line) > MOST_BYTES:
                raise WireError(f"a line holds at most {MOST_BYTES} bytes; send smaller ones")
            text = decoded(line)
            if not text.strip() or text.startswith("#"):
                return ""
            sent = read_text(text, self.schema, self.settings, came_ns=self.now_ns())
        except WireError as mistake:
            self._refuse(str(mistake))
            return ""
        return "".join(self._reading(stamp, row) for stamp, row in _rows(sent))

    def finish(self) -> str:
        """Release waiting readings at the end of the input."""
        self._close()
        return self._end()

    def _end(self) -> str:
        """End the recording: release waiting readings."""
        self._steps = []
        return self._through(self.live.finish)

    def _reading(self, stamp: int, row: _Row) -> str:
        """Add channels; those of one time may arrive on several lines."""
        if self._open is not None and self._open[0] == stamp:
            row = self._open[1] | row
        else:
            self._close()
        self._open = (stamp, row)
        if len(row) < len(self.schema.names):
            return ""
        self._open = None
        return self._whole(stamp, [row[name] for name in self.schema.names])

    def _close(self) -> None:
        """Complete a reading; one that lacks a channel is refused."""
        if self._open is not None:
            missing = ", ".join(name for name in self.schema.names if name not in self._open[1])
            self._refuse(f"readings without {missing} were left out")
            self._open = None

    def _whole(self, stamp: int, values: list[float]) -> str:
        step = None if self._last is None else stamp - self._last
        if step is not None and step <= 0:
            self._refuse(LATE)
            return ""
        is_gap = step is not None and step > self._longest
        rest = self._end() if is_gap else ""
        self._keep_rate(None if is_gap else step)
        self._last = stamp
        self._waiting.append(stamp)
        return rest + self._through(lambda: self.live.push(values))

    @property
    def _longest(self) -> float:
        return (GAP_STEPS + SLACK) * SECOND / self.schema.rate_hz

    def _keep_rate(self, step: int | None) -> None:
        """Refuse another rate: windows would look like another motion."""
        if step is not None and len(self._steps) < RATE_STEPS and self.settings.time != "arrival":
            self._steps.append(step)
            rate_hz = SECOND / median(np.array(self._steps, dtype=float))
            if len(self._steps) == RATE_STEPS and abs(rate_hz / self.schema.rate_hz - 1) > RATE_TOLERANCE:
                policy = f"the policy is for {self.schema.rate_hz:g} Hz"
                raise InputError(f"readings arrive at {rate_hz:.3g} Hz, but {policy}; resample them first")

    def _through(self, step: Callable[[], Floats]) -> str:
        """Released rows as lines; if anything fails, all waiting rows are dropped and never released."""
        try:
            released = step()
        except DeeprotectError as failure:
            self.dropped += len(self._waiting)
            self._waiting.clear()
            self._say(str(failure))
            return ""
        stamps = [self._waiting.popleft() for _ in range(len(released))]
        self.released += len(stamps)
        return "".join(self._line(stamp, row) for stamp, row in zip(stamps, released.tolist(), strict=True))

    def _line(self, stamp: int, row: list[float]) -> str:
        values = dict(zip(self.schema.names, row, strict=True))
        shown = write_time(stamp, self.settings.time)
        if self.form == "json":
            return json.dumps({TIME: shown, **values}, ensure_ascii=False, allow_nan=False) + "\n"
        return write_line(self.measurement, values, int(shown)) + "\n"

    def _refuse(self, why: str) -> None:
        self.refused += 1
        self._say(why)

    def _say(self, line: str) -> None:
        if line not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(line)
            self.tell(line)


def _rows(sent: Sent) -> Iterator[tuple[int, _Row]]:
    """Rows in order of time; NaN is a missing value."""
    for place in np.argsort(sent.times_ns, kind="stable").tolist():
        values = {name: float(column[place]) for name, column in sent.columns.items()}
        yield int(sent.times_ns[place]), {name: value for name, value in values.items() if np.isfinite(value)}


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Lines, each cut shortly after the maximum length."""
    while line := source.readline(MOST_BYTES + 2):
        yield line
        while not line.endswith(b"\n") and (line := source.readline(MOST_BYTES)):
            continue


def _write(out: BinaryIO, text: str) -> None:
    if text:
        out.write(text.encode())
        out.flush()
