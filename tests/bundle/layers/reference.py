"""What a layer computes of one row, said once more in Python's whole numbers and fractions: slow, and never rounded
but where a layer says so."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tests.fibres import moves

from deeprotect.bundle.layers.erasing import MIDDLE, WHOLE_RANGE, WINDOW_BITS, Erase
from deeprotect.bundle.layers.layer import Layer, Shape
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten

Number = int | Fraction | float
"""A float only where it is infinite or NaN."""


@dataclass(frozen=True)
class Row:
    """Values, the last axis fastest, their shape, and whether they are held in float64."""

    values: list[Number]
    shape: Shape
    double: bool = False

    def columns(self) -> list[list[Number]]:
        """Of a series: each channel's values."""
        return [self.values[channel :: self.shape[1]] for channel in range(self.shape[1])]


def row_of(values: np.ndarray) -> Row:
    """What comes from outside, rounded to float32."""
    return Row([single(number(value)) for value in values.tolist()], values.shape)


def number(value: float) -> Number:
    return Fraction(value) if math.isfinite(value) else value


def single(value: Number) -> Number:
    """The nearest float32, of two the even one; beyond the largest, infinite."""
    if isinstance(value, float) or not value:
        return value
    numerator, denominator = Fraction(value).as_integer_ratio()
    exponent = abs(numerator).bit_length() - denominator.bit_length()
    exponent -= abs(numerator) < denominator * Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - 23, -149)
    rounded = round(Fraction(value) / step) * step
    return math.copysign(math.inf, value) if abs(rounded) >= 2**128 else rounded


def root(value: Number) -> Number:
    """The square root in float32, from one digit in a hundred more than it has, and whether any follow."""
    if isinstance(value, float):
        return math.sqrt(value)
    scaled = Fraction(value) * Fraction(4) ** 180
    assert scaled.denominator == 1
    floor = math.isqrt(int(scaled))
    return single((floor + Fraction(int(floor * floor != scaled), 2)) / Fraction(2) ** 180)


def clipped(value: Number, clip: Clip) -> int:
    if isinstance(value, float):
        value = 0 if math.isnan(value) else clip.high if value > 0 else clip.low
    return min(max(round(value), clip.low), clip.high)


def _erase(layer: Erase, row: Row) -> Row:
    steps = [clipped(value * 2**WINDOW_BITS, WHOLE_RANGE) - MIDDLE for value in row.values]
    moved = iter(moves(layer, [steps[pivot] for pivot in layer.pivots]))
    left = [0 if place in layer.pivots else value - next(moved) for place, value in enumerate(steps)]
    return Row(left, row.shape)


