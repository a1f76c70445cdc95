"""Confidence bounds for a mean of shares, one from each of several independent recordings: fair bets against it.

Whoever says that the mean is m or more must accept stakes on smaller shares. If that is true, no strategy expects to
win, and 1/miss times the stake is won with probability `miss` at most. docs/claims.md#confidence-by-recording
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT = 1 << 30  # ends of intervals are whole multiples of 2^-30, so that they can be checked in integers
_STAKES = np.arange(1, 17) / 16
_CAPITAL = np.append(np.full(15, 1 / 30), 0.5)  # half of it on the last stake, which is all that one has
_MARGIN = 2.0**-20  # asked for beyond 1/miss, as a logarithm: far more than sums of logarithms are off


def upper_ends(shares: Floats, *, miss: float, times: int | Integers = 1) -> Integers:
    """Of the mean of each column of shares (recording, column), in units of 2^-30 and rounded up.

    Each is too small with probability `miss` at most, whatever distributions the recordings have; `times` is how many
    recordings each row stands for.
    """
    low, high = np.zeros(shares.shape[1], dtype=np.int64), np.full(shares.shape[1], UNIT)
    while (low < high).any():  # the capital grows with the mean that is bet against
        middle = (low + high) // 2
        won = _log_capital(shares, middle, times) >= _MARGIN - math.log(miss)
        low, high = np.where(won, low, middle + 1), np.where(won, middle, high)
    return np.minimum(low + 1, UNIT)


def least_end(recordings: int, *, miss: float) -> int:
    """The upper end of a share that no recording shows: no end of so many recordings is smaller."""
    return int(upper_ends(np.zeros((1, 1)), miss=miss, times=recordings)[0])


def _log_capital(shares: Floats, mean: Integers, times: int | Integers) -> Floats:
    """ln Σ_c w_c Π_i (1 − c + c (1 − x_i) / (1 − m)), for each column."""
    with np.errstate(divide="ignore"):
        gain = (1.0 - shares) / np.maximum(1.0 - mean / UNIT, 2.0**-60) - 1.0
        logs = (np.reshape(times, (-1, 1)) * np.log1p(_STAKES[:, None, None] * gain)).sum(axis=1)
    return np.asarray(np.logaddexp.reduce(logs + np.log(_CAPITAL)[:, None], axis=0))
