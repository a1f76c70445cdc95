"""Layers from a manifest: the closed vocabulary. What is not in it cannot be run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.layers.products import Affine, Convolution, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten
from deeprotect.bundle.layers.tensors import TensorReader
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

SIMPLE: dict[str, Callable[[JsonReader, TensorReader], Layer]] = {
    layer.op: layer.read
    for layer in (
        Affine,
        Argmax,
        Convolution,
        Flatten,
        Quantise,
        Round,
        Scale,
        Spectrum,
        Statistics,
        Table,
        Unflatten,
    )
}
OPS = (*SIMPLE, Concatenation.op, Residual.op)
MOST_LAYERS, DEEPEST = 256, 4
"""Of a network, those in branches included, and of chains inside chains."""


def read_layers(listed: Any, tensors: TensorReader) -> tuple[Layer, ...]:
    """The layers that a list of JSON objects names; few enough, and not nested without end."""
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
