"""Resampling: irregular time stamps to a regular grid, and a regular grid to a lower rate."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats


def forward_only(times: Floats) -> NDArray[np.bool_]:
    """Which rows to keep so that time strictly increases.

    A logger that steps back in time repeats or reorders what it already wrote; rows that are not later than
    everything before them are dropped, never sorted in, because their true place is unknown.
    """
    latest_before = np.maximum.accumulate(np.concatenate([[-np.inf], times[:-1]]))
    return np.asarray(times > latest_before)


def monotone_segments(times: Floats, longest_gap: float) -> Iterator[NDArray[np.int64]]:
    """Row numbers of each run that may be interpolated: time increases, and by no more than the gap.

    A pause longer than `longest_gap` starts a new run, and so does a step back by more than it (the logger's
    clock was reset). Rows of a smaller step back are dropped, as `forward_only` says.
    """
    borders = np.flatnonzero(np.abs(np.diff(times)) > longest_gap) + 1
    for run in np.split(np.arange(len(times)), borders):
        kept = run[forward_only(times[run])]
        if len(kept):
            yield kept


def grid(start: float, stop: float, rate_hz: float) -> Floats:
    """Times from `start`, one every 1/rate_hz, none after `stop`."""
    if stop < start:
        return np.empty(0)
    # The small allowance keeps the last sample when (stop - start) * rate is an integer up to rounding.
    count = int(np.floor((stop - start) * rate_hz + 1e-9)) + 1
    return start + np.arange(count) / rate_hz


def interpolate(times: Floats, samples: Floats, at: Floats) -> Floats:
    """Linear interpolation of every channel; `samples` is (row, channel), and times strictly increase."""
    columns = [np.interp(at, times, samples[:, channel]) for channel in range(samples.shape[1])]
    return np.stack(columns, axis=1) if columns else np.empty((len(at), 0))


def slower(samples: Floats, rate_hz: float, new_rate_hz: float) -> Floats:
    """Regular rows (row, channel) at a lower rate: each new row is the mean over its own time cell.

    The mean over the cell is the anti-aliasing filter. For an integer factor it is the block mean; for
    another factor a row on a border counts for the part of it that lies inside. An incomplete last
    cell is dropped.
    """
    factor = rate_hz / new_rate_hz
    if abs(factor - round(factor)) < 1e-9:
        return block_mean(samples, round(factor))
    count = int(np.floor(len(samples) / factor + 1e-9))
    borders = np.arange(count + 1, dtype=np.float64) * factor
    total = np.concatenate([np.zeros((1, samples.shape[1])), np.cumsum(samples, axis=0)])
    return np.diff(interpolate(np.arange(len(total), dtype=float), total, borders), axis=0) / factor


def block_mean(samples: Floats, factor: int) -> Floats:
    """The mean of each `factor` rows; an incomplete last block is dropped."""
    count = len(samples) // factor
    return np.asarray(samples[: count * factor].reshape(count, factor, samples.shape[1]).mean(axis=1))


def run_means(samples: Floats, starts: NDArray[np.int64]) -> Floats:
    """The mean of the rows from each start up to the next, so many in each time cell; even runs are blocks."""
    counts = np.diff(starts, append=len(samples))
    if (counts == counts[:1]).all():
        return block_mean(samples, int(counts[0]))
    return np.asarray(np.add.reduceat(samples, starts, axis=0) / counts[:, None])


def middles(count: int, rate_hz: float, new_rate_hz: float) -> NDArray[np.int64]:
    """For each row of `slower`, the source row in the middle of its cell, from which labels are taken."""
    factor = rate_hz / new_rate_hz
    new_count = int(np.floor(count / factor + 1e-9))
    return np.asarray((np.arange(new_count) + 0.5) * factor).astype(np.int64)
