"""In ONNX Runtime an exported encoder gives the codes that Python gives, and the table the same windows: equal."""

import hashlib
import json

import numpy as np
import onnxruntime
import pytest
from tests.device.random_networks import INPUTS, Maker
from tests.device.small_bundles import small_bundle
from tests.device.test_vectors import VECTORS
from typer.testing import CliRunner

from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.bundle.network import Network
from deeprotect.cli.app import app
from deeprotect.errors import BundleError, InputError
from deeprotect.exporting.onnx_graph import DOUBLE, FLOAT, OnnxGraph
from deeprotect.exporting.targets import export_onnx

onnxruntime.disable_telemetry_events()


def session(content):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def windows_of(schema, count):
    rng = np.random.default_rng(3)
    windows = rng.uniform(-20, 20, size=(count, schema.window, len(schema.channels)))
    windows[rng.random(windows.shape) < 0.02] = np.nan
    windows[rng.random(windows.shape) < 0.02] = np.inf
    return windows


@pytest.fixture(scope="module", params=[case["kind"] for case in VECTORS["bundles"] if "channel" in case["kind"]])
def exported(request, tmp_path_factory):
    bundle = small_bundle(request.param)
    folder = tmp_path_factory.mktemp("onnx") / "out"
    export_onnx(bundle, folder)
    return bundle, folder


def test_codes_are_pythons(exported):
    bundle, folder = exported
    encoder, held = session((folder / "encoder.onnx").read_bytes()), bundle.hold.windows
    for episode in windows_of(bundle.schema, 60 * held).reshape(60, held, bundle.schema.window, -1):
        (code,) = encoder.run(["code"], {"windows": episode})
        wanted = bundle.pool(bundle.encode(bundle.schema.scale(episode)), np.array([held]))
        assert np.array_equal(code, wanted)


def test_public_windows_are_pythons(exported):
    bundle, folder = exported
    index = np.arange(bundle.mechanism.public_outputs)
    (windows,) = session((folder / "outputs.onnx").read_bytes()).run(["windows"], {"index": index})
    assert np.array_equal(windows, bundle.decode(index[:, None].astype(float)))


def test_the_manifest_pins_the_graphs_and_says_how_to_draw(exported):
    bundle, folder = exported
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert [[int(each) for each in row.split()] for row in manifest["mechanism"]["weights"]] == [
        list(row) for row in bundle.mechanism.weights
    ]
    assert manifest["promise"]["epsilon"] == bundle.mechanism.event.epsilon
    assert "tensors" not in manifest


def made_up(seed):
    """A network that Python reads, or None."""
    maker, tensors = Maker(seed), TensorWriter()
    layers = [layer.to_json(tensors) for layer in maker.network()]
    try:
        return Network.read(layers, TensorReader(tensors.to_bytes()), inputs=INPUTS), maker.rows(7)
    except BundleError:
        return None


def test_networks_made_up_at_random_give_the_same_numbers():
    tried = 0
    for network, rows in filter(None, map(made_up, range(200))):
        if not network.layers:
            continue
        graph = OnnxGraph()
        result = graph.cast(graph.chain(network.layers, graph.cast("rows", FLOAT)), DOUBLE)
        flat = graph.node("Flatten", result)
        model = graph.model(flat, given=("rows", DOUBLE, [None, INPUTS]), named=("result", DOUBLE, [None, None]))
        (found,) = session(model).run(["result"], {"rows": rows})
        with np.errstate(all="ignore"):
            wanted = network(rows)
        usual = np.isfinite(rows).all(axis=1) & (np.abs(wanted) < 1e30).all(axis=1)
        assert np.array_equal(found[usual], wanted[usual])
        tried += 1
    assert tried > 100


def test_noise_on_numbers_has_no_table_and_is_refused(tmp_path):
    with pytest.raises(BundleError, match="no public windows"):
        export_onnx(small_bundle("laplace"), tmp_path / "out")


def test_without_onnx_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "deeprotect.exporting.onnx_graph", None)
    with pytest.raises(InputError, match=r"deeprotect\[onnx\]"):
        export_onnx(small_bundle("channel ldp"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_verb_writes_it(tmp_path):
    small_bundle("channel ldp").save(tmp_path / "bundle")
    command = ["export", str(tmp_path / "bundle"), "--target", "onnx", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"encoder.onnx", "outputs.onnx", "manifest.json"}
