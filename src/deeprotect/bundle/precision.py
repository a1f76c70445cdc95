"""How far a network's float32 results can lie from the real numbers that the proof speaks of."""

from collections.abc import Sequence

import numpy as np

from deeprotect.privacy.network import Activation, Affine, Conv1d, Layer
from deeprotect.signals.schema import Floats

UNIT = 2.0**-24  # rounding to nearest float32
TINY = 2.0**-126  # what flushing a denormal to zero can change
ACTIVATION = 2.0**-20
"""Absolute error allowed for sigmoid and tanh: onnxruntime's rational functions stay below a third of it."""


def float32_error(layers: Sequence[Layer], inputs: int) -> Floats:
    """A bound on |float32 result − exact result| for every output and every window in [0,1]^inputs.

    A sum of n products in any order, fused or not, is off by at most γ = (n + 2)u / (1 − (n + 2)u) of the sum of
    magnitudes (Higham 2002, 3.1); errors that come in are carried through by |W| and by an activation's slope.
    """
    low, high = np.zeros(inputs), np.ones(inputs)
    error = np.full(inputs, UNIT)  # the window itself is rounded to float32 first
    for layer in layers:
        largest = np.maximum(np.abs(low), np.abs(high)) + error
        error = _through(layer, error, largest)
        low, high = layer.interval(low, high)
    return error


def _through(layer: Layer, error: Floats, largest: Floats) -> Floats:
    match layer:
        case Affine():
            dense, terms = Affine(np.abs(layer.weights), np.zeros(len(layer.bias))), layer.weights.shape[1]
            return _sum(dense, error, largest, bias=np.abs(layer.bias), terms=terms)
        case Conv1d():
            kernel, none = np.abs(layer.kernel), np.zeros(len(layer.bias))
            plain = Conv1d(kernel, none, stride=layer.stride, padding=layer.padding)
            return _sum(plain, error, largest, bias=np.abs(layer.bias)[:, None], terms=kernel[0].size)
        case Activation():
            exact = layer.shape in ("relu", "identity")
            return error * layer.lipschitz() + (0.0 if exact else ACTIVATION)
    return layer.interval(error, error)[1]  # moved or clipped, and neither adds an error


def _sum(plain: Affine | Conv1d, error: Floats, largest: Floats, *, bias: Floats, terms: int) -> Floats:
    share = (terms + 2) * UNIT / (1 - (terms + 2) * UNIT)
    magnitude = plain.interval(largest, largest)[1] + bias
    return np.asarray(plain.interval(error, error)[1] + share * magnitude + 2 * (terms + 2) * TINY)
