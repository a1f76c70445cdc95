from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from tests.bundle.graphs import affine, model, network
from tests.conftest import identity

from deeprotect.bundle import graph
from deeprotect.bundle.network import Network
from deeprotect.bundle.precision import ACTIVATION, float32_error
from deeprotect.errors import BundleError
from deeprotect.privacy.network import interval


def convolutional(random, *, samples=6, channels=2, filters=3, stride=1):
    """Standardise, two convolutions in time, a dense layer: the layout of the default encoder."""
    length = (samples - 1) // stride + 1
    options = {"pads": [1, 1], "strides": [stride], "kernel_shape": [3]}
    return network(
        samples * channels,
        4,
        ("Sub", "mean"),
        ("Div", "scale"),
        ("Reshape", "folded"),
        ("Transpose", {"perm": [0, 2, 1]}),
        ("Conv", "kernel", "bias", options),
        ("Relu",),
        ("Reshape", "flat"),
        ("Gemm", "w", "b", {"transB": 1}),
        ("Tanh",),
        mean=random.uniform(size=samples * channels),
        scale=random.uniform(0.05, 0.5, size=samples * channels),
        folded=np.array([-1, samples, channels]),
        flat=np.array([-1, filters * length]),
        kernel=random.normal(size=(filters, channels, 3)),
        bias=random.normal(size=filters),
        w=random.normal(size=(4, filters * length)),
        b=random.normal(size=4),
    )


def sigmoid_layers(random, widths):
    steps, constants = [], {}
    for number, (inputs, outputs) in enumerate(pairwise(widths)):
        steps += [("MatMul", f"w{number}"), ("Add", f"b{number}"), ("Sigmoid",)]
        constants |= {f"w{number}": random.normal(size=(inputs, outputs)), f"b{number}": random.normal(size=outputs)}
    return network(widths[0], widths[-1], *steps, **constants)


def exact(layers, windows):
    """The layers in float64, through intervals of width zero."""
    return np.array([np.mean(interval(layers, window, window), axis=0) for window in windows])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]))
def test_a_convolutional_graph_computes_what_its_layers_say_within_float32(seed, stride):
    random = np.random.default_rng(seed)
    content = convolutional(random, stride=stride)
    layers, windows = graph.layers_of(content, 12), random.uniform(size=(20, 12))
    off = np.abs(Network(content, name="net")(windows) - exact(layers, windows))
    assert (off <= float32_error(layers, 12) + 1e-9 * 100).all()


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 40), min_size=2, max_size=4))
def test_a_dense_graph_computes_what_its_layers_say_within_float32(seed, widths):
    random = np.random.default_rng(seed)
    content = sigmoid_layers(random, widths)
    layers, windows = graph.layers_of(content, widths[0]), random.uniform(size=(20, widths[0]))
    off = np.abs(Network(content, name="net")(windows) - exact(layers, windows))
    assert (off <= float32_error(layers, widths[0])).all()


def test_the_float32_bound_is_of_use():
    """Far below the step of a grid of 4096 over a feature as wide as the paper's, 0.1."""
    random = np.random.default_rng(0)
    orthonormal = np.linalg.qr(random.normal(size=(60, 15)))[0], np.linalg.qr(random.normal(size=(15, 7)))[0]
    steps = [("MatMul", "a"), ("Sigmoid",), ("MatMul", "b"), ("Sigmoid",)]
    layers = graph.layers_of(network(60, 7, *steps, a=orthonormal[0], b=orthonormal[1]), 60)
    assert float32_error(layers, 60).max() < 0.1 / 4096


