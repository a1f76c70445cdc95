"""Layers that multiply and add: affine maps, a scale for each value, convolution in time."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import Float32s, Layer, Shape, bounded, flat, series, tagged
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader


@dataclass(frozen=True, eq=False)
class Affine(Layer):
    """x W + b; weights is (input, output)."""

    weights: Float32s
    bias: Float32s
    op: ClassVar[str] = "affine"

    def shape(self, given: Shape) -> Shape:
        inputs, outputs = self.weights.shape
        if flat(given, self.op) != inputs or self.bias.shape != (outputs,):
            raise BundleError(f"layer {self.op}: {inputs} × {outputs} weights do not fit; train again")
        return (outputs,)

    def work(self, _: Shape) -> int:
        return self.weights.size

    def __call__(self, rows: Float32s) -> Float32s:
        product = self.weights.T @ rows
        product += self.bias[:, None]
        return product

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"weights": tensors.put(self.weights), "bias": tensors.put(self.bias)})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Affine":
        return cls(tensors.floats(fields.text("weights"), axes=2), tensors.floats(fields.text("bias"), axes=1))


@dataclass(frozen=True, eq=False)
class Scale(Layer):
    """(x − shift) · factor + offset, value by value; subtracting first loses no digits of values that hardly move."""

    shift: Float32s
    factor: Float32s
    offset: Float32s
    op: ClassVar[str] = "scale"

    def shape(self, given: Shape) -> Shape:
        if {self.shift.shape, self.factor.shape, self.offset.shape} != {(flat(given, self.op),)}:
            raise BundleError(f"layer {self.op}: {self.factor.size} factors do not fit; train again")
        return given

    def __call__(self, rows: Float32s) -> Float32s:
        return self.overwriting(rows.copy())

    def overwriting(self, rows: Float32s) -> Float32s:
        if self._shifts:
            rows -= self.shift[:, None]
        rows *= self.factor[:, None]
        if self._offsets:
            rows += self.offset[:, None]
        return rows

    @cached_property
    def _shifts(self) -> bool:
        return bool(self.shift.any())

    @cached_property
    def _offsets(self) -> bool:
        return bool(self.offset.any())

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        numbers = {"shift": self.shift, "factor": self.factor, "offset": self.offset}
        return tagged(self.op, {name: tensors.put(array) for name, array in numbers.items()})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Scale":
        return cls(*(tensors.floats(fields.text(name), axes=1) for name in ("shift", "factor", "offset")))


@dataclass(frozen=True, eq=False)
class Convolution(Layer):
    """Convolution in time with zero padding; kernel is (time, input channel, output channel)."""

    kernel: Float32s
    bias: Float32s
    stride: int
    padding: int
    op: ClassVar[str] = "convolution"

    def shape(self, given: Shape) -> Shape:
        (length, channels), (width, inputs, outputs) = series(given, self.op), self.kernel.shape
        fits = channels == inputs and self.bias.shape == (outputs,)
        padded = length + 2 * self.padding
        if not (fits and 0 <= self.padding < width <= padded and 1 <= self.stride <= padded):
            raise BundleError(f"layer {self.op}: a kernel of {width} × {inputs} × {outputs} does not fit; train again")
        steps = self._steps(length)
        bounded((steps, width * (inputs + 1)), self.op)
        return bounded((steps, outputs), self.op)

    def work(self, given: Shape) -> int:
        return self.shape(given)[0] * self.kernel.size

    def __call__(self, rows: Float32s) -> Float32s:
        length, inputs, count = rows.shape
        padded = np.empty((length + 2 * self.padding, inputs + 1, count), np.float32)
        padded[: self.padding] = padded[self.padding + length :] = 0
        padded[self.padding : self.padding + length, :inputs] = rows
        padded[:, inputs] = 1  # what the bias is multiplied with: adding it afterwards would be one more pass
        time, value, row = padded.strides
        # What the kernel sees at a step lies together in memory: a matrix for each step, none of them copied.
        seen: Float32s = np.ndarray(
            (self._steps(length), len(self._weights), count),
            np.float32,
            padded,
            strides=(self.stride * time, value, row),
        )
        return self._weights.T @ seen

    @cached_property
    def _weights(self) -> Float32s:
        """(time · (input channel + 1), output channel); the last of the first step's inputs carries the bias."""
        width, inputs, outputs = self.kernel.shape
        weights = np.zeros((width, inputs + 1, outputs), np.float32)
        weights[:, :inputs], weights[0, inputs] = self.kernel, self.bias
        return weights.reshape(-1, outputs)

    def _steps(self, length: int) -> int:
        return (length + 2 * self.padding - len(self.kernel)) // self.stride + 1

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        sizes = {"stride": self.stride, "padding": self.padding}
        return tagged(self.op, {"kernel": tensors.put(self.kernel), "bias": tensors.put(self.bias), **sizes})

    @classmethod
    def read(cls, fields: JsonReader, tensors: TensorReader) -> "Convolution":
        kernel, bias = tensors.floats(fields.text("kernel"), axes=3), tensors.floats(fields.text("bias"), axes=1)
        return cls(kernel, bias, fields.integer("stride"), fields.integer("padding"))
