"""Held draws side by side: one row for each draw, with what all windows of its episode show."""

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats


def as_rows(held: Floats, counts: Counts, *, longest: int) -> Floats:
    """Noisy codes (window, k) of episodes of so many windows each as (draw, value); a short episode is filled up."""
    if longest == 1:
        return held
    rows = np.zeros((len(counts), longest, held.shape[1]))
    rows[_there(counts, longest)] = held
    return rows.reshape(len(counts), longest * held.shape[1])


def as_windows(rows: Floats, counts: Counts, *, longest: int) -> Floats:
    """The other way."""
    if longest == 1:
        return rows
    return np.asarray(rows.reshape(len(counts), longest, -1)[_there(counts, longest)])


def _there(counts: Counts, longest: int) -> NDArray[np.bool_]:
    return np.asarray(np.arange(longest) < counts[:, None])
