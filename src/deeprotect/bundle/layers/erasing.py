"""The layer that erases linear directions from a window, exactly: later layers see nothing along them.

Directions are columns of a matrix whose rows at the pivots are the identity: A there, and 1 at the pivot itself. In
steps around the middle of the public range, a window x becomes y = x − rint(A · x[pivots]), 0 at the pivots. Windows of
equal y are neighbours: they differ by a move along the directions, to the nearest step.
docs/claims.md#erased-directions
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.layer import Array, Bounds, Layer, Prepared, checked
from deeprotect.bundle.layers.rounding import Clip
from deeprotect.bundle.layers.tensors import Integers
from deeprotect.errors import BundleError

WINDOW_BITS = 15
"""A window's values are rounded to 2^15 steps of the public range, as fine as most sensors."""
MIDDLE = 1 << (WINDOW_BITS - 1)
WHOLE_RANGE = Clip(0, 2 * MIDDLE)
ONE = 1 << 14
"""Of `others`: they are whole multiples of 2^-14, and below 4."""


@dataclass(frozen=True, eq=False)
class Erase(Layer):
    """Maps scaled windows to whole steps without the directions.

    `pivots` are places in a window; `others` (pivot, place) is how far each pivot moves the other places, in order.

    Scaling up instead of rounding, 2^14 · x − others · x[pivots], would be wrong: modulo 2^14, which does not see x,
    it gives away the pivots' low bits.
    """

    pivots: Integers
    others: Integers = field(metadata={"axes": 2})
    op: ClassVar[str] = "erase"

    def __post_init__(self) -> None:
        rank = len(self.pivots)
        within = (self.pivots >= 0) & (self.pivots < self.values)
        if len(self.others) != rank or len(np.unique(self.pivots)) != rank or not within.all():
            raise BundleError(f"layer {self.op}: its pivots are not places of a window of their own; train again")

    @property
    def values(self) -> int:
        """Of a window."""
        return int(len(self.pivots) + self.others.shape[1])

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """The matrix (value, pivot), in whole multiples of 2^-14."""
        matrix = np.zeros((self.values, len(self.pivots)))
        matrix[np.delete(np.arange(self.values), self.pivots)] = self.others.T / ONE
        matrix[self.pivots] = np.eye(len(self.pivots))
        return matrix

    def prepare(self, given: Bounds) -> Prepared:
        if given.flat(self.op) != self.values:
            raise BundleError(f"layer {self.op}: it is for windows of {self.values} values; train again")
        given.require_float32(self.op)
        checked((self.values, len(self.pivots)), self.op)
        directions, pivots, rounded = self.directions, self.pivots, WHOLE_RANGE.step(given)
        bounds = self._bounds(given)

        def step(rows: Array, out: Array | None) -> Array:
            result = np.multiply(rows, np.float32(1 << WINDOW_BITS), out=out, dtype=np.float32, casting="same_kind")
            steps = rounded(result, result)
            steps -= np.float32(MIDDLE)
            steps -= np.rint(directions @ steps[pivots].astype(np.float64)).astype(np.float32)
            return steps

        return Prepared(step, bounds, 2 * directions.size + 4 * self.values)

    def _bounds(self, given: Bounds) -> Bounds:
        """0 at the pivots; elsewhere the value's own interval, minus the interval of what the pivots move it by."""
        size = 1 << WINDOW_BITS
        steps = WHOLE_RANGE.bounds(replace(given, low=given.low * size, high=given.high * size))
        low, high = steps.low - MIDDLE, steps.high - MIDDLE
        up, down = np.maximum(self.directions, 0.0), np.minimum(self.directions, 0.0)
        least, most = (up @ one[self.pivots] + down @ other[self.pivots] for one, other in ((low, high), (high, low)))
        given.exact_type(float(ONE * MIDDLE * np.abs(self.directions).sum(axis=1).max()), self.op)
        low, high = low - np.rint(most), high - np.rint(least)
        low[self.pivots] = high[self.pivots] = 0.0
        bounds = Bounds(low, high, whole=True)
        bounds.require_float32(self.op)
        return bounds
