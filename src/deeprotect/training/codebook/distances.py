"""Euclidean distances between windows, a block at a time."""

import numpy as np

from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices

CHUNK, CELLS = 1024, 1 << 24
"""Rows of a distance matrix held at a time, and numbers in them at most: 128 MB, however many windows there are."""
MEMBERS = 8192
"""Windows of a class that stand for all of them where a median is taken, spread over its recordings."""


def pairwise(left: Floats, right: Floats) -> Floats:
    """(left, right)."""
    return np.asarray(np.sqrt(np.maximum(_squares(left, right), 0.0)))


def nearest(left: Floats, right: Floats) -> Floats:
    """From each left window to the nearest right one."""
    parts = [_squares(left[start : start + CHUNK], right).min(axis=1) for start in range(0, len(left), CHUNK)]
    return np.asarray(np.sqrt(np.maximum(np.concatenate([np.empty(0), *parts]), 0.0)))


def typical_gap(windows: Floats, members: Indices, *, people: Indices) -> float:
    """The median over members of the distance to the nearest window of another person, whatever that one does.

    Of very many members some stand for all, so that the work grows with the windows and not with their square. Within
    one class there may be hardly anyone else: its few strangers would set a distance that no window can keep.
    """
    gaps, rows = [], max(1, min(CHUNK, CELLS // len(windows)))
    if len(members) > MEMBERS:
        members = members[np.linspace(0, len(members) - 1, MEMBERS).astype(np.int64)]
    for start in range(0, len(members), rows):
        chunk = members[start : start + rows]
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
