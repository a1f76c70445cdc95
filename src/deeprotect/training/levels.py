"""Levels of numeric inferences: the level of a value, the best guess, and the error of guesses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.policy.sections import Number
from deeprotect.privacy.channel.design import least_error
from deeprotect.signals.schema import Floats

Levels = NDArray[np.object_]


def levels_of(number: Number, values: Floats) -> Levels:
    """Name the level of each value, None for a missing one; values beyond the range get the nearest level."""
    known = np.isfinite(values)
    low, high = number.range
    place = (np.clip(np.where(known, values, low), low, high) - low) / number.step
    levels = np.minimum(place.astype(np.int64), number.levels - 1)
    return np.asarray(np.array([*number.names, None], dtype=object)[np.where(known, levels, -1)])


def medians(shares: Floats, values: Floats) -> NDArray[np.int64]:
    """For each row of shares (row, class), choose the class at the median of the classes' values.

    If the shares are right, no other guess has a smaller expected distance.
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(shares[:, order], axis=1)
    return np.asarray(order[(2 * below < below[:, -1:]).sum(axis=1)])


def distances(truth: NDArray[Any], guess: NDArray[Any]) -> Floats:
    """Distance between levels, given by name."""
    return np.asarray(np.abs(truth.astype(np.float64) - guess.astype(np.float64)))


def median_error(truth: NDArray[Any]) -> float:
    """Mean distance of levels from their median: the error of a guess that sees no data."""
    values = np.sort(truth.astype(np.float64))
    return float(np.abs(values - values[(len(values) - 1) // 2]).mean())


def error_limit(epsilon: float, truth: NDArray[Any]) -> float:
    """Lower bound on the mean error of any guess of these levels from a release under ε-LDP."""
    values, counts = np.unique(truth.astype(np.float64), return_counts=True)
    return least_error(epsilon, counts, values)
