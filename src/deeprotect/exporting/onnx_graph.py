"""Layers as an ONNX graph: the same whole numbers, products in float64, so that sums are exact in any runtime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.erasing import MIDDLE, WHOLE_RANGE, WINDOW_BITS, Erase
from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum, Statistics
from deeprotect.bundle.layers.rounding import Argmax, Clip, Quantise, Round, Scale, Table
from deeprotect.bundle.layers.structure import Concatenation, Flatten, Residual, Unflatten
from deeprotect.bundle.network import GRID, EpisodeEncoder
from deeprotect.errors import BundleError
from deeprotect.signals import Schema
from deeprotect.version import __version__

OPSET, IR = 17, 8
FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64


class OnnxGraph:
    """Nodes in the order in which they were added; every method returns the name of its result."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, kind: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, dtype=kind), name))
        return name

    def double(self, value: Any) -> str:
        return self.constant(value, np.float64)

    def single(self, value: Any) -> str:
        return self.constant(value, np.float32)

    def whole(self, value: Any) -> str:
        return self.constant(value, np.int64)

    def cast(self, given: str, to: int) -> str:
        return self.node("Cast", given, to=to)

    def reshape(self, given: str, *shape: int) -> str:
        return self.node("Reshape", given, self.whole(shape))

    def model(self, result: str, *, given: tuple[str, int, list[Any]], named: tuple[str, int, list[Any]]) -> bytes:
        """A checked model with one input and one output, each a name, a type and a shape."""
        self._nodes.append(helper.make_node("Identity", [result], [named[0]]))
        ends = [[helper.make_tensor_value_info(*end)] for end in (given, named)]
        graph = helper.make_graph(self._nodes, "deeprotect", *ends, initializer=self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(
            graph, opset_imports=opset, ir_version=IR, producer_name="deeprotect", producer_version=__version__
        )
        onnx.checker.check_model(made, full_check=True)
        return bytes(made.SerializeToString())

    def chain(self, layers: Sequence[Layer], given: str) -> str:
        """Apply all layers to rows (row, …) in turn."""
        for layer in layers:
            given = self.layer(layer, given)
        return given

    def layer(self, layer: Layer, given: str) -> str:
        match layer:
            case Erase():
                return self._erased(layer, given)
            case Quantise(clip=clip):
                return self._quantise(layer, clip, given)
            case Round(clip=clip):
                return self._rounded(given, clip)
            case Table(values=values, low=low):
                return self._table(given, values, Clip(low, low + len(values) - 1))
            case Scale(shift=shift):
                return self.node("Mul", self.cast(given, DOUBLE), self.double(2.0**-shift))
            case Unflatten(channels=channels):
                return self.node("Reshape", given, self.whole([0, -1, channels]))
            case Flatten():
                return self.reshape(given, 0, -1)
            case Affine(product=product):
                return self._product(self.cast(given, DOUBLE), product, product.weights)
            case Convolution():
                return self._convolution(layer, given)
            case Spectrum():
                return self._spectrum(layer, given)
            case Statistics():
                return self._statistics(given)
            case Concatenation(branches=branches):
                parts = [self.cast(self.chain(branch, given), FLOAT) for branch in branches]
                return self.node("Concat", *parts, axis=1)
            case Residual(layers=layers):
                added = self.cast(self.chain(layers, given), FLOAT)
                return self.node("Add", self.cast(given, FLOAT), added)
            case Argmax():
                return self.decide(layer, self.cast(given, DOUBLE))
        raise BundleError(f"layer {layer.op} cannot be converted to ONNX")

    def _rounded(self, given: str, clip: Clip) -> str:
        """Round to the nearest whole number, halves to even; NaN counts as 0."""
        values = self.cast(given, DOUBLE)
        values = self.node("Where", self.node("IsNaN", values), self.double(0.0), values)
        return self.node("Clip", self.node("Round", values), self.double(clip.low), self.double(clip.high))

    def _erased(self, layer: Erase, given: str) -> str:
        steps = self._rounded(self.node("Mul", self.cast(given, DOUBLE), self.double(1 << WINDOW_BITS)), WHOLE_RANGE)
        steps = self.node("Sub", steps, self.double(MIDDLE))
        pivots = self.node("Gather", steps, self.whole(layer.pivots), axis=1)
        moved = self.node("MatMul", pivots, self.double(layer.directions.T))
        return self.node("Sub", steps, self.node("Round", moved))

    def _quantise(self, layer: Quantise, clip: Clip, given: str) -> str:
        shift, factor = (ramp[:, :, 0][None] for ramp in layer.ramps)
        copies, values = layer.shift.shape
        rows = self.reshape(self.cast(given, FLOAT), -1, 1, values)
        moved = self.node("Mul", self.node("Sub", rows, self.single(shift)), self.single(factor))
        return self._rounded(self.reshape(moved, -1, copies * values), clip)

    def _table(self, given: str, values: Any, clip: Clip) -> str:
        place = self.node("Sub", self._rounded(given, clip), self.double(clip.low))
        return self.node("Gather", self.double(values), self.cast(place, INT64))

    def _product(self, rows: str, product: Product, weights: Any) -> str:
        """Matrix product: sums of whole numbers below 2^52 are exact in float64, and so is scaling by a power of
        two."""
        sums = self.node("Add", self.node("MatMul", rows, self.double(weights)), self.double(product.whole_bias))
        return self.node("Mul", sums, self.double(np.ldexp(1.0, -product.shift)))

    def _convolution(self, layer: Convolution, given: str) -> str:
        weights = layer.product.weights
        width, inputs, outputs = weights.shape
        pads = self.whole([0, layer.padding, 0, 0, layer.padding, 0])
        padded = self.node("Pad", self.cast(given, DOUBLE), pads, self.double(0.0))
        # For each start in time that the stride allows, its neighbours: one slice for each position of the kernel.
        last = [place - width + 1 or np.iinfo(np.int64).max for place in range(width)]
        slices = [
            self.node("Slice", padded, *(self.whole([value]) for value in (place, end, 1, layer.stride)))
            for place, end in enumerate(last)
        ]
        stacked = self.node("Concat", *slices, axis=2)
        return self._product(stacked, layer.product, weights.reshape(width * inputs, outputs))

    def _spectrum(self, layer: Spectrum, given: str) -> str:
        samples = len(layer.cosine)
        turns = np.outer(np.arange(samples), np.arange(samples // 2 + 1)) % samples
        columns = self.node("Transpose", self.cast(given, DOUBLE), perm=[0, 2, 1])
        squares = []
        for wave in (layer.cosine, layer.sine):
            sums = self.node("MatMul", columns, self.double(wave[turns]))
            part = self.cast(self.node("Mul", sums, self.double(2.0**-layer.shift)), FLOAT)
            squares.append(self.node("Mul", part, part))
        magnitudes = self.node("Sqrt", self.node("Add", *squares))
        return self.reshape(self.node("Transpose", magnitudes, perm=[0, 2, 1]), 0, -1)

    def _statistics(self, given: str) -> str:
        values = self.cast(given, DOUBLE)
        axis, count = self.whole([1]), self.cast(self.node("Shape", values, start=1, end=2), DOUBLE)
        total = self.node("ReduceSum", values, axis)
        squares = self.node("ReduceSum", self.node("Mul", values, values), axis)
        spread = self.node("Sub", self.node("Mul", squares, count), self.node("Mul", total, total))
        parts = [
            self.node("Div", total, count),
            self.node("Div", self.node("Sqrt", spread), count),
            self.node("ReduceMin", values, axes=[1]),
            self.node("ReduceMax", values, axes=[1]),
        ]
        return self.reshape(self.cast(self.node("Concat", *parts, axis=1), FLOAT), 0, -1)

    def decide(self, layer: Argmax, scores: str) -> str:
        """The code for scores (row, class)."""
        combination, start = self.whole([[0]]), 0
        for count in layer.classes:
            some = self.node("Slice", scores, self.whole([start]), self.whole([start + count]), self.whole([1]))
            best = self.node("ArgMax", some, axis=1, keepdims=1)
            combination = self.node("Add", self.node("Mul", combination, self.whole([[count]])), best)
            start += count
        return self.node("Gather", self.double(layer.codes), combination)


def encoder_model(bundle: Bundle) -> bytes:
    """Model from `windows` (window, time, channel) in units, all that one draw observes, to `code` (1, coordinate)."""
    graph, encoder = OnnxGraph(), EpisodeEncoder.of(bundle.encoder, bundle.hold, None)
    rows = graph.cast(graph.reshape(_scaled(graph, bundle.schema), -1, bundle.schema.dim), FLOAT)
    evidence = graph.cast(graph.chain(encoder.evidence.layers, rows), DOUBLE)
    code = evidence if encoder.single else _pooled(graph, encoder, evidence)
    shape = [None, bundle.schema.window, len(bundle.schema.channels)]
    return graph.model(code, given=("windows", DOUBLE, shape), named=("code", DOUBLE, [None, bundle.encoder.outputs]))


def _scaled(graph: OnnxGraph, schema: Schema) -> str:
    """Clip to the public range and scale to [0, 1]; NaN stays NaN, which the encoder accepts."""
    low, high = graph.double(schema.low), graph.double(schema.high)
    clipped = graph.node("Min", graph.node("Max", "windows", low), high)
    kept = graph.node("Where", graph.node("IsNaN", "windows"), "windows", clipped)
    return graph.node("Div", graph.node("Sub", kept, low), graph.double(schema.high - schema.low))


def _pooled(graph: OnnxGraph, encoder: EpisodeEncoder, evidence: str) -> str:
    """The code of an episode: the sum of its windows' evidence."""
    if encoder.decision is not None:
        return graph.decide(encoder.decision, graph.node("ReduceSum", evidence, graph.whole([0])))
    windows = graph.cast(graph.node("Shape", evidence, start=0, end=1), DOUBLE)
    on_grid = graph.node(
        "Mul", graph.node("Round", graph.node("Div", evidence, graph.double(GRID))), graph.double(GRID)
    )
    return graph.node("Div", graph.node("ReduceSum", on_grid, graph.whole([0])), windows)


def outputs_model(bundle: Bundle) -> bytes:
    """Model from `index` (window,) to `windows` (window, time, channel) in units."""
    graph, count = OnnxGraph(), bundle.mechanism.public_outputs or 0
    windows = bundle.decode(np.arange(count, dtype=np.float64)[:, None])
    shape = [None, bundle.schema.window, len(bundle.schema.channels)]
    found = graph.node("Gather", graph.double(windows), "index")
    return graph.model(found, given=("index", INT64, [None]), named=("windows", DOUBLE, shape))
