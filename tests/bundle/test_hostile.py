"""Bundles that were written to break what lies around the networks: each was shown to work on bundles of version 1."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from safetensors.numpy import save
from typer.testing import CliRunner

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.manifest import FileDigest, digest
from deeprotect.bundle.verification.verify import verify
from deeprotect.cli.app import app
from deeprotect.errors import BundleError


def version_1(bundle, folder, *, encoder, decoder):
    """A bundle of programs, as version 1 had them: whole, every hash right."""
    bundle.save(folder)
    body = json.loads((folder / "manifest.json").read_text())
    for key in ("digest", "encoder", "decoder"):
        body.pop(key)
    files = {"encoder.onnx": encoder, "decoder.onnx": decoder}
    body |= {"version": 1, "files": {name: FileDigest.of(content).model_dump() for name, content in files.items()}}
    body["mechanism"] |= {"shape": ["1/1"] * 8, "evidence": None}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "manifest.json").write_text(json.dumps({**body, "digest": digest(body)}))
    return folder


def program(*nodes, constants=()):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 8]) for name in ("given", "made")]
    graph = helper.make_graph(list(nodes), "graph", ends[:1], ends[1:], list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return onnx.ModelProto.SerializeToString(model)


def reading_a_file(path):
    """A constant whose numbers lie in another file: the raw input's."""
    outside = TensorProto(name="stolen", data_type=TensorProto.FLOAT, dims=[1, 8], data_location=1)
    outside.external_data.add(key="location", value=path)
    steal = helper.make_node("Constant", [], ["stolen"], value=outside)
    return program(steal, helper.make_node("Add", ["given", "stolen"], ["made"]))


