"""Layers that arrange others: flat rows to series and back, branches side by side, a way around."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import Float32s, Layer, Shape, bounded, flat, series, tagged
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader


@dataclass(frozen=True)
class Unflatten(Layer):
    """A flat window (time · channels + channel) to a series (time, channel)."""

    channels: int
    op: ClassVar[str] = "unflatten"

    def shape(self, given: Shape) -> Shape:
        values = flat(given, self.op)
        if self.channels < 1 or values % self.channels:
            raise BundleError(f"layer {self.op}: {self.channels} channels do not divide a row; train again")
        return (values // self.channels, self.channels)

    def __call__(self, rows: Float32s) -> Float32s:
        return rows.reshape(-1, self.channels, rows.shape[-1])

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"channels": self.channels})

    @classmethod
    def read(cls, fields: JsonReader, _: TensorReader) -> "Unflatten":
        return cls(fields.integer("channels"))


@dataclass(frozen=True)
class Flatten(Layer):
    """A series (time, channel) to a flat row, channel fastest."""

    op: ClassVar[str] = "flatten"

    def shape(self, given: Shape) -> Shape:
        time, channels = series(given, self.op)
        return (time * channels,)

    def __call__(self, rows: Float32s) -> Float32s:
        return rows.reshape(-1, rows.shape[-1])

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {})

    @classmethod
    def read(cls, _fields: JsonReader, _: TensorReader) -> "Flatten":
        return cls()


@dataclass(frozen=True)
class Concatenation(Layer):
    """Several chains of layers on the same rows, their flat results side by side; an empty chain is the row itself."""

    branches: tuple[tuple[Layer, ...], ...]
    op: ClassVar[str] = "concatenation"

    def shape(self, given: Shape) -> Shape:
        widths = [flat(through(branch, given), self.op) for branch in self.branches]
        return bounded((sum(widths),), self.op)

    def work(self, given: Shape) -> int:
        return sum(work_of(branch, given) for branch in self.branches)

    def __call__(self, rows: Float32s) -> Float32s:
        return np.concatenate([run(branch, rows) for branch in self.branches])

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        branches = [[layer.to_json(tensors) for layer in branch] for branch in self.branches]
        return tagged(self.op, {"branches": branches})


@dataclass(frozen=True)
class Residual(Layer):
    """x + layers(x)."""

    layers: tuple[Layer, ...]
    op: ClassVar[str] = "residual"

    def shape(self, given: Shape) -> Shape:
        if through(self.layers, given) != given:
            raise BundleError(f"layer {self.op}: what is added has another shape; train again")
        return given

    def work(self, given: Shape) -> int:
        return work_of(self.layers, given)

    def __call__(self, rows: Float32s) -> Float32s:
        return np.asarray(rows + run(self.layers, rows))

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"layers": [layer.to_json(tensors) for layer in self.layers]})


def through(layers: Sequence[Layer], given: Shape) -> Shape:
    """The shape of a row after all layers."""
    for layer in layers:
        given = layer.shape(given)
    return given


def work_of(layers: Sequence[Layer], given: Shape) -> int:
    """Multiplications, roughly, of all layers for one row; shapes fit."""
    total = 0
    for layer in layers:
        total, given = total + layer.work(given), layer.shape(given)
    return total


def run(layers: Sequence[Layer], rows: Float32s, *, ours: bool = False) -> Float32s:
    """All layers in turn; rows that are `ours` may be overwritten, as what a layer has made always may."""
    for layer in layers:
        rows = layer.overwriting(rows) if ours else layer(rows)
        ours = ours or not isinstance(layer, Flatten | Unflatten)  # those give the same memory another shape
    return rows
