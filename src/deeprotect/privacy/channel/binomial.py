"""Tails of the binomial distribution, by a continued fraction without a minus, so that nothing cancels.

log n! is off by about 2^-52 of itself, and so a tail by 2^-52 n log n of itself: 2^-28 for a million windows, which
moves the end of an interval by far less than the 2^-30 that it is widened by.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_EXACT = 2.0**-50


def at_most(x: Integers, n: Integers, p: Floats) -> Floats:
    """P(X ≤ x) for X of Binomial(n, p), element by element, for x from -1 to n."""
    x, n, p = np.broadcast_arrays(x, n, p)
    lower = x <= n * p  # the side away from the mean is worked out, the other is what is left of 1
    tail = _tail(np.where(lower, x, n - x - 1), n, np.where(lower, p, 1.0 - p))
    return np.where(lower, tail, 1.0 - tail)


def at_least(k: Integers, n: Integers, p: Floats) -> Floats:
    """P(X ≥ k), for k from 0 to n + 1: n − X is of Binomial(n, 1 − p)."""
    return at_most(n - k, n, 1.0 - p)


def _tail(x: Integers, n: Integers, p: Floats) -> Floats:
    """P(X ≤ x) for x ≤ n p; certain where x = n, or where p = 0 and so x = 0."""
    tail = np.where(x < 0, 0.0, 1.0)
    inside = (x >= 0) & (x < n) & (p > 0)
    x, n, p = x[inside], n[inside], p[inside]
    tail[inside] = _probability(x, n, p) * p * (n - x) / _fraction(x, n, p)
    return tail


def _fraction(x: NDArray[Any], n: NDArray[Any], p: Floats) -> Floats:
    """P(X = x) p (n − x) over P(X ≤ x): Didonato and Morris 1992, Eq. 9, for whole numbers and x ≤ n p.

    Evaluated as Lentz does. It ends after x steps, and far sooner where only digits are left to find.
    """
    first = (n - x) * ((n + 1.0) * p - x) / (n - x + 1.0)
    found, places, step = np.empty(p.shape), np.arange(len(p)), 0
    state = np.stack([x, n, p, first, first, np.zeros(p.shape)])
    while len(places):
        step += 1
        x, n, p, value, above, below = state
        a, q, lead = n - x, 1.0 - p, (n + 1.0) * p - x
        left, wide = step * np.maximum(x + 1 - step, 0) * q, a + 2.0 * step
        partial = (a + step - 1.0) * (n + step) * left * q / (wide - 1.0) ** 2
        whole = step + left / (wide - 1.0) + (a + step) * (lead + step * (1.0 + p)) / (wide + 1.0)
        below, above = 1.0 / (whole + partial * below), whole + partial / above
        change = above * below
        state[3:] = value * change, above, below
        inexact = np.abs(change - 1.0) > _EXACT
        if not inexact.all():  # taken out as soon as it is exact: no number depends on those beside it
            found[places[~inexact]] = state[3, ~inexact]
            state, places = state[:, inexact], places[inexact]
    return found


def _probability(x: Integers, n: Integers, p: Floats) -> Floats:
    """P(X = x) for x < n and p > 0."""
    with np.errstate(divide="ignore"):
        powers = x * np.log(p) + (n - x) * np.log1p(-p)
    return np.asarray(np.exp(_log_factorial(n) - _log_factorial(x) - _log_factorial(n - x) + powers))


def _log_factorial(n: Integers) -> Floats:
    numbers, where = np.unique(n, return_inverse=True)
    return np.array([math.lgamma(each + 1.0) for each in numbers.tolist()])[where]
