"""Refusing rows that cannot be windows: one line that says which row or column, and what to do.

Messages name rows and columns, never sample values: an error text may travel further than the data.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import TableError
from deeprotect.signals.schema import Floats, Schema

OUTSIDE_SHARE = 0.5  # more than this outside the public range: the unit is wrong, not the sensor saturated
GAP_STEPS = 3.0  # a step this many times the sampling period is a gap
RATE_TOLERANCE = 0.2
TIME_UNITS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}


def check_samples(samples: Floats, schema: Schema, *, first_row: int, where: str) -> None:
    """Every sample is a finite number, and most lie inside the public range."""
    _check_finite(samples, schema, first_row, where)
    _check_ranges(samples, schema, where)


def _check_finite(samples: Floats, schema: Schema, first_row: int, where: str) -> None:
    bad = ~np.isfinite(samples)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    kind = "infinite" if np.isinf(samples[row, column]) else "missing or not a number"
    raise TableError(
        f"{where}: row {first_row + row + 1}, column '{schema.names[column]}' is {kind}; "
        "fill it, drop the row, or cut the recording there"
    )


def _check_ranges(samples: Floats, schema: Schema, where: str) -> None:
    if not len(samples):
        return
    outside = np.mean((samples < schema.low) | (samples > schema.high), axis=0)
    worst = int(np.argmax(outside))
    if outside[worst] > OUTSIDE_SHARE:
        channel = schema.channels[worst]
        raise TableError(
            f"{where}: {outside[worst]:.0%} of column '{channel.name}' lies outside its public range "
            f"[{channel.low:g}, {channel.high:g}] {channel.unit}; is it in another unit? "
            "Convert it, or correct unit and range in the policy"
        )


@dataclass
class Clock:
    """Watches time stamps over the batches of one source: forward, without gaps, at the stated rate."""

    rate_hz: float
    where: str
    _per_second: float | None = None
    _last: tuple[float, object] | None = field(default=None)

    def check(self, time: Floats, recording: NDArray[np.generic] | None, *, first_row: int) -> None:
        """Time stamps of consecutive rows, in any of the units of TIME_UNITS."""
        steps, same = self._steps(time, recording)
        if not same.any():
            return
        if self._per_second is None:
            self._per_second = self._unit(float(np.median(steps[same])))
        self._check_steps(steps * self.rate_hz / self._per_second, same, first_row)

    def _steps(self, time: Floats, recording: NDArray[np.generic] | None) -> tuple[Floats, NDArray[np.bool_]]:
        names = np.zeros(len(time), dtype=object) if recording is None else recording
        last_time, last_name = self._last or (np.nan, object())
        steps = np.diff(time, prepend=last_time)
        same = np.concatenate([[bool(names[0] == last_name)], names[1:] == names[:-1]])
        self._last = (float(time[-1]), names[-1])
        return steps, same.astype(bool)

    def _unit(self, median_step: float) -> float:
        for per_second in TIME_UNITS.values():
            if abs(median_step * self.rate_hz / per_second - 1) <= RATE_TOLERANCE:
                return per_second
        raise TableError(
            f"{self.where}: column 'time' advances by {median_step:g} per row, but rate_hz = {self.rate_hz:g} needs "
            f"{1 / self.rate_hz:g} s (or the same in ms, µs, ns); resample the table or correct rate_hz"
        )

    def _check_steps(self, steps: Floats, same: NDArray[np.bool_], first_row: int) -> None:
        for bad, what in (
            (same & ~np.isfinite(steps), "is missing"),
            (same & (steps <= 0), "does not advance"),
            (same & (steps > GAP_STEPS), f"jumps by more than {GAP_STEPS:g} samples"),
        ):
            if bad.any():
                raise TableError(
                    f"{self.where}: time {what} at row {first_row + int(np.argmax(bad)) + 1}; give the rows from there "
                    "another `recording` value, sort them, or resample the table"
                )
