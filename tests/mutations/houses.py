"""Small protectors on which a broken promise shows after a few thousand releases."""

import numpy as np
import onnx
import pyarrow as pa
from onnx import TensorProto, helper, numpy_helper
from tests.conftest import identity

from deeprotect.bundle import Bundle
from deeprotect.bundle.bundle import DECODER, ENCODER
from deeprotect.bundle.manifest import Manifest, Part, Training
from deeprotect.policy import Policy
from deeprotect.privacy import laplace
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import Secret, design
from deeprotect.privacy.channel.discrete_channel import Channel, make
from deeprotect.privacy.events import Event

EPSILON = 2.0
CODES = 4
COUNTS = np.array([[18, 12, 6, 4], [8, 12, 10, 10]])


def policy(event: Event, values: int) -> Policy:
    """One channel, and the promise that the mechanism makes."""
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10, "window": values, "channels": {"acc_x": {"unit": "g", "range": [-4.0, 4.0]}}},
            "inferences": {"useful": ["activity"], "sensitive": list(event.inferences)},
            "privacy": {"epsilon": event.epsilon, "guarantee": event.guarantee},
        }
    )


def bundle(mechanism, values, **networks) -> Bundle:
    """A bundle that has passed the checks of making and loading."""
    return unchecked(mechanism, values, **networks)._checked("house")


def unchecked(mechanism, values, *, encoder=None, decoder=None) -> Bundle:
    """What a maker with a bug in it may ship."""
    files = {ENCODER: encoder or identity(values), DECODER: decoder or identity(values)}
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        made_with={},
        policy=policy(mechanism.event, values).to_json(),
        minimiser={"name": "none"},
        mechanism=mechanism.to_json(),
        certificate=mechanism.certificate(),
        training=Training(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        files={name: Part.of(content) for name, content in files.items()},
    )
    return Bundle(manifest, files)


def on_samples() -> Bundle:
    """Noise on two samples."""
    return bundle(laplace.baseline(2, EPSILON), 2)


def narrow_box() -> laplace.GridLaplace:
    return laplace.certified(Box((0.4, 0.4), (0.6, 0.6)), EPSILON)


def clipped() -> Bundle:
    """A clip box far narrower than what windows reach."""
    return bundle(narrow_box(), 2)


def coded() -> Bundle:
    """Randomised response."""
    return bundle(randomised_response(), CODES, **code_book(CODES))


def code_book(codes: int) -> dict[str, bytes]:
    """The place of the largest sample is the code; each output has one public window."""
    return {"encoder": _largest(codes), "decoder": _look_up(np.eye(codes))}


def randomised_response() -> Channel:
    return make(design(1.0 - np.eye(CODES), np.ones(CODES), ldp_epsilon=EPSILON))


def named() -> Channel:
    """A promise about two people, from few calibration windows: the confidence radius is wide."""
    secret = Secret("person", ("ann", "bob"), COUNTS, EPSILON / 4)
    return make(design(1.0 - np.eye(CODES), np.ones(CODES), secrets=[secret], confidence=0.95))


def table(rows: int = 7) -> pa.Table:
    """One recording whose last window is not full, with a label and a stranger's column."""
    return pa.table(
        {
            "time": np.arange(rows) / 10,
            "acc_x": np.linspace(-1.0, 1.0, rows) + 1e-4 / np.pi,  # off the noise's grid: equality is no accident
            "activity": ["walk"] * rows,
            "note": ["private"] * rows,
        }
    )


def graph(nodes, inputs: int, outputs: int, constants=()) -> bytes:
    given, made = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size])
        for name, size in (("given", inputs), ("made", outputs))
    )
    drawn = helper.make_graph(nodes, "graph", [given], [made], initializer=list(constants))
    model = helper.make_model(drawn, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return onnx.ModelProto.SerializeToString(model)


def _largest(values: int) -> bytes:
    nodes = [
        helper.make_node("ArgMax", ["given"], ["place"], axis=1, keepdims=1),
        helper.make_node("Cast", ["place"], ["made"], to=TensorProto.FLOAT),
    ]
    return graph(nodes, values, 1)


def _look_up(windows: np.ndarray) -> bytes:
    rows = numpy_helper.from_array(windows.astype(np.float32), "windows")
    flat = numpy_helper.from_array(np.array([-1]), "flat")
    nodes = [
        helper.make_node("Reshape", ["given", "flat"], ["column"]),
        helper.make_node("Cast", ["column"], ["place"], to=TensorProto.INT64),
        helper.make_node("Gather", ["windows", "place"], ["made"], axis=0),
    ]
    return graph(nodes, 1, windows.shape[1], [rows, flat])
