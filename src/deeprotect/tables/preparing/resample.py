"""One stretch without gaps at another rate: means over time for samples, the row in the middle for all else."""

from dataclasses import dataclass

import numpy as np

from deeprotect.errors import InputError
from deeprotect.signals.clock import RATE_TOLERANCE
from deeprotect.signals.resampling import grid, interpolate, middles, slower
from deeprotect.signals.schema import Floats
from deeprotect.tables.cells import Indices
from deeprotect.tables.preparing.piece import Piece


@dataclass(frozen=True)
class Rate:
    """The rate that is asked for, the one that the table has, and the units of its time column in a second."""

    wanted_hz: float
    found_hz: float
    per_second: float

    @property
    def period(self) -> float:
        """From one row to the next at the rate that is asked for, in the unit of the time column."""
        return self.per_second / self.wanted_hz

    def is_above(self, stretch: Piece) -> bool:
        """Whether this stretch has fewer rows in a second than are asked for: some would be made up."""
        span = float(stretch.time[-1] - stretch.time[0])
        return (len(stretch) - 1) * (1 + RATE_TOLERANCE) * self.period < span


def check_rate(wanted_hz: float, found_hz: float, where: str) -> None:
    """Only downwards: samples between samples would be made up."""
    if wanted_hz > (1 + RATE_TOLERANCE) * found_hz:
        raise InputError(
            f"{where}: --rate-hz {wanted_hz:g} is more than its about {found_hz:g} Hz; samples would be made up, so "
            f"give {found_hz:g} or less"
        )


def resample(stretch: Piece, rate: Rate) -> Piece:
    """Rows every 1/wanted_hz from the stretch's first; none where the last one would be cut short."""
    seconds = stretch.time / rate.per_second
    near = rate.wanted_hz > rate.found_hz / (1 + RATE_TOLERANCE)
    steady_hz = rate.wanted_hz if near else rate.found_hz
    at = grid(float(seconds[0]), float(seconds[-1]), steady_hz)
    samples = interpolate(seconds, stretch.samples, at)
    if not near:
        at, samples = at[middles(len(at), steady_hz, rate.wanted_hz)], slower(samples, steady_hz, rate.wanted_hz)
    along = stretch.take(_nearest(seconds, at))
    return Piece(
        along.key, (seconds[0] + np.arange(len(samples)) / rate.wanted_hz) * rate.per_second, samples, along.cells
    )


def _nearest(times: Floats, at: Floats) -> Indices:
    """For each time the row that is nearest to it; times grow."""
    if len(times) == 1:
        return np.zeros(len(at), dtype=np.int64)
    later = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    return np.asarray(later - (at - times[later - 1] < times[later] - at))
