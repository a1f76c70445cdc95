"""Layers that arrange others: flat rows to series and back, branches side by side, a way around."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.layer import (
    LARGEST,
    Array,
    Layer,
    Prepared,
    Reach,
    Shape,
    Step,
    checked,
    flat,
    handed,
    require_float32,
    series,
    tagged,
)
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader


@dataclass(frozen=True)
class Unflatten(Layer):
    """A flat window (time · channels + channel) to a series (time, channel)."""

    channels: int
    op: ClassVar[str] = "unflatten"

    def prepare(self, given: Reach) -> Prepared:
        values = flat(given, self.op)
        if self.channels < 1 or values % self.channels:
            raise BundleError(f"layer {self.op}: {self.channels} channels do not divide a row; train again")
        return _reshaped(given, (values // self.channels, self.channels))

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"channels": self.channels})

    @classmethod
    def read(cls, fields: JsonReader, _: TensorReader) -> "Unflatten":
        return cls(fields.integer("channels"))


@dataclass(frozen=True)
class Flatten(Layer):
    """A series (time, channel) to a flat row, channel fastest."""

    op: ClassVar[str] = "flatten"

    def prepare(self, given: Reach) -> Prepared:
        time, channels = series(given, self.op)
        return _reshaped(given, (time * channels,))

    def to_json(self, _: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {})

    @classmethod
    def read(cls, _fields: JsonReader, _: TensorReader) -> "Flatten":
        return cls()


def _reshaped(given: Reach, shape: Shape) -> Prepared:
    """The same memory in another shape."""

    def step(rows: Array, out: Array | None) -> Array:
        return handed(rows.reshape(*shape, -1), out)

    return Prepared(step, replace(given, most=given.most.reshape(shape)), 0)


@dataclass(frozen=True)
class Concatenation(Layer):
    """Several chains of layers on the same rows, their flat results side by side; an empty chain is the row itself."""

    branches: tuple[tuple[Layer, ...], ...]
    op: ClassVar[str] = "concatenation"

    def prepare(self, given: Reach) -> Prepared:
        chains = [prepare(branch, replace(given, ours=False)) for branch in self.branches]
        for chain in chains:
            require_float32(chain.reach, self.op)
        ends = np.cumsum([flat(chain.reach, self.op) for chain in chains]).tolist()
        width = checked((ends[-1],), self.op)[0]
        parts = [(chain.step, slice(start, end)) for chain, start, end in zip(chains, [0, *ends], ends, strict=False)]

        def step(rows: Array, out: Array | None) -> Array:
            values = np.empty((width, rows.shape[-1]), np.float32) if out is None else out
            for each, place in parts:
                each(rows, values[place])
            return values

        reach = Reach(np.concatenate([chain.reach.most for chain in chains]), all(c.reach.whole for c in chains))
        return Prepared(step, reach, width)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        branches = [[layer.to_json(tensors) for layer in branch] for branch in self.branches]
        return tagged(self.op, {"branches": branches})


@dataclass(frozen=True)
class Residual(Layer):
    """x + layers(x)."""

    layers: tuple[Layer, ...]
    op: ClassVar[str] = "residual"

    def prepare(self, given: Reach) -> Prepared:
        chain = prepare(self.layers, replace(given, ours=False))
        if chain.reach.shape != given.shape:
            raise BundleError(f"layer {self.op}: what is added has another shape; train again")
        whole = given.whole and chain.reach.whole
        most = (given.most + chain.reach.most) * (1.0 if whole else 1 + 1e-6)  # sums that are not whole are rounded
        reach = Reach(most, whole=whole)
        for each in (given, chain.reach, reach):
            require_float32(each, self.op)

        def step(rows: Array, out: Array | None) -> Array:
            added = chain.step(rows, None)
            return np.add(rows, added, out=out, casting="same_kind")

        return Prepared(step, reach, given.most.size)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return tagged(self.op, {"layers": [layer.to_json(tensors) for layer in self.layers]})


def prepare(layers: Sequence[Layer], given: Reach) -> Prepared:
    """All layers in turn as one."""
    steps = list[Step]()
    for layer in layers:
        prepared = layer.prepare(given)
        steps.append(prepared.step)
        most = prepared.reach.most
        given = replace(prepared.reach, most=np.where(most < LARGEST, most, np.inf), footprint=given.footprint)
        given.footprint.spend(prepared.work)
    return Prepared(partial(_run, tuple(steps)), given, 0)


def _run(steps: tuple[Step, ...], rows: Array, out: Array | None) -> Array:
    if not steps:
        return handed(rows, out)
    for step in steps[:-1]:
        rows = step(rows, None)
    return steps[-1](rows, out)