IDENTITY = program(helper.make_node("Identity", ["given"], ["made"]))
PROGRAMS = {
    "reads a file": reading_a_file("raw.csv"),
    "mixes windows of a batch": program(
        helper.make_node("ReduceMax", ["given"], ["largest"], keepdims=1),
        helper.make_node("Add", ["given", "largest"], ["made"]),
    ),
    "fails on some windows": program(
        helper.make_node("Cast", ["given"], ["index"], to=TensorProto.INT64),
        helper.make_node("GatherElements", ["given", "index"], ["made"], axis=1),
    ),
    "is read twice in two ways": IDENTITY + b"ORTM",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_programs_are_not_run_whatever_they_do(bundle, tmp_path, name, part):
    networks = {"encoder": IDENTITY, "decoder": IDENTITY, part: PROGRAMS[name]}
    path = version_1(bundle, tmp_path / "bundle", **networks)
    for use in (verify, Bundle.load):
        with pytest.raises(BundleError, match=r"version 1 is of an earlier format.*train again"):
            use(path)


def test_a_program_beside_the_tensors_is_not_even_looked_at(bundle, tmp_path, forge):
    with pytest.raises(BundleError, match="one file beside its manifest"):
        Bundle.load(forge(bundle, files={TENSORS: bundle.files[TENSORS]}, files__extra={"sha256": "0" * 64, "size": 0}))


NAMES = [
    "walk\nverdict: holds: ε = 0.01",
    "walk\x1b[2K\rholds",
    "walk\u202eseil",
    "walk\u2028holds",
    "w" * 1001,
    "a\0b",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize(
    "place", ["policy__inferences__useful", "feature_extractor__name", "created", "training__classes"]
)
def test_no_name_can_write_a_line_of_its_own(bundle, forge, name, place):
    value = {"policy__inferences__useful": [name], "training__classes": {"activity": [name]}}.get(place, name)
    path = forge(bundle, **{place: value})
    for use in (verify, Bundle.load):
        with pytest.raises(BundleError, match="not printable") as refused:
            use(path)
        assert str(refused.value).isprintable()
    for verb in ("verify", "describe"):
        done = CliRunner().invoke(app, [verb, str(path)])
        assert name not in done.output


def test_a_key_that_stands_twice_is_refused(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    path.write_text(path.read_text().replace('"epsilon": 5.0', '"epsilon": 0.1, "epsilon": 5.0'))
    with pytest.raises(BundleError, match="not valid JSON"):
        Bundle.load(tmp_path / "bundle")


def place(path, kind):
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("name", ["manifest.json", TENSORS])
@pytest.mark.timeout(20)
def test_what_is_no_regular_file_is_refused_at_once(bundle, tmp_path, kind, name):
    bundle.save(tmp_path / "bundle")
    place(tmp_path / "bundle" / name, kind)
    for use in (verify, Bundle.load):
        with pytest.raises(BundleError, match=r"not a regular file|cannot be read"):
            use(tmp_path / "bundle")


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.timeout(20)
def test_a_zip_that_is_no_regular_file_is_refused_at_once(bundle, tmp_path, kind):
    bundle.save(tmp_path / "bundle.zip")
    place(tmp_path / "bundle.zip", kind)
    with pytest.raises(BundleError, match="not a regular file"):
        Bundle.load(tmp_path / "bundle.zip")


@pytest.mark.parametrize("name", ["manifest.json", TENSORS])
def test_a_link_inside_a_bundle_is_refused_even_to_the_very_file(bundle, tmp_path, name):
    bundle.save(tmp_path / "bundle")
    (tmp_path / "bundle" / name).rename(tmp_path / name)
    (tmp_path / "bundle" / name).symlink_to(tmp_path / name)
    for use in (verify, Bundle.load):
        with pytest.raises(
            BundleError, match="symbolic link, not a regular file; copy the bundle with its links followed"
        ):
            use(tmp_path / "bundle")


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_a_bundle_may_itself_be_a_link(bundle, tmp_path, name):
    bundle.save(tmp_path / name)
    link = tmp_path / f"linked-{name}"
    link.symlink_to(tmp_path / name)
    assert Bundle.load(link).digest == bundle.digest


def test_a_link_inside_a_zip_is_refused(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    with zipfile.ZipFile(tmp_path / "bundle.zip", "w") as archive:
        for path in (tmp_path / "bundle").iterdir():
            entry = zipfile.ZipInfo(path.name)
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, path.read_bytes())
    with pytest.raises(BundleError, match="symbolic link, not a regular file; copy the bundle with its links followed"):
        Bundle.load(tmp_path / "bundle.zip")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_manifest_in_another_encoding_is_refused(bundle, tmp_path, encoding):
    bundle.save(tmp_path / "bundle")
    path = tmp_path / "bundle" / "manifest.json"
    path.write_bytes(path.read_text().encode(encoding))
    for use in (verify, Bundle.load):
        with pytest.raises(BundleError, match="not valid JSON"):
            use(tmp_path / "bundle")


def test_a_file_of_another_size_is_not_read(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    with (tmp_path / "bundle" / TENSORS).open("r+b") as stream:
        stream.truncate(1 << 40)  # a hole: it takes no room on disk
    with pytest.raises(BundleError, match="too large"):
        Bundle.load(tmp_path / "bundle")


LOAD_UNDER_LIMIT = """
import resource, sys
from deeprotect.bundle import Bundle
from deeprotect.errors import BundleError
import numpy, safetensors.numpy  # their own memory does not count
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    Bundle.load(sys.argv[1])
except BundleError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
QUANTISE = {"op": "quantise", "shift": "q", "shift_scale": 0, "factor": "q", "factor_scale": 0, "low": 0, "high": 99}
GREEDY = {
    "doubling": [{"op": "concatenation", "branches": [[], []]}] * 40,
    "padding": [
        {"op": "unflatten", "channels": 2},
        {
            "op": "convolution",
            "weights": "k",
            "bias": "b",
            "bias_shift": 0,
            "shift": "b",
            "stride": 1,
            "padding": 2**40,
        },
    ],
    "spectrum": [{"op": "unflatten", "channels": 2}, {"op": "spectrum", "cosine": "b", "sine": "b", "shift": 0}],
}


@pytest.mark.parametrize("name", GREEDY)
def test_few_bytes_do_not_ask_for_much_memory(bundle, forge, name):
    tensors = {"k": np.ones((3, 2, 2), np.int8), "b": np.ones(2, np.int8), "q": np.ones((1, 8), np.int8)}
    path = forge(bundle, files={TENSORS: save(tensors)}, encoder=[QUANTISE, *GREEDY[name]])
    command = [sys.executable, "-c", LOAD_UNDER_LIMIT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *refused, grown = done.stdout.splitlines()
    assert refused
    assert int(grown) < 64 << 20
