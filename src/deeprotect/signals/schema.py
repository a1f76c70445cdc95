"""Channels with units and public ranges, the schema of a stream, and the refusal of samples that do not fit it.

Messages name rows and columns, never a sample or a figure made from samples: an error text may travel further than
the data.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import PolicyError, TableError, printable


@dataclass(frozen=True, slots=True)
class Channel:
    """A sensor channel; `low` and `high` are public facts (hardware or policy), never read from protected data."""

    name: str
    unit: str
    low: float
    high: float
    resolution: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise PolicyError(
                f"channel '{self.name}': range [{self.low}, {self.high}] must be two finite numbers, low < high"
            )
        if self.resolution is not None and not 0 < self.resolution <= self.high - self.low:
            raise PolicyError(f"channel '{self.name}': resolution must be positive and smaller than the range")


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Schema:
    """A window is `window` samples of all channels; samples arrays are (..., channel)."""

    channels: tuple[Channel, ...]
    rate_hz: float
    window: int

    def __post_init__(self) -> None:
        if not self.channels:
            raise PolicyError("a stream needs at least one channel; add [stream.channels.NAME]")
        if self.window < 1:
            raise PolicyError(f"window = {self.window} must be at least 1 sample")
        if not self.rate_hz > 0:
            raise PolicyError(f"rate_hz = {self.rate_hz} must be positive")
        if not all(math.isfinite(channel.high - channel.low) for channel in self.channels):
            raise PolicyError("a channel's range is too wide to compute with; give the sensor's")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once: live streams use schemas as keys all the time."""
        return hash((self.channels, self.rate_hz, self.window))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(channel.name for channel in self.channels)

    @property
    def dim(self) -> int:
        """The number of values in one window (the paper's dim x)."""
        return self.window * len(self.channels)

    @cached_property
    def low(self) -> Floats:
        return np.array([channel.low for channel in self.channels])

    @cached_property
    def high(self) -> Floats:
        return np.array([channel.high for channel in self.channels])

    @cached_property
    def middle(self) -> Floats:
        """A window (time, channel) in units without information: the middle of the public range."""
        return self.unscale(np.full((self.window, len(self.channels)), 0.5))

    def scale(self, samples: Floats) -> Floats:
        """Clip to the public range and map it to [0, 1]."""
        scaled = np.clip(samples, self.low, self.high)
        scaled -= self.low
        scaled /= self.high - self.low
        return np.asarray(scaled)

    def unscale(self, scaled: Floats) -> Floats:
        """Map [0, 1] back to units, clipped to the range and rounded to the sensor's resolution: post-processing."""
        samples = self.low + np.clip(scaled, 0.0, 1.0) * (self.high - self.low)
        return np.clip(self._snap(samples), self.low, self.high)

    def _snap(self, samples: Floats) -> Floats:
        snapped = samples.copy()
        for resolution, places in self._resolutions:
            steps = np.rint(samples[..., places] / resolution)
            snapped[..., places] = _decimal(steps * resolution, resolution)
        return snapped

    @cached_property
    def _resolutions(self) -> list[tuple[float, slice]]:
        """Known resolutions, each with the neighbouring channels that share it."""
        found, start = [], 0
        for resolution, several in groupby(channel.resolution for channel in self.channels):
            start, first = start + len(list(several)), start
            if resolution is not None:
                found.append((resolution, slice(first, start)))
        return found


def _decimal(values: Floats, resolution: float) -> Floats:
    """Drop the rounding error of steps * resolution, so that 0.30000000000000004 prints as 0.3."""
    return np.round(values, max(0, 3 - int(np.floor(np.log10(resolution)))))


OUTSIDE_SHARE = 0.5  # a larger share outside the public range means a wrong unit, not a saturated sensor


def all_inside(samples: Floats, schema: Schema) -> bool:
    """Whether every sample is a number in the public range, as in nearly all batches; NaN is in no range."""
    return not len(samples) or bool(
        (samples.min(axis=0) >= schema.low).all() and (samples.max(axis=0) <= schema.high).all()
    )


def check_finite(samples: Floats, schema: Schema, *, first_row: int, where: str) -> None:
    """Refuse samples that are not finite numbers."""
    if not len(samples) or np.isfinite([samples.min(), samples.max()]).all():  # NaN makes both NaN
        return
    row, column = np.argwhere(~np.isfinite(samples))[0]
    kind = "infinite" if np.isinf(samples[row, column]) else "missing or not a number"
    raise TableError(
        f"{where}: row {first_row + row + 1}, column '{printable(schema.names[column])}' is {kind}; "
        "drop such rows with `deeprotect prepare`"
    )


def largely_outside(samples: Floats, schema: Schema) -> list[Channel]:
    """Channels that seem to be in another unit: most of their samples lie outside the public range."""
    if all_inside(samples, schema):
        return []
    outside = np.count_nonzero((samples < schema.low) | (samples > schema.high), axis=0)
    return [schema.channels[place] for place in np.flatnonzero(outside > OUTSIDE_SHARE * len(samples))]


def refuse_outside(channel: Channel, where: str) -> None:
    """Refuse, in training and evaluation, tables that would be largely clipped. Releases clip, and never refuse."""
    raise TableError(
        f"{where}: column '{printable(channel.name)}' lies largely outside its public range "
        f"[{channel.low:g}, {channel.high:g}] {printable(channel.unit)}; is it in another unit? "
        "Convert it, or correct unit and range in the policy"
    )
