"""Small networks for tests, made by hand: values on a grid of 2^-12, real weights on one of 2^-10."""

import numpy as np

from deeprotect.bundle.layers.products import Affine, Product
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale
from deeprotect.bundle.network import Network

GRID, WEIGHTS = 12, 10


def quantise(values: int, *, low: float = -8.0, high: float = 8.0) -> Quantise:
    """Onto the grid, clipped."""
    ones = np.ones((1, values), np.int32)
    return Quantise(0 * ones, 0, ones, -GRID, Clip(int(low * 2**GRID), int(high * 2**GRID)))


def product(weights, bias=0.0, *, shift: int = WEIGHTS) -> Product:
    """Of whole numbers on the grid, to a grid that is coarser by `shift`; with GRID more, to units."""
    weights = np.asarray(weights, dtype=np.float64)
    outputs = weights.shape[-1]
    bias = np.rint(np.broadcast_to(bias, outputs) * 2**GRID).astype(np.int32)
    whole = np.rint(weights * 2**WEIGHTS).astype(np.int32)
    return Product(whole, bias, WEIGHTS, np.full(outputs, shift, np.int32))


def affine(weights, bias=0.0) -> Network:
    """x W + b in units, of what is rounded to the grid first."""
    layer = Affine(product(weights, bias, shift=WEIGHTS + GRID))
    return Network((quantise(len(weights)), layer), len(weights))


def clipped(values: int) -> Network:
    """Into [0, 1]."""
    return Network((quantise(values, low=0.0, high=1.0), Scale(GRID)), values)


def largest(values: int, codes) -> Network:
    """The code of the place of the largest value."""
    return Network((quantise(values), Argmax((values,), np.asarray(codes, dtype=np.int32))), values)


def rectified() -> Round:
    return Round(Clip(0, 8 << GRID))