@pytest.mark.parametrize(("op", "function"), [("Sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("Tanh", np.tanh)])
def test_activations_stay_within_a_third_of_what_is_allowed_for_them(op, function):
    x = np.concatenate([np.linspace(-30, 30, 200_001), np.geomspace(1e-38, 1e4, 50_001), [-1e30, 1e30]])
    x = x.astype(np.float32).astype(np.float64)
    with np.errstate(over="ignore"):
        off = np.abs(Network(network(1, 1, (op,)), name="net")(x[:, None])[:, 0] - function(x))
    assert off.max() < ACTIVATION / 3


def test_the_identity_has_no_layers():
    assert graph.layers_of(identity(8), 8) == []


def test_a_gemm_is_one_affine_layer_with_its_own_weights():
    weights = np.arange(6.0).reshape(2, 3)
    (layer,) = graph.layers_of(affine(weights, [1.0, 2.0]), 3)
    assert np.array_equal(layer.weights, weights)
    assert np.array_equal(layer.bias, [1.0, 2.0])


def test_clip_bounds_what_comes_out():
    layers = graph.layers_of(network(2, 2, ("Mul", "c"), ("Clip", "low", "high"), c=9, low=0, high=1), 2)
    assert np.array_equal(interval(layers, np.zeros(2), np.ones(2)), [[0, 0], [1, 1]])


def branch():
    nodes = [helper.make_node("Neg", ["value"], ["n"]), helper.make_node("Add", ["n", "value"], ["result"])]
    return model(nodes, 2, 2)


def half():
    nodes = [helper.make_node("Gemm", ["value", "w"], ["result"], alpha=0.5)]
    return model(nodes, 2, 2, w=np.eye(2))


NOT_A_CHAIN = {
    "branch": (branch(), "a branch at Add|op Neg"),
    "factors": (half(), "Gemm with factors"),
    "unknown": (network(2, 2, ("Erf",)), "op Erf"),
    "constant first": (
        model([helper.make_node("Sub", ["c", "value"], ["result"])], 2, 2, c=[1.0, 2.0]),
        "op Sub",
    ),
    "division by zero": (network(2, 2, ("Div", "c"), c=[1.0, 0.0]), "Div by zero"),
    "mixes windows of a batch": (network(2, 2, ("Add", "c"), c=[[1.0, 2.0], [3.0, 4.0]]), "constant of shape"),
    "folds another way": (
        network(4, 4, ("Reshape", "s"), ("Transpose", {"perm": [1, 0, 2]}), s=np.array([-1, 2, 2])),
        "Reshape",
    ),
    "two ends of one result": (model([helper.make_node("Relu", ["value"], ["other"])], 2, 2), "not the last step"),
}


@pytest.mark.parametrize("case", NOT_A_CHAIN)
def test_what_is_not_understood_is_said_and_not_guessed(case):
    content, message = NOT_A_CHAIN[case]
    with pytest.raises(graph.UnknownStepError, match=message):
        graph.layers_of(content, 4 if case.startswith("folds") else 2)


def test_constants_of_another_precision_have_no_float32_bound():
    tensor = helper.make_tensor("w", TensorProto.FLOAT16, [2], [1.0, 2.0])
    proto = graph._model(network(2, 2, ("Relu",)))
    proto.graph.initializer.append(tensor)
    with pytest.raises(graph.UnknownStepError, match="float16"):
        graph.layers_of(proto.SerializeToString(), 2)


def test_a_graph_that_reaches_outside_itself_is_refused():
    data = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    data.external_data.add(key="location", value="diary.bin")
    proto = graph._model(network(2, 2, ("Relu",)))
    proto.graph.initializer.append(data)
    with pytest.raises(BundleError, match="data in another file: w"):
        graph.operators(proto.SerializeToString())
    foreign = model([helper.make_node("Spy", ["value"], ["result"], domain="spies")], 2, 2)
    with pytest.raises(BundleError, match="foreign operator: Spy"):
        graph.operators(foreign)
    inner = helper.make_graph([helper.make_node("Relu", ["value"], ["r"])], "inner", [], [])
    with pytest.raises(BundleError, match="inner graph: If"):
        graph.operators(model([helper.make_node("If", ["value"], ["result"], then_branch=inner)], 2, 2))


def test_what_is_no_graph_is_refused_in_one_line():
    with pytest.raises(BundleError, match="not an ONNX graph"):
        graph.layers_of(b"\xff\xff\xff", 2)


def test_a_network_whose_rows_have_no_fixed_length_is_refused():
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", "n"]) for name in ("value", "result")]
    loose = helper.make_graph([helper.make_node("Relu", ["value"], ["result"])], "g", ends[:1], ends[1:])
    made = helper.make_model(loose, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    with pytest.raises(BundleError, match="not a network from one row of numbers to another"):
        _ = Network(made.SerializeToString(), name="encoder.onnx").inputs
