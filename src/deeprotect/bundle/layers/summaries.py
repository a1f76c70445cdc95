"""Layers that sum up a series: statistics, spectrum, and the piecewise linear encoding of numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import Float32s, Layer, Shape, bounded, flat, series, tagged
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

TINY = np.float32(1e-6)
"""Under roots, so that training has a slope at zero."""


@dataclass(frozen=True)
class Statistics(Layer):
    """(time, channel) to the channels' means, standard deviations, least and largest values, in this order."""

    op: ClassVar[str] = "statistics"

    def shape(self, given: Shape) -> Shape:
        return bounded((4 * series(given, self.op)[1],), self.op)

    def __call__(self, rows: Float32s) -> Float32s:
        series = np.ascontiguousarray(rows.swapaxes(0, 1))  # (time, row, channel): sums over the first axis are fast
        mean = series.mean(axis=0)
        deviation = np.sqrt(np.square(series - mean).mean(axis=0) + TINY)
        return np.concatenate([mean, deviation, series.min(axis=0), series.max(axis=0)], axis=1)

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

    def __call__(self, rows: Float32s) -> Float32s:
        transform = np.fft.rfft(rows, axis=1, norm="ortho")
        power = np.square(transform.real) + np.square(transform.imag)
        return np.sqrt(power + TINY).reshape(len(rows), -1)

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
        share = (rows[:, None, :] - self.low) / self.width
        return np.asarray(np.clip(share, np.float32(0), np.float32(1)).reshape(len(rows), -1))

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"low": tensors.put(self.low), "width": tensors.put(self.width)})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "PiecewiseLinear":
        return cls(tensors.floats(fields.text("low"), axes=2), tensors.floats(fields.text("width"), axes=2))
