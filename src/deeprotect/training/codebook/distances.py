"""Euclidean distances between windows, a block at a time."""

import numpy as np

from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices

CHUNK = 1024
"""Rows of a distance matrix held at a time: with 15,000 windows they take 120 MB."""


def pairwise(left: Floats, right: Floats) -> Floats:
    """(left, right)."""
    return np.asarray(np.sqrt(np.maximum(_squares(left, right), 0.0)))


def nearest(left: Floats, right: Floats) -> Floats:
    """From each left window to the nearest right one."""
    parts = [_squares(left[start : start + CHUNK], right).min(axis=1) for start in range(0, len(left), CHUNK)]
    return np.asarray(np.sqrt(np.maximum(np.concatenate([np.empty(0), *parts]), 0.0)))


def typical_gap(windows: Floats, members: Indices, *, people: Indices) -> float:
    """The median over members of the distance to the nearest window of another person, whatever that one does.

    Within one class there may be hardly anyone else: its few strangers would set a distance that no window can keep.
    """
    gaps = []
    for start in range(0, len(members), CHUNK):
        chunk = members[start : start + CHUNK]
        between = _squares(windows[chunk], windows)
        between[people[chunk, None] == people] = np.inf
        gaps.append(between.min(axis=1))
    return float(np.median(np.sqrt(np.maximum(np.concatenate(gaps), 0.0))))


def _squares(left: Floats, right: Floats) -> Floats:
    """Squared distances, by one product; rounding may leave them a little below zero."""
    squares = left @ (-2 * right.T)
    squares += (left**2).sum(axis=1)[:, None]
    squares += (right**2).sum(axis=1)
    return np.asarray(squares)
