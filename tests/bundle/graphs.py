"""ONNX graphs made by hand."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def network(dim, outputs, *steps, **constants):
    """An ONNX graph whose steps, (operator, constants..., options), follow each other."""
    nodes, value = [], "value"
    for number, (op, *beside) in enumerate(steps):
        options = beside.pop() if beside and isinstance(beside[-1], dict) else {}
        following = "result" if number == len(steps) - 1 else f"v{number}"
        nodes.append(helper.make_node(op, [value, *beside], [following], **options))
        value = following
    return model(nodes, dim, outputs, **constants)


def model(nodes, dim, outputs, **constants):
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size])
        for name, size in (("value", dim), ("result", outputs))
    ]
    tensors = [numpy_helper.from_array(_constant(each), name) for name, each in constants.items()]
    graph = helper.make_graph(nodes, "graph", ends[:1], ends[1:], initializer=tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return made.SerializeToString()


def _constant(value):
    """Numbers in float32 unless they come as an array of their own type."""
    return value if isinstance(value, np.ndarray) and value.dtype == np.int64 else np.asarray(value, dtype=np.float32)


def affine(weights, bias):
    weights = np.asarray(weights)
    return network(weights.shape[1], len(weights), ("Gemm", "w", "b"), w=weights.T, b=bias)
