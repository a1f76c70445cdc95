"""Conversion of torch modules to layers of a bundle, in whole numbers.

Each module class registers the layers that it becomes. Sample rows determine where values are rounded and to which
grid; the bundle states it, and loading checks that all sums are exact.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor, nn

from deeprotect.bundle.layers.erasing import MIDDLE, WINDOW_BITS, Erase
from deeprotect.bundle.layers.layer import EXACT_FLOAT32, EXACT_FLOAT64, Array, Bounds, Layer
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten
from deeprotect.bundle.network import STEPS, Network
from deeprotect.signals.schema import Floats
from deeprotect.training import networks
from deeprotect.training.networks import BITS

MOST_ROWS = 2048
"""Sample rows, evenly spread, that show the size of values."""
PROJECTION_BITS = 14
"""Bits of a projection, whose entries are at most 1."""
TABLED, TABLE_BITS, FURTHEST = 9, 12, 8
"""Inputs of lookup tables: steps of 2^-9 up to ±8; their outputs have steps of 2^-12."""
WAVE_BITS = 7
TINY = 1e-30
INPUT_BITS, SEEN = 11, 0.9999
"""Bits of standardised samples, including a sign; samples seen in training are not clipped."""


class Precision(NamedTuple):
    """Binary digits of weights (with sign) and of values, and a bound on sums."""

    weights: int
    values: int
    sums: int


COARSE = Precision(weights=8, values=10, sums=EXACT_FLOAT32)
"""Precision of coders: as fast as float32, at a quarter of its size."""
FINE = Precision(weights=15, values=14, sums=EXACT_FLOAT64)
"""Precision of measured features and of decoders."""


def to_network(module: nn.Module, rows: Floats, precision: Precision = FINE) -> Network:
    """Convert a module to a network of layers, equal up to rounding; `rows` are samples of its input."""
    some = rows[np.linspace(0, len(rows) - 1, min(MOST_ROWS, len(rows))).astype(np.int64)]  # includes the last row
    builder = LayerBuilder(np.asarray(some, dtype=np.float64), precision)
    build(module, builder)
    return builder.network()


@singledispatch
def build(module: nn.Module, _: "LayerBuilder") -> None:
    """Add the module's layers. An unsupported module is an internal error."""
    raise TypeError(f"{type(module).__name__} has no layers")


class _Pending(NamedTuple):
    """A product that has not been rounded to a grid; real-valued weights, (input, output) or as a kernel."""

    weights: Floats
    bias: Floats
    wanted: Floats
    stride: int = 0
    padding: int = 0


