"""Acceleration with gravity: put together from what a phone sends, and taken apart again once it is released."""

from collections.abc import Mapping

import numpy as np

from deeprotect.gateway.wire.sensor_layout import GRAVITY, LINEAR, TOTAL, UNCALIBRATED
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds

Series = tuple[Nanoseconds, Floats]
APART_NS = 100_000_000
"""Gravity changes little in a tenth of a second."""


def total_of(series: Mapping[str, Series]) -> Series | tuple[None, None]:
    """The sensor that has gravity in it, or the sum of the two that are its parts, joined by time stamp."""
    if TOTAL in series:
        return series[TOTAL]
    if LINEAR in series and GRAVITY in series:
        return _sum(series[LINEAR], series[GRAVITY])
    return series.get(UNCALIBRATED, (None, None))


def parts_of_total(released: Floats) -> dict[str, Floats]:
    """Released acceleration (reading, axis) as motion and gravity, which add up to it.

    Gravity is its mean: both parts are functions of the release alone, so that no difference of theirs is raw.
    """
    gravity = np.broadcast_to(released.mean(axis=0, keepdims=True), released.shape) if len(released) else released
    return {LINEAR: released - gravity, GRAVITY: gravity}


def _sum(linear: Series, gravity: Series) -> Series:
    """Pairs that are nearest to each other: each reading goes into one sum at most, and so into one window."""
    (times, values), (stamps, pulls) = _in_order(linear), _in_order(gravity)
    if not len(stamps) or not len(times):
        return times[:0], values[:0]
    nearest = _nearest(stamps, times)
    paired = _nearest(times, stamps)[nearest] == np.arange(len(times))
    paired &= np.abs(stamps[nearest] - times) <= APART_NS
    return times[paired], values[paired] + pulls[nearest[paired]]


def _in_order(series: Series) -> Series:
    order = np.argsort(series[0], kind="stable")
    return series[0][order], series[1][order]


def _nearest(stamps: Nanoseconds, times: Nanoseconds) -> Nanoseconds:
    """The place of the nearest stamp for each time; the one at the very time, where there is one."""
    after = np.clip(np.searchsorted(stamps, times), 1, max(1, len(stamps) - 1))
    before = after - 1
    after = np.minimum(after, len(stamps) - 1)
    return np.where(times - stamps[before] < stamps[after] - times, before, after)
