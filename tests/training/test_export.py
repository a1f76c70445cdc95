"""ONNX export: same numbers as torch, nothing about the machine, same bytes every time."""

import numpy as np
import onnx
import onnxruntime
import pytest

from deeprotect.training.autoencoder import Autoencoder
from deeprotect.training.export import to_onnx
from deeprotect.training.linear import DCT, DFT, PCA, Haar
from deeprotect.training.minimiser import Minimiser
from deeprotect.training.paper import PaperAutoencoder
from deeprotect.training.sparse import BlindCompressiveSensing

WINDOWS = np.random.default_rng(0).random((1000, 12))
LABELS = WINDOWS[:, 0] > 0.5
MINIMISERS: list[Minimiser] = [
    DFT(channels=3),
    DCT(channels=3),
    Haar(channels=3),
    PCA(),
    BlindCompressiveSensing(max_iter=5, steps=10, random_state=0),
    PaperAutoencoder(max_iter=5, random_state=0),
    Autoencoder(max_epochs=2, random_state=0),
    Autoencoder(max_epochs=2, random_state=0, network="conv", channels=3),
]


def run(graph: bytes, rows: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["out"], {"in": rows.astype(np.float32)})[0])


@pytest.mark.parametrize("minimiser", MINIMISERS, ids=repr)
def test_the_exported_networks_agree_with_the_estimator(minimiser: Minimiser) -> None:
    features = minimiser.fit(WINDOWS, LABELS).transform(WINDOWS)
    encoder = to_onnx(minimiser.encoder(), 12, input_name="in", output_name="out")
    decoder = to_onnx(minimiser.decoder(), 7, input_name="in", output_name="out")
    for count in (1, 1000):
        np.testing.assert_allclose(run(encoder, WINDOWS[:count]), features[:count], atol=1e-5)
        rebuilt = minimiser.inverse_transform(features[:count])
        np.testing.assert_allclose(run(decoder, features[:count]), rebuilt, atol=1e-5)


def test_the_bytes_are_the_same_every_time_and_name_no_place() -> None:
    module = Autoencoder(max_epochs=1, random_state=0).fit(WINDOWS, LABELS).encoder()
    first, second = (to_onnx(module, 12, input_name="in", output_name="out") for _ in range(2))
    assert first == second
    for trace in (b".py", b"/", b"site-packages", b"torch", b"File"):
        assert trace not in _without_weights(first), trace


def test_the_graph_is_valid_and_any_number_of_rows_may_come() -> None:
    model = onnx.load_from_string(to_onnx(PCA().fit(WINDOWS).encoder(), 12, input_name="in", output_name="out"))
    onnx.checker.check_model(model, full_check=True)
    rows, values = model.graph.input[0].type.tensor_type.shape.dim
    assert rows.dim_param
    assert values.dim_value == 12


def _without_weights(graph: bytes) -> bytes:
    """Weights are random bytes and may spell anything."""
    model = onnx.load_from_string(graph)
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
    return bytes(model.SerializeToString())