class LayerBuilder:
    """Builds layers one by one; `rows` holds the exact values of sample rows at this point. The layers built so far
    give these times 2^exponent, as whole numbers after rounding."""

    def __init__(self, rows: Floats, precision: Precision, *, bounds: Bounds | None = None) -> None:
        self.layers: list[Layer] = []
        self.rows, self.precision, self._inputs = rows, precision, rows.shape[1]
        self.bounds = Bounds.anything(rows.shape[1]) if bounds is None else bounds
        self._rounded: Array = rows.T.astype(np.float32)
        self.exponent = 0
        self._pending: _Pending | None = None

    def branch(self) -> Self:
        """Start another chain from here."""
        other = type(self)(self.rows, self.precision, bounds=self.bounds)
        other.exponent, other._rounded = self.exponent, self._rounded
        return other

    def append(self, layer: Layer, rows: Floats | None = None) -> None:
        prepared = layer.prepare(replace(self.bounds, ours=False))
        self.bounds, self._rounded = prepared.bounds, prepared.step(self._rounded, None)
        self.layers.append(layer)
        self.rows = self.rows if rows is None else rows

    def affine(self, weights: Floats, bias: Floats) -> None:
        """Append x W + b; weights is (input, output)."""
        self._require_whole()
        self.rows = self.rows @ weights + bias
        self._pending = _Pending(weights, bias, self.rows)

    def convolve(self, kernel: Floats, bias: Floats, *, stride: int, padding: int) -> None:
        """Append a convolution: kernel (time, input channel, output channel) over rows (row, time, channel)."""
        self._require_whole()
        padded = np.pad(self.rows, ((0, 0), (padding, padding), (0, 0)))
        seen = np.lib.stride_tricks.sliding_window_view(padded, len(kernel), axis=1)[:, ::stride]
        self.rows = np.einsum("ntik,kio->nto", seen, kernel, optimize=True) + bias
        self._pending = _Pending(kernel, bias, self.rows, stride, padding)

    def remove_level(self, channels: int) -> None:
        """Append `RemoveLevel`, for windows on their grid."""
        self.to_grid(WINDOW_BITS, low=0.0, high=1.0)
        values = self.rows.shape[1]
        samples = values // channels
        whole = samples * np.eye(values) - np.kron(np.ones((samples, samples)), np.eye(channels))
        nothing = np.zeros(values, dtype=np.int32)
        self.append(Affine(Product(_whole(whole), nothing, 0, nothing)), self.rows @ whole)

    def erase(self, layer: Erase, projection: Floats) -> None:
        """Append `EraseDirections` as the first layers: project the directions out and return to windows."""
        self.append(layer)
        values = layer.values
        middle, shift = np.full(values, MIDDLE >> BITS // 2, dtype=np.int32), np.full(values, PROJECTION_BITS)
        product = Product(_whole(np.ldexp(projection, PROJECTION_BITS)), middle, BITS // 2 + PROJECTION_BITS, shift)
        self.append(Affine(product), 0.5 + (self.rows - 0.5) @ projection)
        self.exponent = WINDOW_BITS
        self.to_grid(WINDOW_BITS, low=0.0, high=1.0)
        self.rows = np.clip(self.rows, 0.0, 1.0)

    def relu(self, *, exponent: int | None = None) -> None:
        self.rows = np.maximum(self.rows, 0.0)
        self.to_grid(exponent, low=0.0)

    def tabled(self, function: str) -> None:
        """Append tanh or sigmoid as a lookup table."""
        self._move(TABLED)
        steps = np.arange(-FURTHEST << TABLED, (FURTHEST << TABLED) + 1)
        self.rows, exact = _SMOOTH[function](self.rows), _SMOOTH[function](np.ldexp(steps.astype(float), -TABLED))
        self.append(Table(_whole(np.ldexp(exact, TABLE_BITS)), int(steps[0])))
        self.exponent = TABLE_BITS

    def to_grid(self, exponent: int | None = None, *, low: float | None = None, high: float | None = None) -> None:
        """Round to a grid, within bounds; missing bounds come from the sample rows."""
        exponent = int(_fitting(self._most, self.precision.values)) if exponent is None else exponent
        clip = self._clip(exponent, low=low, high=high)
        self._move(exponent)
        self.append(Round(clip))

    @property
    def _most(self) -> float:
        return max(float(np.abs(self.rows).max()), 2.0**-20)

    def _clip(self, exponent: int, *, low: float | None = None, high: float | None = None) -> Clip:
        # A power of two, because the largest value itself would be a participant's.
        top = 1 << min(max(0, math.ceil(math.log2(self._most) + exponent)), BITS)
        return Clip(
            -top if low is None else int(np.ldexp(low, exponent)),
            top if high is None else int(np.ldexp(high, exponent)),
        )

    def quantise(self, shift: Floats, factor: Floats, *, clip: Clip, exponent: int, rows: Floats) -> None:
        """Append (x − shift) · factor for real x, (copy, value), on a grid; `rows` holds the exact results."""
        given = self._settled()
        shifts, shift_scale = _integers(np.ldexp(shift, given))
        factors, factor_scale = _integers(np.ldexp(factor, exponent - given))
        factors = np.where(factors == 0, 1, factors)
        self.append(Quantise(shifts, shift_scale, factors, factor_scale, clip), rows)
        self.exponent = exponent

    def restore(self, scale: Floats, mean: Floats) -> None:
        """Append x · scale + mean, clipped to [0, 1], on the grid of windows."""
        rows = np.clip(self.rows * scale + mean, 0.0, 1.0)
        self.quantise((-mean / scale)[None], scale[None], clip=Clip(0, STEPS), exponent=WINDOW_BITS, rows=rows)
        self._move(0)

    def clip(self) -> None:
        """Clip to [0, 1], on the grid of windows."""
        self.rows = np.clip(self.rows, 0.0, 1.0)
        self.to_grid(WINDOW_BITS, low=0.0, high=1.0)
        self._move(0)

    def unflatten(self, channels: int) -> None:
        self._settled()
        self.append(Unflatten(channels), self.rows.reshape(len(self.rows), -1, channels))

    def flatten(self) -> None:
        self._settled()
        self.append(Flatten(), self.rows.reshape(len(self.rows), -1))

    def statistics(self) -> None:
        """Append means, deviations, minima and maxima, on no grid."""
        rows = self.rows
        parts = [rows.mean(axis=1), rows.std(axis=1), rows.min(axis=1), rows.max(axis=1)]
        self.append(Statistics(), np.concatenate(parts, axis=1))

    def spectrum(self, exponent: int) -> None:
        """Append magnitudes of the Fourier transform, divided by the power of two nearest to √time, on a grid."""
        samples, root = self.rows.shape[1], root_of(self.rows.shape[1])
        cosine, sine = waves(samples)
        found = np.ldexp(np.abs(np.fft.rfft(self.rows, axis=1)), -root)
        layer = Spectrum(cosine, sine, WAVE_BITS + root + self.exponent - exponent)
        self.append(layer, found.reshape(len(found), -1))
        self.append(Round(self._clip(exponent, low=0.0)))
        self.exponent = exponent

    def concatenate(self, branches: Sequence["LayerBuilder"]) -> None:
        """Concatenate branches that share a grid."""
        (self.exponent,) = {branch.exponent for branch in branches}
        rows = np.concatenate([branch.rows for branch in branches], axis=1)
        self.append(Concatenation(tuple(tuple(branch.layers) for branch in branches)), rows)

    def residual(self, inner: "LayerBuilder") -> None:
        assert inner.exponent == self.exponent
        self.append(Residual(tuple(inner.layers)), self.rows + inner.rows)

    def network(self) -> Network:
        """The finished network; its results are in the module's units, unless they are whole numbers on purpose."""
        self._move(0)
        return Network(tuple(self.layers), self._inputs)

    def _require_whole(self) -> None:
        self._settled()
        if not self.bounds.whole:
            self.to_grid()

    def _settled(self) -> int:
        """Return the grid, after any pending product has been rounded to one."""
        if self._pending is not None:
            self._finish(None)
        return self.exponent

    def _move(self, exponent: int) -> None:
        """Move exactly to a finer grid, without rounding."""
        if self._pending is not None:
            self._finish(exponent)
        elif exponent != self.exponent:
            self.append(Scale(self.exponent - exponent))
            self.exponent = exponent

    def _scales(self) -> NDArray[np.int32]:
        """Scale of a pending product's weights for each output: as fine as digits allow while sums stay exact."""
        assert self._pending is not None
        weights, bias = self._pending.weights, self._pending.bias
        largest = np.abs(weights).max(axis=tuple(range(weights.ndim - 1)))
        sums = _sums(np.abs(weights), self.bounds) + np.ldexp(np.abs(bias), self.exponent)
        within = np.floor(np.log2(0.99 * self.precision.sums / np.maximum(sums, TINY)))
        return np.minimum(_fitting(largest, self.precision.weights - 1), np.minimum(within, BITS)).astype(np.int32)

    def _finish(self, exponent: int | None) -> None:
        """Round the pending product to a grid; without one, to the coarsest grid on which it is whole."""
        assert self._pending is not None
        scales, (weights, bias, wanted, stride, padding) = self._scales(), self._pending
        natural = scales + self.exponent
        whole, exact = _whole(np.ldexp(weights, scales)), np.ldexp(bias, natural)
        moved = int(natural.max()) if exponent is None else exponent

        def layer(exact: Floats) -> Layer:
            bias_shift = max(0, -int(_fitting(max(1.0, float(np.abs(exact).max())), BITS)))
            product = Product(whole, _whole(np.ldexp(exact, -bias_shift)), bias_shift, natural - moved)
            return Convolution(product, stride, padding) if stride else Affine(product)

        given = layer(exact).prepare(replace(self.bounds, ours=False)).step(self._rounded, None)
        # Add the mean rounding error back into the bias (Nagel et al. 2019).
        off = (np.ldexp(wanted, moved) - np.moveaxis(given, -1, 0)).mean(axis=tuple(range(wanted.ndim - 1)))
        self._pending = None
        self.append(layer(exact + np.ldexp(off, natural - moved)))
        self.exponent = moved


def waves(samples: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """One period of cosine and sine in whole numbers with amplitude 2^WAVE_BITS."""
    angles = 2 * np.pi / samples * np.arange(samples)
    return _whole(np.ldexp(np.cos(angles), WAVE_BITS)), _whole(np.ldexp(np.sin(angles), WAVE_BITS))


def root_of(samples: int) -> int:
    """√samples, rounded to a power of two."""
    return round(0.5 * math.log2(samples))


_SMOOTH: dict[str, Callable[[Floats], Floats]] = {"tanh": np.tanh, "sigmoid": expit}


def _sums(weights: Floats, given: Bounds) -> Floats:
    """The largest sums of products with whole numbers within these bounds."""
    if weights.ndim == 2:
        return np.asarray(given.most @ weights)
    return np.asarray(weights.sum(axis=0).T @ given.most.max(axis=0))


def _fitting(most: Any, bits: int) -> NDArray[np.int32]:
    """The largest scales at which numbers up to `most` fit into `bits` binary digits."""
    return np.asarray(np.floor(np.log2((2**bits - 1) / np.maximum(most, TINY))), dtype=np.int32)


def _integers(values: Floats) -> tuple[NDArray[np.int32], int]:
    """Represent values as whole numbers and a scale."""
    scale = min(int(_fitting(np.abs(values).max(), BITS)), 60)
    return _whole(np.ldexp(values, scale)), scale


def _whole(values: Floats) -> NDArray[np.int32]:
    return np.rint(values).astype(np.int32)


@build.register
def _sequential(module: nn.Sequential, builder: LayerBuilder) -> None:
    for part in module:
        build(part, builder)


build.register(nn.Identity, lambda _, __: None)
build.register(nn.ReLU, lambda _, builder: builder.relu())
build.register(nn.Tanh, lambda _, builder: builder.tabled("tanh"))
build.register(nn.Sigmoid, lambda _, builder: builder.tabled("sigmoid"))
build.register(networks.ClipToRange, lambda _, builder: builder.clip())
build.register(networks.RemoveLevel, lambda module, builder: builder.remove_level(module.channels))
build.register(networks.Restore, lambda module, builder: builder.restore(array(module.scale), array(module.mean)))


@build.register
def _linear(module: nn.Linear, builder: LayerBuilder) -> None:
    builder.affine(array(module.weight).T, array(module.bias))


@build.register
def _convolution(module: nn.Conv1d, builder: LayerBuilder) -> None:
    kernel = array(module.weight).transpose(2, 1, 0)
    builder.convolve(kernel, array(module.bias), stride=module.stride[0], padding=int(module.padding[0]))


@build.register
def _standardise(module: networks.Standardise, builder: LayerBuilder) -> None:
    mean, scale = array(module.mean), array(module.scale)
    rows = (builder.rows - mean) / scale
    exponent = int(_fitting(np.quantile(np.abs(rows), SEEN), INPUT_BITS))
    top = 2**INPUT_BITS - 1
    builder.quantise(mean[None], 1 / scale[None], clip=Clip(-top, top), exponent=exponent, rows=rows)


def array(values: Tensor | None) -> Floats:
    assert values is not None  # all our layers have a bias
    return np.ascontiguousarray(values.detach().double().numpy())
