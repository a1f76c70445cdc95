"""Layers that arrange others, and the closed vocabulary of layers: nothing else can be run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.layer import Array, Bounds, Layer, Prepared, Shape, Step, checked, handed
from deeprotect.bundle.layers.products import Affine, Convolution, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader


@dataclass(frozen=True)
class Unflatten(Layer):
    """Maps a flat window (time · channels + channel) to a series (time, channel)."""

    channels: int
    op: ClassVar[str] = "unflatten"

    def prepare(self, given: Bounds) -> Prepared:
        values = given.flat(self.op)
        if self.channels < 1 or values % self.channels:
            raise BundleError(f"layer {self.op}: {self.channels} channels do not divide a row; train again")
        return _reshaped(given, (values // self.channels, self.channels))


@dataclass(frozen=True)
class Flatten(Layer):
    """Maps a series (time, channel) to a flat row, channel fastest."""

    op: ClassVar[str] = "flatten"

    def prepare(self, given: Bounds) -> Prepared:
        time, channels = given.series(self.op)
        return _reshaped(given, (time * channels,))


def _reshaped(given: Bounds, shape: Shape) -> Prepared:
    """Reshapes rows without a copy."""

    def step(rows: Array, out: Array | None) -> Array:
        return handed(rows.reshape(*shape, -1), out)

    return Prepared(step, replace(given, low=given.low.reshape(shape), high=given.high.reshape(shape)), 0)


@dataclass(frozen=True)
class Concatenation(Layer):
    """Concatenates the flat results of several chains of layers on the same rows; an empty chain is the identity."""

    branches: tuple[tuple[Layer, ...], ...]
    op: ClassVar[str] = "concatenation"

    def prepare(self, given: Bounds) -> Prepared:
        chains = [prepare(branch, replace(given, ours=False)) for branch in self.branches]
        for chain in chains:
            chain.bounds.require_float32(self.op)
        ends = np.cumsum([chain.bounds.flat(self.op) for chain in chains]).tolist()
        width = checked((ends[-1],), self.op)[0]
        parts = [(chain.step, slice(start, end)) for chain, start, end in zip(chains, [0, *ends], ends, strict=False)]

        def step(rows: Array, out: Array | None) -> Array:
            values = np.empty((width, rows.shape[-1]), np.float32) if out is None else out
            for each, place in parts:
                each(rows, values[place])
            return values

        made = [chain.bounds for chain in chains]
        low, high = np.concatenate([each.low for each in made]), np.concatenate([each.high for each in made])
        return Prepared(step, Bounds(low, high, whole=all(each.whole for each in made)), width)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        branches = [[layer.to_json(tensors) for layer in branch] for branch in self.branches]
        return {"op": self.op, "branches": branches}


@dataclass(frozen=True)
class Residual(Layer):
    """x + layers(x)."""

    layers: tuple[Layer, ...]
    op: ClassVar[str] = "residual"

    def prepare(self, given: Bounds) -> Prepared:
        chain = prepare(self.layers, replace(given, ours=False))
        if chain.bounds.shape != given.shape:
            raise BundleError(f"layer {self.op}: what is added has another shape; train again")
        low, high = given.low + chain.bounds.low, given.high + chain.bounds.high
        whole = given.whole and chain.bounds.whole
        bounds = Bounds(low, high, whole=True) if whole else Bounds.rounded(low, high)
        for each in (given, chain.bounds, bounds):
            each.require_float32(self.op)

        def step(rows: Array, out: Array | None) -> Array:
            added = chain.step(rows, None)
            return np.add(rows, added, out=out, casting="same_kind")

        return Prepared(step, bounds, given.low.size)

    def to_json(self, tensors: TensorWriter) -> dict[str, Any]:
        return {"op": self.op, "layers": [layer.to_json(tensors) for layer in self.layers]}


def prepare(layers: Sequence[Layer], given: Bounds) -> Prepared:
    """Prepares a chain of layers as one."""
    steps = list[Step]()
    for layer in layers:
        prepared = layer.prepare(given)
        steps.append(prepared.step)
        given = given.after(prepared)
    return Prepared(partial(_run, tuple(steps)), given, 0)


def _run(steps: tuple[Step, ...], rows: Array, out: Array | None) -> Array:
    if not steps:
        return handed(rows, out)
    for step in steps[:-1]:
        rows = step(rows, None)
    return steps[-1](rows, out)


_LAYERS = (Affine, Argmax, Convolution, Erase, Flatten, Quantise, Round, Scale, Spectrum, Statistics, Table, Unflatten)
SIMPLE: dict[str, Callable[[JsonReader, TensorReader], Layer]] = {layer.op: layer.read for layer in _LAYERS}
OPS = (*SIMPLE, Concatenation.op, Residual.op)
MOST_LAYERS, DEEPEST = 256, 4
"""The most layers of a network, including those in branches, and the deepest nesting of chains."""


def read_layers(listed: Any, tensors: TensorReader) -> tuple[Layer, ...]:
    """Reads layers from a list of JSON objects; limits their number and nesting."""
    return _Reading(tensors).chain(listed, depth=0)


@dataclass
class _Reading:
    tensors: TensorReader
    left: int = MOST_LAYERS

    def chain(self, listed: Any, *, depth: int) -> tuple[Layer, ...]:
        self.left -= len(listed) if isinstance(listed, list) else 0
        if not isinstance(listed, list) or self.left < 0 or depth > DEEPEST:
            raise BundleError(f"a network must be a list of at most {MOST_LAYERS} layers, {DEEPEST} deep; train again")
        return tuple(self._layer(JsonReader(fields, "layer"), depth) for fields in listed)

    def _layer(self, fields: JsonReader, depth: int) -> Layer:
        op = fields.text("op")
        if op == Residual.op:
            return Residual(self.chain(fields.fields.get("layers"), depth=depth + 1))
        if op == Concatenation.op:
            branches = fields.fields.get("branches")
            if not isinstance(branches, list) or not 1 <= len(branches) <= MOST_LAYERS:
                raise BundleError(f"layer {op}: it needs a list of branches; train again")
            return Concatenation(tuple(self.chain(each, depth=depth + 1) for each in branches))
        if op not in SIMPLE:
            raise BundleError(f"a layer is none of those this version knows: {', '.join(OPS)}; train again or upgrade")
        return SIMPLE[op](fields, self.tensors)
