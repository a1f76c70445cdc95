"""Layers from a manifest: the closed vocabulary. What is not in it cannot be run."""

from collections.abc import Callable
from typing import Any

from deeprotect.bundle.layers.activations import Activation
from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.layers.products import Affine, Convolution, Scale
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten
from deeprotect.bundle.layers.summaries import PiecewiseLinear, Spectrum, Statistics
from deeprotect.bundle.layers.tensors import TensorReader
from deeprotect.errors import BundleError
from deeprotect.privacy.json_reader import JsonReader

SIMPLE: dict[str, Callable[[JsonReader, TensorReader], Layer]] = {
    layer.op: layer.read
    for layer in (
        Activation,
        Affine,
        Argmax,
        Convolution,
        Flatten,
        PiecewiseLinear,
        Scale,
        Spectrum,
        Statistics,
        Unflatten,
    )
}
OPS = (*SIMPLE, Concatenation.op, Residual.op)
MOST_LAYERS, DEEPEST = 256, 4
"""Of one chain, and of chains inside chains."""


def read_layers(listed: Any, tensors: TensorReader, *, depth: int = 0) -> tuple[Layer, ...]:
    """The layers that a list of JSON objects names; few enough, and not nested without end."""
    if not isinstance(listed, list) or len(listed) > MOST_LAYERS or depth > DEEPEST:
        raise BundleError(f"a network must be a list of at most {MOST_LAYERS} layers, {DEEPEST} deep; train again")
    return tuple(_layer(JsonReader(fields, "layer"), tensors, depth) for fields in listed)


def _layer(fields: JsonReader, tensors: TensorReader, depth: int) -> Layer:
    op = fields.text("op")
    if op == Residual.op:
        return Residual(read_layers(fields.fields.get("layers"), tensors, depth=depth + 1))
    if op == Concatenation.op:
        branches = fields.fields.get("branches")
        if not isinstance(branches, list) or not 1 <= len(branches) <= MOST_LAYERS:
            raise BundleError(f"layer {op}: it needs a list of branches; train again")
        return Concatenation(tuple(read_layers(each, tensors, depth=depth + 1) for each in branches))
    if op not in SIMPLE:
        raise BundleError(f"a layer is none of those this version knows: {', '.join(OPS)}; train again or upgrade")
    return SIMPLE[op](fields, tensors)
