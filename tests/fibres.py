"""Windows that an erasing layer must not tell apart: those of equal y, worked out in fractions."""

from fractions import Fraction

import numpy as np

from deeprotect.bundle.layers.erasing import MIDDLE, ONE, WINDOW_BITS

STEPS = 1 << WINDOW_BITS


def windows(steps):
    """Scaled, of steps from 0 to 2^15."""
    return np.asarray(steps) / STEPS


def moves(erase, pivots):
    """What pivots, in steps around the middle, move the other places by: in fractions, halves to the even number."""
    return [
        round(sum((Fraction(int(by)) * int(p) for by, p in zip(column, pivots, strict=True)), Fraction(0)) / ONE)
        for column in erase.others.T
    ]


def neighbours(erase, random, *, count=20, furthest=2000):
    """Windows, and others of equal y: their pivots anywhere near, and all in the range."""
    rank, places = len(erase.pivots), np.delete(np.arange(erase.values), erase.pivots)
    found = []
    while len(found) < count:
        one = random.integers(STEPS // 4, 3 * STEPS // 4, erase.values)
        other, pivots = one.copy(), one[erase.pivots] + random.integers(-furthest, furthest + 1, rank)
        other[erase.pivots] = pivots
        other[places] += np.array(moves(erase, pivots - MIDDLE)) - moves(erase, one[erase.pivots] - MIDDLE)
        if other.min() >= 0 and other.max() <= STEPS:
            found.append((one, other))
    one, other = (np.array(side) for side in zip(*found, strict=True))
    assert (one != other).any(axis=1).mean() > 0.9
    return windows(one), windows(other)
