"""Time stamps: the rate they imply, checks that they increase without gaps, and rows in the order of their runs."""

from bisect import bisect_right, insort
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import Argument, TableError, printable
from deeprotect.signals.schema import Floats

GAP_STEPS = 3.0  # a step of more sampling periods than this is a gap
SLACK = 1e-6  # allowance, so that rounding does not make a gap of three periods
RATE_TOLERANCE = 0.2
MOSTLY_FORWARD = 0.7
UNIT_STEPS = 100  # rows from which unit and rate are determined, however the source is cut into batches
PER_SECOND = (1.0, 1e3, 1e6, 1e9)  # s, ms, µs, ns
USUAL_RATES_HZ = (1.0, 500.0)


def rate_of_step(step: float, per_second: float | None = None) -> tuple[float, float] | None:
    """The rate for a step, and units per second; if the unit is unknown, only a plausible sampling rate.

    `per_second` is the number of the column's units per second, if known.
    """
    units = (
        [per_second]
        if per_second is not None
        else [unit for unit in PER_SECOND if USUAL_RATES_HZ[0] <= unit / step <= USUAL_RATES_HZ[1]]
    )
    return (float(f"{units[0] / step:.3g}"), units[0]) if units else None


def usual_step(time: Floats, recording: NDArray[np.int64] | None = None) -> float | None:
    """The median of the forward steps inside recordings; None if there are none."""
    steps = forward_steps(time, recording)
    return median(steps) if len(steps) else None


def median(values: Floats) -> float:
    """Numpy's own imports masked arrays first, which takes longer than to check a small table."""
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def forward_steps(time: Floats, recording: NDArray[np.int64] | None = None) -> Floats:
    """Steps from each stamp to the next of its recording, in row order, or in time order if most rows are shuffled."""
    names = np.zeros(len(time), dtype=np.int64) if recording is None else recording
    for order in (np.argsort(names, kind="stable"), np.lexsort((time, names))):
        steps, same = np.diff(time[order]), np.diff(names[order]) == 0
        forward = steps[same & np.isfinite(steps) & (steps > 0)]
        if len(forward) >= MOSTLY_FORWARD * np.count_nonzero(same):
            break
    return np.asarray(forward)


def nearest_unit(step: float, rate_hz: float) -> float:
    """Units per second (s, ms, µs or ns) for which a step is nearest to one sample."""
    return min(PER_SECOND, key=lambda unit: abs(np.log(step * rate_hz / unit)))


