"""Coarse numbers: what a bundle takes from few participants' values is rounded until it is nobody's own value.

Grids are powers of two, and only how fine they are is learnt. This is no proof: it takes away the exact match by which
a number would show whose it is.
"""

import numpy as np

from deeprotect.signals.schema import Floats

BOX_STEPS = 128
"""Steps across a clip box, at least: rounding outward adds less than 2/128 to its width, and so to the noise."""
THINNEST = 1e-3
"""Of a box whose coordinate hardly moves, the width that its grid is taken from, relative to where it lies."""


def to_grid(values: Floats, step: Floats | float) -> Floats:
    """The nearest multiples of a step."""
    return np.asarray(np.rint(values / step) * step)


def power_of_two(values: Floats) -> Floats:
    """The largest power of two that is not above each positive value."""
    return np.asarray(np.exp2(np.floor(np.log2(values))))


def significant(values: Floats, *, bits: int) -> Floats:
    """Positive values with so many binary digits after the first."""
    return to_grid(values, power_of_two(values) / 2**bits)


def outward(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends of a clip box on a grid of each coordinate's own, the low one rounded down and the high one up."""
    widths = np.maximum(high - low, THINNEST * np.maximum(1.0, np.abs(low)))
    step = power_of_two(widths / BOX_STEPS)
    down, up = np.floor(low / step) * step, np.ceil(high / step) * step
    return down - step * (down > low), up + step * (up < high)  # a quotient may underflow to zero
