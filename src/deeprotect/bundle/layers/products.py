"""Layers that multiply and add integers: affine maps, convolution in time, spectra, statistics."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deeprotect.bundle.layers.layer import AS_THE_LAYER_SAYS, Array, Bounds, Kind, Layer, Prepared, checked, handed
from deeprotect.bundle.layers.tensors import Integers
from deeprotect.errors import BundleError

LARGEST_SHIFT = 64
ROUNDED_THRICE = 1 + 2.0**-21
"""Bounds the growth by rounding a product, its square, their sum and the root to float32."""


@dataclass(frozen=True, eq=False)
class Product:
    """Integer weights and a bias; each output's sum is multiplied by 2^-shift of that output.

    The factor is exact, and folded into the weights. `weights` is (…, output), `bias` and `shift` are (output,).
    """

    weights: Integers = field(metadata={"axes": AS_THE_LAYER_SAYS})
    bias: Integers
    bias_shift: int
    shift: Integers

    def __post_init__(self) -> None:
        outputs = self.weights.shape[-1:]
        if self.bias.shape != outputs or self.shift.shape != outputs:
            raise BundleError("a layer needs a bias and a shift for each of its outputs; train again")
        if not 0 <= self.bias_shift <= LARGEST_SHIFT or np.abs(self.shift).max() > LARGEST_SHIFT:
            raise BundleError(f"a layer shifts by more than {LARGEST_SHIFT} binary digits; train again")

    @property
    def whole_bias(self) -> NDArray[np.float64]:
        return np.ldexp(self.bias.astype(np.float64), self.bias_shift)

    def scaled(self, weights: NDArray[Any], kind: Kind) -> Array:
        return np.asarray(np.ldexp(weights, -self.shift), dtype=kind)

    def bounds(self, low: NDArray[np.float64], high: NDArray[np.float64], *, given: Bounds, op: str) -> Bounds:
        """The bounds of outputs (output,) for inputs (input,) between `low` and `high` at every step in time.

        The middles of the intervals are summed with the weights, their half widths with the magnitudes of the weights.
        Both sums are exact, or the layer is refused.
        """
        kernel, bias = self.weights if self.weights.ndim == 3 else self.weights[None], self.whole_bias
        weights, sizes = kernel.sum(axis=0, dtype=np.float64), np.abs(kernel).sum(axis=0, dtype=np.float64)
        kind = given.exact_type(float((np.maximum(-low, high) @ sizes + np.abs(bias)).max()), op)
        middle, half = (low + high) / 2 @ weights + bias, (high - low) / 2 @ sizes
        low, high = np.ldexp(middle - half, -self.shift), np.ldexp(middle + half, -self.shift)
        return Bounds(low, high, whole=bool((self.shift <= 0).all()), kind=kind)


@dataclass(frozen=True, eq=False)
class Affine(Layer):
    """x W + b; weights is (input, output)."""

    product: Product = field(metadata={"axes": 2})
    op: ClassVar[str] = "affine"

    def prepare(self, given: Bounds) -> Prepared:
        given.require_whole(self.op)
        (inputs, outputs), bias = self.product.weights.shape, self.product.whole_bias
        if given.flat(self.op) != inputs:
            raise BundleError(f"layer {self.op}: {inputs} × {outputs} weights do not fit; train again")
        bounds = self.product.bounds(given.low, given.high, given=given, op=self.op)
        kind = bounds.kind
        weights = self.product.scaled(self.product.weights, kind).T
        added, fits = self.product.scaled(bias, kind)[:, None], given.kind is kind

        def step(rows: Array, out: Array | None) -> Array:
            product = np.matmul(weights, rows if fits else rows.astype(kind))
            return np.add(product, added, out=product if out is None else out, casting="same_kind")

        return Prepared(step, bounds, self.product.weights.size + inputs + outputs)


@dataclass(frozen=True, eq=False)
class Convolution(Layer):
    """Convolution in time with zero padding; weights is (time, input channel, output channel)."""

    product: Product = field(metadata={"axes": 3})
    stride: int
    padding: int
    op: ClassVar[str] = "convolution"

    def prepare(self, given: Bounds) -> Prepared:
        given.require_whole(self.op)
        (length, inputs), (width, _, outputs) = given.series(self.op), self.product.weights.shape
        padded = length + 2 * self.padding
        if not (
            self.product.weights.shape[1] == inputs
            and 0 <= self.padding < width <= padded
            and 1 <= self.stride <= padded
        ):
            raise BundleError(f"layer {self.op}: a kernel of {width} × {inputs} × {outputs} does not fit; train again")
        steps = (padded - width) // self.stride + 1
        checked((steps, width * (inputs + 1)), self.op)
        checked((steps, outputs), self.op)
        low, high = given.hull
        if self.padding:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        each = self.product.bounds(low, high, given=given, op=self.op)
        bounds = replace(each, low=np.tile(each.low, (steps, 1)), high=np.tile(each.high, (steps, 1)))
        work = steps * self.product.weights.size + padded * inputs
        return Prepared(_Convolving(self, each.kind, length=length, steps=steps), bounds, work)


class _Convolving:
    """A convolution as one product for each step in time, or one for all steps of a single row."""

    def __init__(self, layer: Convolution, kind: Kind, *, length: int, steps: int) -> None:
        product, (width, inputs, outputs) = layer.product, layer.product.weights.shape
        weights = np.zeros((width, inputs + 1, outputs))
        # The last input of the first step is 1 and carries the bias, which saves a pass for adding it.
        weights[:, :inputs], weights[0, inputs] = product.weights, product.whole_bias
        self._weights = product.scaled(weights.reshape(-1, outputs), kind)
        self._by_output = np.ascontiguousarray(self._weights.T)
        self._kind, self._steps, self._stride, self._padding = kind, steps, layer.stride, layer.padding
        self._empty = self._framed(np.zeros((length, inputs, 1)))

    def __call__(self, rows: Array, out: Array | None) -> Array:
        length, inputs, count = rows.shape
        if count == 1:
            padded = self._empty.copy()
            padded[self._padding : self._padding + length, :inputs] = rows
        else:
            padded = self._framed(rows)
        time, value, row = padded.strides
        # The input of the kernel at a step is contiguous in memory: a matrix for each step, without a copy.
        shape, strides = (self._steps, len(self._weights), count), (self._stride * time, value, row)
        if count > 1:
            seen: Array = np.ndarray(shape, self._kind, padded, strides=strides)
            return np.asarray(np.matmul(self._by_output, seen, out=out, casting="same_kind"))
        seen = np.ndarray(shape[:2], self._kind, padded, strides=strides[:2])
        product: Array = np.matmul(seen, self._weights)[:, :, None]
        return product if out is None else handed(product, out)

    def _framed(self, rows: Array) -> Array:
        """Adds zeros before and after the rows, and a channel of ones."""
        length, inputs, count = rows.shape
        first, last = self._padding, self._padding + length
        padded = np.empty((length + 2 * first, inputs + 1, count), self._kind)
        padded[:first] = padded[last:] = 0
        padded[first:last, :inputs] = rows
        padded[:, inputs] = 1
        return padded


@dataclass(frozen=True, eq=False)
class Spectrum(Layer):
    """(time, channel) to magnitudes of the Fourier transform, flat as (frequency, channel), times 2^-shift.

    `cosine` and `sine` hold one turn each, with one integer per sample. Squares, their sum and its
    root are each rounded to float32.
    """

    cosine: Integers
    sine: Integers
    shift: int
    op: ClassVar[str] = "spectrum"

    def prepare(self, given: Bounds) -> Prepared:
        given.require_whole(self.op)
        samples, channels = given.series(self.op)
        if self.cosine.shape != (samples,) or self.sine.shape != (samples,) or abs(self.shift) > LARGEST_SHIFT:
            raise BundleError(f"layer {self.op}: its waves do not fit {samples} samples; train again")
        frequencies = samples // 2 + 1
        checked((2 * frequencies, samples), self.op)
        checked((frequencies * channels,), self.op)
        turns = np.outer(np.arange(frequencies), np.arange(samples)) % samples
        waves = np.concatenate([self.cosine[turns], self.sine[turns]]).astype(np.float64)
        sums = np.abs(waves).sum(axis=1)[:, None] * given.most.max(axis=0)
        kind = given.exact_type(float(sums.max()), self.op)
        scaled, fits = np.ldexp(waves, -self.shift).astype(kind), given.kind is kind is np.float32

        def step(rows: Array, out: Array | None) -> Array:
            flat = rows.reshape(samples, -1)
            products: Array = scaled @ flat if fits else (scaled @ flat.astype(kind)).astype(np.float32)
            np.square(products, out=products)
            power = products[:frequencies]
            np.add(power, products[frequencies:], out=power)
            return np.sqrt(power.reshape(frequencies * channels, -1), out=out)

        most = np.ldexp(np.sqrt(np.square(sums).reshape(2, -1).sum(axis=0)), -self.shift) * ROUNDED_THRICE
        return Prepared(step, Bounds.rounded(np.zeros_like(most), most), waves.size * channels)


@dataclass(frozen=True)
class Statistics(Layer):
    """(time, channel) to the channels' means, standard deviations, least and largest values, in this order.

    Computed from exact sums of values and squares by float64 division and root, and rounded to float32 at the end.
    """

    op: ClassVar[str] = "statistics"

    def prepare(self, given: Bounds) -> Prepared:
        given.require_whole(self.op)
        samples, channels = given.series(self.op)
        checked((4 * channels,), self.op)
        largest = float(samples) * float(given.most.max()) ** 2
        given.exact_type(samples * largest, self.op)
        kind, ones = np.int32 if largest < 1 << 31 else np.int64, np.ones(samples)

        def one(row: Array) -> Array:
            """For a single row, with few calls of numpy, which dominate its cost."""
            values = np.empty((4, channels), np.float32)
            by_channel = np.ascontiguousarray(row.reshape(samples, channels).T)
            np.minimum.reduce(by_channel, axis=1, out=values[2])
            np.maximum.reduce(by_channel, axis=1, out=values[3])
            whole, moments = by_channel.astype(np.float64), np.empty((2, channels))
            total = np.matmul(whole, ones, out=moments[0])
            squares = np.square(whole, out=whole) @ ones
            np.sqrt(squares * samples - total * total, out=moments[1])
            np.divide(moments, samples, out=moments)
            values[:2] = moments
            return values.reshape(-1, 1)

        def step(rows: Array, out: Array | None) -> Array:
            if rows.shape[-1] == 1:
                return handed(one(rows), out)
            whole = rows.astype(kind)
            total = np.add.reduce(whole, dtype=kind).astype(np.float64)
            squares = np.add.reduce(np.square(whole, out=whole), dtype=kind)
            spread = squares * np.float64(samples) - np.square(total)
            values = np.empty((4, channels, rows.shape[-1]), np.float32) if out is None else out
            values = values.reshape(4, channels, -1)
            values[0], values[1] = total / samples, np.sqrt(spread) / samples
            values[2], values[3] = np.minimum.reduce(rows), np.maximum.reduce(rows)
            return values.reshape(4 * channels, -1)

        low, high = given.hull
        half = (high - low) / 2  # no deviation is larger (Popoviciu 1935)
        bounds = Bounds.rounded(np.concatenate([low, 0 * half, low, low]), np.concatenate([high, half, high, high]))
        return Prepared(step, bounds, 4 * samples * channels)
