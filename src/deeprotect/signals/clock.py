"""Time stamps: the rate they show, and a watch that they run forward without gaps."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import TableError
from deeprotect.signals.schema import Floats

GAP_STEPS = 3.0  # a step this many times the sampling period is a gap
RATE_TOLERANCE = 0.2
UNIT_STEPS = 100  # that tell the unit; so few that it cannot matter how long the first batch happens to be
PER_SECOND = (1.0, 1e3, 1e6, 1e9)  # s, ms, µs, ns
USUAL_RATES_HZ = (1.0, 500.0)


def rate_of(time: Floats) -> float | None:
    """The rate of a time column whose unit is not known, or None where it shows none that is usual for sensors."""
    steps = np.diff(time)
    steps = steps[np.isfinite(steps) & (steps > 0)]
    if not len(steps):
        return None
    rates = [per_second / float(np.median(steps)) for per_second in PER_SECOND]
    usual = [rate for rate in rates if USUAL_RATES_HZ[0] <= rate <= USUAL_RATES_HZ[1]]
    return float(f"{usual[0]:.3g}") if usual else None


@dataclass
class Clock:
    """Watches time stamps over the batches of one source: forward, without gaps, at the stated rate."""

    rate_hz: float
    where: str
    _per_second: float | None = None
    _last: tuple[float, object] | None = field(default=None)

    def check(self, time: Floats, recording: NDArray[np.generic] | None, *, first_row: int) -> None:
        """Time stamps of consecutive rows, in s, ms, µs or ns."""
        steps, same = self._steps(time, recording)
        if not same.any():
            return
        known = steps[same & np.isfinite(steps)][:UNIT_STEPS]
        if self._per_second is None and len(known):
            self._per_second = self._unit(float(np.median(known)))
        self._check_steps(steps * self.rate_hz / (self._per_second or 1.0), same, first_row)

    def _steps(self, time: Floats, recording: NDArray[np.generic] | None) -> tuple[Floats, NDArray[np.bool_]]:
        names = np.zeros(len(time), dtype=object) if recording is None else recording
        last_time, last_name = self._last or (np.nan, object())
        with np.errstate(invalid="ignore"):  # between two infinities; it is found to be missing
            steps = np.diff(time, prepend=last_time)
        same = np.concatenate([[bool(names[0] == last_name)], names[1:] == names[:-1]])
        self._last = (float(time[-1]), names[-1])
        return steps, same.astype(bool)

    def _unit(self, median_step: float) -> float:
        for per_second in PER_SECOND:
            if abs(median_step * self.rate_hz / per_second - 1) <= RATE_TOLERANCE:
                return per_second
        raise TableError(
            f"{self.where}: column 'time' does not advance by {1 / self.rate_hz:g} s per row, which rate_hz = "
            f"{self.rate_hz:g} needs (or the same in ms, µs, ns); resample the table or correct rate_hz"
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