@dataclass
class Clock:
    """Checks time stamps over the batches of one source: increasing, without gaps, at the stated rate."""

    rate_hz: float
    where: str
    per_second: float | None = None  # units of the column; None: inferred from the first steps
    column: str = "time"
    _last: tuple[float, object] | None = field(default=None)
    _first_steps: Floats = field(default_factory=lambda: np.empty(0))

    def check(self, time: Floats, recording: NDArray[np.generic] | None, *, first_row: int) -> None:
        """Check the time stamps of consecutive rows."""
        self._refuse(~np.isfinite(time), "is missing", first_row)
        steps, same = self._steps(time, recording)
        inside = steps if same.all() else steps[same]
        self._learn(inside)
        longest = (GAP_STEPS + SLACK) * (self.per_second or 1.0) / self.rate_hz
        if len(inside) and not (inside.min() > 0 and inside.max() <= longest):  # rarely
            self._refuse(same & (steps <= 0), "does not advance", first_row)
            self._refuse(same & (steps > longest), f"jumps by more than {GAP_STEPS:g} samples", first_row)

    def finish(self) -> None:
        """Check the rate at the end of a source that had too few rows to do so earlier."""
        if len(self._first_steps) < UNIT_STEPS:
            self._check_rate()

    def _steps(self, time: Floats, recording: NDArray[np.generic] | None) -> tuple[Floats, NDArray[np.bool_]]:
        names = np.zeros(len(time), dtype=bool) if recording is None else recording
        last_time, last_name = self._last or (np.nan, object())
        same = np.concatenate([[bool(names[0] == last_name)], names[1:] == names[:-1]])
        self._last = (float(time[-1]), names[-1])
        return np.diff(time, prepend=last_time), same.astype(bool)

    def _learn(self, steps: Floats) -> None:
        if len(self._first_steps) == UNIT_STEPS:
            return
        self._first_steps = np.concatenate([self._first_steps, steps])[:UNIT_STEPS]
        forward = self._first_steps[self._first_steps > 0]
        if self.per_second is None and len(forward):
            self.per_second = nearest_unit(median(forward), self.rate_hz)
        if len(self._first_steps) == UNIT_STEPS:
            self._check_rate()

    def _check_rate(self) -> None:
        forward = self._first_steps[self._first_steps > 0]
        if not len(forward) or self.per_second is None:
            return
        if abs(median(forward) * self.rate_hz / self.per_second - 1) > RATE_TOLERANCE:
            raise TableError(
                f"{self.where}: {self._name} does not advance by {1 / self.rate_hz:g} s per row, which rate_hz = "
                f"{self.rate_hz:g} needs (or the same in ms, µs, ns); correct rate_hz, or resample the table: "
                f"deeprotect prepare --rate-hz {self.rate_hz:g}"
            )

    def _refuse(self, bad: NDArray[np.bool_], what: str, first_row: int) -> None:
        if not bad.any():
            return
        self._check_rate()  # at a wrong rate every step looks like a gap
        raise TableError(
            f"{self.where}: {self._name} {what} at row {first_row + int(np.argmax(bad)) + 1}; give the rows from there "
            f"another `recording` value, or mend the table with `deeprotect prepare`",
            *self._doubt,
        )

    @property
    def _name(self) -> str:
        return "time" if self.column == "time" else f"time (column '{printable(self.column)}')"

    @property
    def _doubt(self) -> tuple[object, ...]:
        """Raises for a column that may only be named like the time."""
        return (
            () if self.column == "time" else (" (or say ", Argument("map", {"time": ""}), " if that is not the time)")
        )


Indices = NDArray[np.int64]
RESTART_ROWS = 20  # this many ordered rows over times already covered are another run of the clock
PROBES = 64


def clock_runs(time: Floats) -> list[Indices]:
    """Groups rows by run of the clock, each in time order.

    Late rows are sorted in between others. But if a long run of rows covers times that earlier long runs cover, the
    clock was reset, and rows before and after the reset belong to different runs.
    """
    if len(time) < 2 or (np.diff(time) >= 0).all():
        return [np.arange(len(time))]
    clocks = [_ClockRun()]
    for rows in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) < 0) + 1):
        if len(rows) >= RESTART_ROWS and clocks[-1].covers(time[rows]):
            clocks.append(_ClockRun())
        clocks[-1].add(rows, time[rows])
    runs = [np.concatenate(clock.rows) for clock in clocks]
    return [rows[np.argsort(time[rows], kind="stable")] for rows in runs]


@dataclass
class _ClockRun:
    """Rows of one run of the clock, and the times that its long stretches cover."""

    rows: list[Indices] = field(default_factory=list)
    _spans: list[tuple[float, float]] = field(default_factory=list)  # sorted

    def add(self, rows: Indices, time: Floats) -> None:
        self.rows.append(rows)
        steps = np.diff(time)
        forward = steps[steps > 0]
        if len(rows) < RESTART_ROWS or not len(forward):
            return
        for stretch in np.split(time, np.flatnonzero(steps > GAP_STEPS * np.median(forward)) + 1):
            insort(self._spans, (float(stretch[0]), float(stretch[-1])))

    def covers(self, time: Floats) -> bool:
        """Whether more than half of these times are covered, judged by a few evenly spaced ones."""
        probes = time[np.linspace(0, len(time) - 1, min(PROBES, len(time))).astype(int)]
        return sum(map(self._has, probes)) > len(probes) / 2

    def _has(self, moment: float) -> bool:
        before = bisect_right(self._spans, (moment, np.inf)) - 1
        return before >= 0 and moment <= self._spans[before][1]
