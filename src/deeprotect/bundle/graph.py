"""Reading an ONNX graph as a chain of layers with known bounds; needs the `onnx` package, which a release does not.

A graph that is anything else is refused with the operator that was not understood: guesses prove nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from deeprotect.errors import BundleError, DeeprotectError
from deeprotect.privacy.network import Activation, Affine, Conv1d, Flatten, Fold, Interval, Layer
from deeprotect.signals.schema import Floats

FLOAT32 = 1  # onnx.TensorProto.FLOAT
_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}


class UnknownStepError(DeeprotectError):
    """A step of a graph that has no bound here; the message names it."""


@dataclass(frozen=True)
class Clamp:
    """Values back into [least, most]."""

    least: float
    most: float

    def interval(self, low: Floats, high: Floats) -> Interval:
        return np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)

    def lipschitz(self) -> float:
        return 1.0


@dataclass(frozen=True)
class _Node:
    """One step: its operator, the constants beside the one moving value, and where that value stands."""

    op: str
    constants: tuple[Floats, ...]
    place: int
    attributes: dict[str, Any]


def present() -> bool:
    """Whether graphs can be read in this installation."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        return False
    return True


def layers_of(content: bytes, inputs: int) -> list[Layer]:
    """The graph's layers for inputs of that many values; UnknownStepError when it is not such a chain."""
    layers: list[Layer] = []
    bounds = np.zeros(inputs), np.ones(inputs)
    nodes = list(_chain(_model(content)))
    while nodes:
        layer, taken = _layer(nodes, bounds[0].shape)
        nodes = nodes[taken:]
        if layer is not None:
            layers.append(layer)
            bounds = layer.interval(*bounds)
    return layers


def rows_of_table(content: bytes) -> tuple[int, int]:
    """(rows, values) of the table that a look-up decoder ends in."""
    graph = _model(content).graph
    last = graph.node[-1] if graph.node else None
    tables = {each.name: tuple(each.dims) for each in graph.initializer if each.data_type == FLOAT32}
    if last is None or last.op_type not in ("Gather", "GatherND") or len(tables.get(last.input[0], ())) != 2:
        raise UnknownStepError("the graph does not end in a table that is looked up")
    return tables[last.input[0]]


def operators(content: bytes) -> list[str]:
    """All operators; refused when the graph is not closed: foreign operators, inner graphs, data in other files."""
    model = _model(content)
    foreign = [node.op_type for node in model.graph.node if node.domain not in ("", "ai.onnx")]
    inner = [node.op_type for node in model.graph.node if any(a.g.node or len(a.graphs) for a in node.attribute)]
    outside = [each.name for each in model.graph.initializer if each.data_location or len(each.external_data)]
    for wrong, what in ((foreign, "a foreign operator"), (inner, "an inner graph"), (outside, "data in another file")):
        if wrong:
            raise BundleError(f"the graph has {what}: {wrong[0]}")
    if len(model.functions) or len(model.graph.sparse_initializer):
        raise BundleError("the graph has functions or sparse data of its own; train again")
    return sorted({node.op_type for node in model.graph.node})


def _model(content: bytes) -> Any:
    import onnx

    try:
        return onnx.load_from_string(content)
    except Exception:  # protobuf's own type, and it has moved between versions
        raise BundleError("the network is not an ONNX graph; get a fresh copy of the bundle") from None


def _chain(model: Any) -> Iterator[_Node]:
    """The nodes in order, each fed by the one before and by constants alone."""
    from onnx import helper, numpy_helper

    graph = model.graph
    constants = {each.name: _array(each, numpy_helper) for each in graph.initializer}
    moving = [each.name for each in graph.input if each.name not in constants]
    if len(moving) != 1 or len(graph.output) != 1:
        raise UnknownStepError("more than one input or output")
    value = moving[0]
    for node in graph.node:
        inputs = [name for name in node.input if name]
        moved = [place for place, name in enumerate(inputs) if name not in constants]
        if len(moved) != 1 or inputs[moved[0]] != value or len(node.output) != 1 or node.output[0] in constants:
            raise UnknownStepError(f"a branch at {node.op_type}")
        beside = tuple(constants[name] for place, name in enumerate(inputs) if place != moved[0])
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        yield _Node(node.op_type, beside, moved[0], attributes)
        value = node.output[0]
    if value != graph.output[0].name:
        raise UnknownStepError("the output is not the last step's")


def _array(tensor: Any, numpy_helper: Any) -> Floats:
    """A constant in float64; other precisions than float32 would void the rounding bound, integers are shapes."""
    values = numpy_helper.to_array(tensor)
    if values.dtype not in (np.float32, np.int64):
        raise UnknownStepError(f"constants of type {values.dtype}")
    return np.asarray(values, dtype=np.float64)


