"""Segments of equal neighbours: the number of the segment that each row lies in, and its place there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def segment_numbers(*columns: NDArray[Any]) -> Indices:
    """The number of each row's segment, from 0; a segment ends where any of the columns changes."""
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.concatenate([[0], np.cumsum(changes)])[: len(columns[0])].astype(np.int64)


def place_in(segment: Indices) -> Indices:
    """How many rows of the same segment stand before each; segments are numbered in order."""
    return np.arange(len(segment)) - np.searchsorted(segment, segment)


def rank_in_group(groups: Indices) -> Indices:
    """0 for the first of each group, 1 for the second, … in the order given; groups need not stand together."""
    order = np.argsort(groups, kind="stable")
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = place_in(groups[order])
    return ranks
