"""Layers that sum up a series: statistics, spectrum, and the piecewise linear encoding of numbers."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import Float32s, Layer, Shape, bounded, flat, series, tagged
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

TINY = np.float32(1e-6)
"""Under roots, so that training has a slope at zero."""
LONGEST_PRODUCT = 256
"""Samples up to which a Fourier transform is a matrix product, which takes less time than the fast transform then."""


@dataclass(frozen=True)
class Statistics(Layer):
    """(time, channel) to the channels' means, standard deviations, least and largest values, in this order."""

    op: ClassVar[str] = "statistics"

    def shape(self, given: Shape) -> Shape:
        return bounded((4 * series(given, self.op)[1],), self.op)

    def __call__(self, rows: Float32s) -> Float32s:
        # Reductions by name: the methods of an array look at their arguments for longer than one window takes.
        samples = np.float32(len(rows))
        mean = np.add.reduce(rows) / samples
        deviation = np.sqrt(np.add.reduce(np.square(rows - mean)) / samples + TINY)
        return np.concatenate([mean, deviation, np.minimum.reduce(rows), np.maximum.reduce(rows)])

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {})

    @classmethod
    def read(cls, _fields: JsonReader, _: TensorReader) -> "Statistics":
        return cls()


@dataclass(frozen=True)
class Spectrum(Layer):
    """(time, channel) to magnitudes of the Fourier transform over √time, flat as (frequency, channel)."""

    op: ClassVar[str] = "spectrum"

    def shape(self, given: Shape) -> Shape:
        samples, channels = series(given, self.op)
        return bounded(((samples // 2 + 1) * channels,), self.op)

    def work(self, given: Shape) -> int:
        return self.shape(given)[0] * min(2 * given[0], LONGEST_PRODUCT)

    def __call__(self, rows: Float32s) -> Float32s:
        samples, count = len(rows), rows.shape[-1]
        if samples > LONGEST_PRODUCT:
            transform = np.fft.rfft(rows, axis=0, norm="ortho")
            power = np.square(transform.real) + np.square(transform.imag)
        else:
            squares = _waves(samples) @ rows.reshape(samples, -1)
            np.square(squares, out=squares)
            power = squares[: len(squares) // 2]  # of cosines, then of sines
            power += squares[len(squares) // 2 :]
        power += TINY
        return np.asarray(np.sqrt(power, out=power).reshape(-1, count))

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {})

    @classmethod
    def read(cls, _fields: JsonReader, _: TensorReader) -> "Spectrum":
        return cls()


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Layer):
    """How far each value has come through each of its bins, 0 to 1: (value,) to (bin, value), flat.

    Low ends and widths are (bin, value). (Piecewise linear encoding; Gorishniy et al. 2022.)
    """

    low: Float32s
    width: Float32s
    op: ClassVar[str] = "piecewise linear"

    def shape(self, given: Shape) -> Shape:
        bins, values = self.low.shape
        if flat(given, self.op) != values or self.width.shape != self.low.shape or not (self.width > 0).all():
            raise BundleError(f"layer {self.op}: {bins} × {values} bins do not fit; train again")
        return bounded((bins * values,), self.op)

    def __call__(self, rows: Float32s) -> Float32s:
        share = rows - self.low[:, :, None]
        share *= self._per_width[:, :, None]
        np.clip(share, np.float32(0), np.float32(1), out=share)
        return np.asarray(share.reshape(-1, rows.shape[-1]))

    @cached_property
    def _per_width(self) -> Float32s:
        return np.asarray(np.float32(1) / self.width)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"low": tensors.put(self.low), "width": tensors.put(self.width)})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "PiecewiseLinear":
        return cls(tensors.floats(fields.text("low"), axes=2), tensors.floats(fields.text("width"), axes=2))


@lru_cache(maxsize=8)
def _waves(samples: int) -> Float32s:
    """The cosines (frequency, time), then the sines, of a Fourier transform over √time."""
    angles = 2 * np.pi / samples * np.outer(np.arange(samples // 2 + 1), np.arange(samples))
    return np.concatenate([np.cos(angles), np.sin(angles)], dtype=np.float32, casting="same_kind") / np.float32(
        samples**0.5
    )
