"""Confidence bounds by betting, for the mean of shares from independent recordings.

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
_CAPITAL = np.append(np.full(15, 1 / 30), 0.5)  # half the capital is on the last stake, which bets everything
_MARGIN = 2.0**-20  # required beyond log(1/miss): far more than the error of sums of logarithms


def upper_ends(shares: Floats, *, miss: float, times: int | Integers = 1) -> Integers:
    """Upper confidence ends for the mean of each column of shares (recording, column), in units of 2^-30, rounded up.

    Each is too small with probability `miss` at most, for any distributions of the recordings; each row counts
    `times` recordings.
    """
    low, high = np.zeros(shares.shape[1], dtype=np.int64), np.full(shares.shape[1], UNIT)
    while (low < high).any():  # the capital grows with the assumed mean
        middle = (low + high) // 2
        won = _log_capital(shares, middle, times) >= _MARGIN - math.log(miss)
        low, high = np.where(won, low, middle + 1), np.where(won, middle, high)
    return np.minimum(low + 1, UNIT)


def least_end(recordings: int, *, miss: float) -> int:
    """The upper end if no recording shows the share at all: the smallest end possible for that many recordings."""
    return int(upper_ends(np.zeros((1, 1)), miss=miss, times=recordings)[0])


def _log_capital(shares: Floats, mean: Integers, times: int | Integers) -> Floats:
    """Returns ln Σ_c w_c Π_i (1 − c + c (1 − x_i) / (1 − m)), for each column."""
    with np.errstate(divide="ignore"):
        gain = (1.0 - shares) / np.maximum(1.0 - mean / UNIT, 2.0**-60) - 1.0
        logs = (np.reshape(times, (-1, 1)) * np.log1p(_STAKES[:, None, None] * gain)).sum(axis=1)
    return np.asarray(np.logaddexp.reduce(logs + np.log(_CAPITAL)[:, None], axis=0))
