"""Activations: one value in, one value out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import Float32s, Layer, Shape, tagged
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader


def _relu(rows: Float32s, out: Float32s | None = None) -> Float32s:
    return np.maximum(rows, np.float32(0), out=out)


def _sigmoid(rows: Float32s) -> Float32s:
    return np.asarray(np.float32(1) / (np.float32(1) + np.exp(-rows)))


def _unit(rows: Float32s) -> Float32s:
    """Into the public range [0, 1]."""
    return np.clip(rows, np.float32(0), np.float32(1))


FUNCTIONS: dict[str, Callable[[Float32s], Float32s]] = {
    "relu": _relu,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "clip": _unit,
}


@dataclass(frozen=True)
class Activation(Layer):
    """relu, tanh, sigmoid, or clip to [0, 1]."""

    function: str
    op: ClassVar[str] = "activation"

    def shape(self, given: Shape) -> Shape:
        return given

    def __call__(self, rows: Float32s) -> Float32s:
        return FUNCTIONS[self.function](rows)

    def overwriting(self, rows: Float32s) -> Float32s:
        return _relu(rows, out=rows) if self.function == "relu" else self(rows)

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"function": self.function})

    @classmethod
    def read(cls, fields: JsonReader, _: TensorReader) -> "Activation":
        function = fields.text("function")
        if function not in FUNCTIONS:
            raise BundleError(f"layer {cls.op}: the function is none of {', '.join(FUNCTIONS)}; train again")
        return cls(function)
