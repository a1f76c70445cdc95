"""Levels of an inference that is a number: which one a value is of, which one to guess, and how far off guesses are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.policy.sections import Number
from deeprotect.privacy.channel.design import least_error
from deeprotect.signals.schema import Floats

Levels = NDArray[np.object_]


def levels_of(number: Number, values: Floats) -> Levels:
    """The name of each value's level, None where there is no value; beyond the range, the level at that end."""
    known = np.isfinite(values)
    low, high = number.range
    place = (np.clip(np.where(known, values, low), low, high) - low) / number.step
    levels = np.minimum(place.astype(np.int64), number.levels - 1)
    return np.asarray(np.array([*number.names, None], dtype=object)[np.where(known, levels, -1)])


def medians(shares: Floats, values: Floats) -> NDArray[np.int64]:
    """Of each row of shares (row, class), the class at the median of what the classes stand for.

    No other guess has a smaller expected distance, where the shares are right.
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(shares[:, order], axis=1)
    return np.asarray(order[(2 * below < below[:, -1:]).sum(axis=1)])


def distances(truth: NDArray[Any], guess: NDArray[Any]) -> Floats:
    """Between levels, by their names."""
    return np.asarray(np.abs(truth.astype(np.float64) - guess.astype(np.float64)))


def median_error(truth: NDArray[Any]) -> float:
    """Mean distance of levels from their own median: what a guess that sees nothing is off by."""
    values = np.sort(truth.astype(np.float64))
    return float(np.abs(values - values[(len(values) - 1) // 2]).mean())


def error_limit(epsilon: float, truth: NDArray[Any]) -> float:
    """What nobody's guesses of these levels can be off by less, on average, from a release under ε-LDP."""
    values, counts = np.unique(truth.astype(np.float64), return_counts=True)
    return least_error(epsilon, counts, values)