def compute(layer: Layer, row: Row) -> Row:
    match layer:
        case Erase():
            return _erase(layer, row)
        case Quantise():
            return _quantise(layer, row)
        case Round(clip):
            return Row([clipped(value, clip) for value in row.values], row.shape)
        case Table(values, low):
            clip = Clip(low, low + len(values) - 1)
            return Row([int(values[clipped(value, clip) - low]) for value in row.values], row.shape)
        case Scale(shift):
            scaled = [value * _power(-shift) for value in row.values]
            return Row([_scaled(value) if row.double else single(value) for value in scaled], row.shape, row.double)
        case Unflatten(channels):
            return Row(row.values, (len(row.values) // channels, channels), row.double)
        case Flatten():
            return Row(row.values, (len(row.values),), row.double)
        case Affine(product):
            return _stepping(product, [row.values])
        case Convolution(product, stride, padding):
            return _convolution(product, stride, padding, row)
        case Spectrum(cosine, sine, shift):
            return _spectrum((cosine, sine), shift, row)
        case Statistics():
            return _statistics(row)
        case Concatenation(branches):
            every = [value for branch in branches for value in chain(branch, row).values]
            return Row(every, (len(every),))
        case Residual(layers):
            added = chain(layers, row).values
            return Row([single(_sum(*both)) for both in zip(row.values, added, strict=True)], row.shape)
        case Argmax(classes, codes):
            return Row([_decided(classes, codes, row.values)], (1,))
    raise TypeError(layer.op)


def chain(layers: tuple[Layer, ...], row: Row) -> Row:
    for layer in layers:
        row = compute(layer, row)
    return row


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** int(exponent)


def _scaled(value: Number) -> Number:
    """As it is, but where float32 has no normal number for it."""
    narrow = single(value)
    return narrow if isinstance(narrow, float) or abs(narrow) < _power(-126) else value


def _sum(first: Number, second: Number) -> Number:
    if isinstance(first, float) or isinstance(second, float):
        return (first if isinstance(first, float) else 0.0) + (second if isinstance(second, float) else 0.0)
    return first + second


def _quantise(layer: Quantise, row: Row) -> Row:
    found = []
    for shifts, factors in zip(layer.shift.tolist(), layer.factor.tolist(), strict=True):
        for value, shift, factor in zip(row.values, shifts, factors, strict=True):
            moved = _sum(single(value), -shift * _power(-layer.shift_scale))
            slope = factor * _power(-layer.factor_scale)
            moved = single(moved)
            moved = moved * (1 if slope > 0 else -1) if isinstance(moved, float) else single(moved * slope)
            found.append(clipped(moved, layer.clip))
    return Row(found, (len(found),))


def _stepping(product: Product, seen: list[list[Number]]) -> Row:
    """(step, output) of what the kernel sees at each step; for one step, flat."""
    weights = product.weights.reshape(-1, product.weights.shape[-1]).T.tolist()
    found, sizes = [], []
    for values in seen:
        whole = [_whole(value) for value in values]
        for output, each in enumerate(weights):
            bias = int(product.bias[output]) << product.bias_shift
            terms = [weight * value for weight, value in zip(each, whole, strict=True)]
            sizes.append(sum(map(abs, terms)) + abs(bias))
            found.append((sum(terms) + bias) * _power(-product.shift[output]))
    shape = (len(weights),) if product.weights.ndim == 2 else (len(seen), len(weights))
    return Row([int(value) if value.denominator == 1 else value for value in map(Fraction, found)], shape, double=True)


def _whole(value: Number) -> int:
    assert value == int(value), "what is added up is not whole"
    return int(value)


def _convolution(product: Product, stride: int, padding: int, row: Row) -> Row:
    channels, width = row.shape[1], len(product.weights)
    edge: list[Number] = [0] * (padding * channels)
    padded = [*edge, *row.values, *edge]
    starts = range(0, len(padded) - width * channels + 1, stride * channels)
    return _stepping(product, [padded[start : start + width * channels] for start in starts])


def _spectrum(turns: tuple[np.ndarray, ...], shift: int, row: Row) -> Row:
    samples, found = row.shape[0], []
    waves = [turn.tolist() for turn in turns]
    for frequency in range(samples // 2 + 1):
        for column in row.columns():
            squares = []
            for turn in waves:
                total = sum(turn[frequency * at % samples] * _whole(value) for at, value in enumerate(column))
                part = single(total * _power(-shift))
                squares.append(single(part * part))
            found.append(root(single(_sum(*squares))))
    return Row(found, (len(found),))


def _statistics(row: Row) -> Row:
    parts: list[list[Number]] = [[], [], [], []]
    for column in row.columns():
        whole, count = [_whole(value) for value in column], len(column)
        spread = count * sum(value * value for value in whole) - sum(whole) ** 2
        four = sum(whole) / count, math.sqrt(spread) / count, min(whole), max(whole)
        for part, value in zip(parts, four, strict=True):
            part.append(single(Fraction(value)))
    found = [value for part in parts for value in part]
    return Row(found, (len(found),))


def _decided(classes: tuple[int, ...], codes: np.ndarray, scores: list[Number]) -> int:
    combination, start = 0, 0
    for count in classes:
        some = scores[start : start + count]
        combination, start = combination * count + some.index(max(some)), start + count
    return int(codes[combination])