def _layer(nodes: list[_Node], shape: tuple[int, ...]) -> tuple[Layer | None, int]:
    """The next layer and how many nodes it takes."""
    node = nodes[0]
    if node.op in _ACTIVATIONS:
        return Activation(_ACTIVATIONS[node.op]), 1  # type: ignore[arg-type]
    if node.op == "Reshape" and len(shape) == 1 and len(nodes) > 1:
        return _fold(node, nodes[1], shape[0]), 2
    reader = _READERS.get((node.op, len(shape)))
    if reader is None or node.place != 0:
        raise UnknownStepError(f"op {node.op}")
    return reader(node, shape), 1


def _fold(reshape: _Node, transpose: _Node, dim: int) -> Layer:
    sizes = reshape.constants[0].astype(int).tolist()
    whole = len(sizes) == 3 and sizes[0] == -1 and min(sizes[1:]) > 0 and sizes[1] * sizes[2] == dim
    if not whole or transpose.op != "Transpose" or list(transpose.attributes.get("perm", [])) != [0, 2, 1]:
        raise UnknownStepError("op Reshape that is not (time, channel) to (channel, time)")
    return Fold(sizes[2])


def _flatten(node: _Node, shape: tuple[int, ...]) -> Layer:
    whole = node.attributes.get("axis", 1) == 1
    if node.op == "Reshape":
        whole = node.constants[0].astype(int).tolist() == [-1, int(np.prod(shape))]
    if not whole:
        raise UnknownStepError(f"op {node.op} that does not flatten one window")
    return Flatten()


def _gemm(node: _Node, _shape: tuple[int, ...]) -> Layer:
    options = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0} | node.attributes
    if (options["alpha"], options["beta"], options["transA"]) != (1.0, 1.0, 0):
        raise UnknownStepError("op Gemm with factors")
    weights = node.constants[0] if options["transB"] else node.constants[0].T
    bias = node.constants[1] if len(node.constants) > 1 else np.zeros(len(weights))
    return Affine(weights, _row(bias, len(weights)))


def _matmul(node: _Node, _shape: tuple[int, ...]) -> Layer:
    if node.constants[0].ndim != 2:
        raise UnknownStepError("op MatMul with more than a matrix")
    return Affine(node.constants[0].T, np.zeros(node.constants[0].shape[1]))


def _elementwise(node: _Node, shape: tuple[int, ...]) -> Layer:
    constant = _row(node.constants[0], shape[0])
    if node.op == "Div" and not constant.all():
        raise UnknownStepError("op Div by zero")
    if node.op in ("Mul", "Div"):
        return Affine(np.diag(constant if node.op == "Mul" else 1.0 / constant), np.zeros(shape))
    return Affine(np.eye(shape[0]), constant if node.op == "Add" else -constant)


def _row(constant: Floats, size: int) -> Floats:
    """A constant that meets every window alike; one with several rows would mix windows of a batch."""
    if any(length != 1 for length in constant.shape[:-1]) or constant.size not in (1, size):
        raise UnknownStepError(f"a constant of shape {constant.shape}")
    return np.array(np.broadcast_to(constant.reshape(-1), (size,)))


def _conv(node: _Node, _shape: tuple[int, ...]) -> Layer:
    kernel, options = node.constants[0], node.attributes
    pads, strides = list(options.get("pads", [0, 0])), list(options.get("strides", [1]))
    plain = options.get("group", 1) == 1 and list(options.get("dilations", [1])) == [1]
    plain = plain and options.get("auto_pad", b"NOTSET") == b"NOTSET" and pads[0] == pads[-1]
    if kernel.ndim != 3 or not plain:
        raise UnknownStepError("op Conv with groups, dilation or uneven padding")
    bias = node.constants[1] if len(node.constants) > 1 else np.zeros(len(kernel))
    return Conv1d(kernel, bias, stride=int(strides[0]), padding=int(pads[0]))


def _clip(node: _Node, _shape: tuple[int, ...]) -> Layer:
    if len(node.constants) != 2:
        raise UnknownStepError("op Clip without both ends")
    return Clamp(float(node.constants[0]), float(node.constants[1]))


def _same(_node: _Node, _shape: tuple[int, ...]) -> None:
    return None


_READERS: dict[tuple[str, int], Callable[[_Node, tuple[int, ...]], Layer | None]] = {
    ("Gemm", 1): _gemm,
    ("MatMul", 1): _matmul,
    ("Conv", 2): _conv,
    ("Reshape", 2): _flatten,
    ("Flatten", 2): _flatten,
    ("Clip", 1): _clip,
    ("Identity", 1): _same,
    **{(op, 1): _elementwise for op in ("Add", "Sub", "Mul", "Div")},
}
