"""Writes the vectors that Python's and the device runtime's tests both read: python -m tests.device.vectors"""

import base64
import json
from pathlib import Path

import numpy as np
from tests.bundle.layers.test_layers import CHAINS
from tests.device import steps
from tests.device.small_bundles import KINDS, small_bundle

from deeprotect.bundle.layers.tensors import TensorWriter
from deeprotect.bundle.network import Network
from deeprotect.exporting.protector_file import ProtectorFile
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.sampling import DiscreteLaplace, below

PATH = Path(__file__).parents[2] / "device" / "test" / "vectors.json"
SCALES = ("1/1", "1/3", "7/2", "4096/5", "16777215/1024", "281474976710655/281474976710656")
BOUNDS = (1, 2, 3, 16, 17, 1000, 65537, (1 << 40) + 1)


class Recorder:
    """Entropy that remembers every word it gave, in order."""

    def __init__(self, seed):
        self._source, self.given = SeededEntropy(seed), []

    def words(self, count):
        words = self._source.words(count)
        self.given += [str(word) for word in words]
        return words


def make():
    return {
        "layers": [_layer(name, chain) for name, chain in CHAINS.items()],
        "below": [_below(bound) for bound in BOUNDS],
        "laplace": [_laplace(scale) for scale in SCALES],
        "episodes": steps.episodes(),
        "ledgers": steps.ledgers(),
        "bundles": [_bundle(kind) for kind in KINDS],
    }


def _layer(name, chain):
    network, tensors = Network(chain, 6), TensorWriter()
    rows = np.random.default_rng(1).normal(size=(3, 6))
    listed = network.to_json(tensors)
    stored = _text(tensors.to_bytes())
    return {"name": name, "layers": listed, "tensors": stored, "rows": rows.tolist(), "results": network(rows).tolist()}


def _below(bound):
    recorder = Recorder(bound)
    return {"bound": str(bound), "drawn": below(bound, 9, recorder).tolist(), "words": recorder.given}


def _laplace(scale):
    recorder = Recorder(len(scale))
    fraction = JsonReader({"scale": [scale]}).fractions("scale")[0]
    drawn = DiscreteLaplace((fraction,)).draw(12, entropy=recorder)[:, 0].tolist()
    return {"scale": scale, "drawn": [str(value) for value in drawn], "words": recorder.given}


def _bundle(kind):
    """The whole pipe but for the charge: windows in units, what they become, and the words that were drawn."""
    bundle, recorder = small_bundle(kind), Recorder(7)
    windows = np.random.default_rng(2).uniform(-5, 5, size=(12, bundle.schema.window, len(bundle.schema.channels)))
    counts = np.full(12 // bundle.hold.windows, bundle.hold.windows)
    codes = bundle.pool(bundle.encode(bundle.schema.scale(windows)), counts)
    noisy, protector = bundle.mechanism.privatise(codes, entropy=recorder), ProtectorFile.of(bundle)
    return {
        "kind": kind,
        "manifest": bundle.manifest.to_json().decode(),
        "protector": protector.text,
        "digest": protector.digest,
        "windows": windows.reshape(12, -1).tolist(),
        "held": bundle.hold.windows,
        "codes": codes.tolist(),
        "words": recorder.given,
        "noisy": noisy.tolist(),
        "released": bundle.decode(noisy).reshape(len(noisy), -1).tolist(),
    }


def _text(content):
    return base64.b64encode(content).decode()


def _lines(vectors):
    """One vector on a line, so that changes can be read."""
    sections = (
        f'"{name}": [\n' + ",\n".join(json.dumps(each, ensure_ascii=False) for each in listed) + "\n]"
        for name, listed in vectors.items()
    )
    return "{" + ",\n".join(sections) + "}\n"


if __name__ == "__main__":
    PATH.write_text(_lines(make()))
