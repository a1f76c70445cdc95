"""Random networks give the same numbers in Python and in every engine, in blocks of any size."""

import base64
import json
from collections import Counter

import numpy as np
import pytest
from tests.device.engines import ENGINES
from tests.device.random_networks import INPUTS, Maker
from tests.device.test_node import built  # noqa: F401

from deeprotect.bundle.layers.erasing import Erase
from deeprotect.bundle.layers.products import Affine, Convolution, Product, Spectrum
from deeprotect.bundle.layers.rounding import Clip, Quantise, Table
from deeprotect.bundle.layers.structure import OPS, Unflatten
from deeprotect.bundle.layers.tensors import TensorReader, TensorWriter
from deeprotect.bundle.network import EpisodeEncoder, Network
from deeprotect.errors import BundleError
from deeprotect.signals import Hold

CASES = 1500
FAST = ("node", "JavaScriptCore")
EPISODES = (1, 2, 3, 7)
ROWS = sum(EPISODES)
LARGEST_MEAN = 1 << 26
"""Seven features up to this size add up exactly on their grid of 2^-24."""


class Case:
    """A network and rows for it, as both languages read them."""

    def __init__(self, seed, layers=None):
        maker, tensors = Maker(seed), TensorWriter()
        layers = maker.network() if layers is None else layers
        self.layers, self.rows = [layer.to_json(tensors) for layer in layers], maker.rows(ROWS)
        self.tensors = tensors.to_bytes()

    def to_json(self):
        stored = {"layers": self.layers, "tensors": base64.b64encode(self.tensors).decode(), "inputs": INPUTS}
        return json.dumps({**stored, "rows": [_text(row) for row in self.rows], "episodes": EPISODES})

    def network(self):
        return Network.read(self.layers, TensorReader(self.tensors), inputs=INPUTS)

    def is_read(self):
        """Networks with sums that could be inexact are refused before they are exported."""
        try:
            return self.network() is not None
        except BundleError:
            return False


def beyond_15_bits():
    """Numbers that 16 bits hold without a sign and not with one, in each tensor that can have them."""
    once, most = np.ones((1, INPUTS), np.int32), np.full(INPUTS, (1 << 16) - 1, np.int32)
    window = (Quantise(once, 0, 3 * once, 0, Clip(-2, 2)),)
    yield (Quantise(most[None], 0, most[None], 0, Clip(-9, 9)),)
    yield (*window, Affine(Product(np.diag(most), most, 0, 0 * most)))
    yield (*window, Table(most[:5], -2))
    yield (*window, Unflatten(1), Spectrum(most, 0 * most, 0))
    yield (*window, Unflatten(1), Spectrum(0 * most, np.arange(INPUTS, dtype=np.int32) * 13_000, 0))
    yield (*window, Unflatten(1), Convolution(Product(most[:4].reshape(2, 1, 2), most[:2], 0, most[:2] * 0), 1, 1))
    yield (Erase(np.array([1], np.int32), most[None, 1:]),)


@pytest.fixture(scope="module")
def cases():
    made_up = [Case(seed) for seed in range(CASES)]
    read = [case for case in made_up if case.is_read()]
    assert 0.5 * CASES < len(read) < 0.95 * CASES
    wide = [Case(seed, layers) for seed, layers in enumerate(beyond_15_bits())]
    assert all(case.is_read() for case in wide)
    return [*wide, *read]


@pytest.fixture(scope="module", params=ENGINES)
def answers(request, cases, built, tmp_path_factory):  # noqa: F811
    """Runs all cases in one process of an engine; slow engines get a tenth of them."""
    engine, given = ENGINES[request.param], cases if request.param in FAST else cases[:10] + cases[10::10]
    script = tmp_path_factory.mktemp("networks") / "cases.js"
    runtime = engine.built("engine").read_text()
    script.write_text(f"globalThis.CASES = [{','.join(case.to_json() for case in given)}];\n{runtime}")
    said = engine.run(script).splitlines()
    return list(zip(given, map(json.loads, said), strict=True))


@pytest.mark.long
def test_results_are_the_same_bits(answers):
    for case, (rows, _) in answers:
        _assert_equal(np.stack([_row(text) for text in rows]), case.network()(case.rows), case)


def test_codes_of_episodes_are_the_same_bits(answers):
    for case, (_, episodes) in answers:
        encoder = EpisodeEncoder.of(case.network(), Hold(max(EPISODES)), None)
        evidence = encoder.encode(case.rows)
        if encoder.decision is not None or np.abs(evidence[np.isfinite(evidence)]).max(initial=0) <= LARGEST_MEAN:
            pooled = encoder.pool(evidence, np.array(EPISODES))
            _assert_equal(np.stack([_row(text) for text in episodes]), pooled, case)


def test_blocks_and_places_make_no_difference_and_no_value_is_beyond_its_bounds(cases):
    for case in cases:
        network = case.network()
        whole = network(case.rows)
        for size in (1, 2, 3, 7):
            parts = [network(case.rows[start : start + size]) for start in range(0, ROWS, size)]
            _assert_equal(np.concatenate(parts), whole, case)
        if network.layers:
            low, high = network.bounds.low.ravel(), network.bounds.high.ravel()
            assert not ((whole < low) | (whole > high)).any()


def test_every_kind_of_layer_is_among_them(cases):
    seen = Counter(op for case in cases for op in _ops(case.layers))
    assert min(seen[op] for op in OPS) >= 20, seen


def _ops(listed):
    for layer in listed:
        yield layer["op"]
        for chain in (*layer.get("branches", ()), layer.get("layers", ())):
            yield from _ops(chain)


def _assert_equal(found, wanted, case):
    """Treats -0 as 0, and NaN as equal to NaN."""
    assert np.array_equal(found, wanted, equal_nan=True), json.dumps(case.layers)


def _text(row):
    return base64.b64encode(row.astype("<f8").tobytes()).decode()


def _row(text):
    return np.frombuffer(bytes.fromhex(text), "<f8")
