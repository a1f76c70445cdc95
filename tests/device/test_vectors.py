"""Python computes exactly the vectors that the device runtime's tests read."""

import base64
import json

import numpy as np
import pytest
from tests.device import steps
from tests.device.vectors import PATH

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS, TensorReader
from deeprotect.bundle.manifest import Manifest
from deeprotect.bundle.network import Network
from deeprotect.exporting.protector_file import ProtectorFile
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.sampling import DiscreteLaplace, below

VECTORS = json.loads(PATH.read_text())


def cases(section, key):
    return [pytest.param(each, id=str(each[key])) for each in VECTORS[section]]


class Script:
    """Entropy that gives the words it was told to give."""

    def __init__(self, words):
        self.left = [int(word) for word in words]

    def words(self, count):
        given, self.left = self.left[:count], self.left[count:]
        assert len(given) == count
        return np.array(given, dtype=np.uint64)


@pytest.mark.parametrize("case", cases("layers", "name"))
def test_layers(case):
    network = Network.read(case["layers"], TensorReader(base64.b64decode(case["tensors"])), inputs=6)
    assert network(np.array(case["rows"])).tolist() == case["results"]


def test_episodes_step_by_step():
    assert VECTORS["episodes"] == json.loads(json.dumps(steps.episodes()))


def test_episodes_of_the_vectors_do_all_that_there_is_to_do():
    every = [step for case in VECTORS["episodes"] for step in case["steps"]]
    assert {case["observe"] for case in VECTORS["episodes"]} == {"whole", "beginning", "before"}
    assert any(len(step["left"]) > 1 for step in every)
    assert any(draw == 0 for step in every for _, draw in step["left"])  # a placeholder
    assert any(step["observed"] and not step["available"] for step in every)
    assert any(step["part"] for step in every)


def test_ledgers_step_by_step():
    assert VECTORS["ledgers"] == json.loads(json.dumps(steps.ledgers()))
    assert {step["paid"] for case in VECTORS["ledgers"] for step in case["steps"]} == {True, False}


@pytest.mark.parametrize("case", cases("below", "bound"))
def test_uniform_integers(case):
    entropy = Script(case["words"])
    assert below(int(case["bound"]), len(case["drawn"]), entropy).tolist() == case["drawn"]
    assert not entropy.left


@pytest.mark.parametrize("case", cases("laplace", "scale"))
def test_discrete_laplace_noise(case):
    entropy = Script(case["words"])
    scale = JsonReader({"scale": [case["scale"]]}).fractions("scale")[0]
    drawn = DiscreteLaplace((scale,)).draw(len(case["drawn"]), entropy=entropy)[:, 0]
    assert [str(value) for value in drawn] == case["drawn"]
    assert not entropy.left


@pytest.mark.parametrize("case", cases("bundles", "kind"))
def test_the_whole_pipe(case):
    files = {TENSORS: base64.b64decode(json.loads(case["protector"])["tensors"])}
    bundle = Bundle(Manifest.from_json(case["manifest"].encode(), where="vectors"), files).checked("vectors")
    assert ProtectorFile.of(bundle) == ProtectorFile(case["protector"])
    assert ProtectorFile(case["protector"]).digest == case["digest"]
    windows = np.array(case["windows"]).reshape(len(case["windows"]), bundle.schema.window, -1)
    counts = np.full(len(windows) // bundle.hold.windows, bundle.hold.windows)
    codes, entropy = bundle.pool(bundle.encode(bundle.schema.scale(windows)), counts), Script(case["words"])
    assert codes.tolist() == case["codes"]
    noisy = bundle.mechanism.privatise(codes, entropy=entropy)
    assert noisy.tolist() == case["noisy"]
    assert bundle.decode(noisy).reshape(len(noisy), -1).tolist() == case["released"]
