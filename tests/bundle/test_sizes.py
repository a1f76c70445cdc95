"""Work is bounded before it is done: what a bundle may hold is worked out in seconds, and what is more is refused."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from tests.device.small_bundles import affine

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.consistency import MOST_NUMBERS, check_shapes
from deeprotect.bundle.kept import MOST_KEPT, MOST_SECRETS
from deeprotect.bundle.layers.layer import MOST_VALUES, MOST_WORK
from deeprotect.bundle.layers.rounding import Clip, Quantise
from deeprotect.bundle.layers.structure import MOST_LAYERS
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.manifest import DEEPEST_NESTING, LONGEST_TEXT, MOST_RESULTS, digest
from deeprotect.bundle.network import Network
from deeprotect.bundle.store import LARGEST_FILE, LARGEST_MANIFEST, MOST_FILES
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError
from deeprotect.policy.agreement import MOST_HELD_VALUES, MOST_HELD_WINDOWS
from deeprotect.policy.sections import MOST_CHANNELS
from deeprotect.privacy.box import Box
from deeprotect.privacy.events import MOST_INFERENCES
from deeprotect.privacy.mechanisms import mechanism as mechanisms
from deeprotect.privacy.mechanisms.laplace import certified
from deeprotect.privacy.size_limits import (
    MOST_CODES,
    MOST_COORDINATES,
    MOST_SCALES,
    MOST_SCRIPTS,
    MOST_SLOTS,
    MOST_VARIANTS,
)

SECONDS = 20  # of processor time, on a machine that others use as well
HALF = str(1 << 63)


def channel(bundle, codes):
    """A channel without information, so that every ε holds."""
    fields = bundle.manifest.mechanism
    return fields | {
        "weights": [f"{HALF} {HALF}"] * codes,
        "prior": [1.0 / codes] * codes,
        "cost": [[0.0, 1.0]] * codes,
        "codes": [],
    }


@pytest.mark.long
def test_the_largest_bundle_is_described_and_verified_within_seconds(made, forge):
    mechanism = channel(made("channel ldp"), MOST_CODES)
    path = forge(made("channel ldp"), mechanism=mechanism, certificate=mechanisms.load(mechanism).certificate())
    started = time.process_time()
    assert card(Bundle.load(path))
    assert verify(path).holds, verify(path)
    assert time.process_time() - started < SECONDS


def test_a_larger_channel_is_refused_in_one_line_before_any_work(made, forge):
    path = forge(made("channel ldp"), mechanism=channel(made("channel ldp"), MOST_CODES + 1))
    started = time.process_time()
    with pytest.raises(BundleError, match="rows of weights") as refused:
        Bundle.load(path)
    assert time.process_time() - started < SECONDS
    assert len(str(refused.value)) < 400
    assert not verify(path).holds


@pytest.mark.parametrize("different", [MOST_SCALES, MOST_SCALES + 1])
def test_noise_of_many_sizes_is_added_up_within_seconds_or_refused(made, different):
    """Σ of fractions without a common factor: each has a longer denominator than the one before."""
    fields = made("laplace").manifest.mechanism
    scales = [f"{2**39 + 2 * number + 1}/{2**6}" for number in range(different)]
    box = {"low": [0.0] * different, "high": [1.0] * different, "grid_steps": 1}
    fields = fields | {"scales": scales, "box": box}
    started = time.process_time()
    if different > MOST_SCALES:
        with pytest.raises(BundleError, match="noise on more than"):
            mechanisms.load(fields)
    else:
        assert all(step.holds for step in mechanisms.load(fields).derive())
    assert time.process_time() - started < SECONDS


@pytest.mark.long
@pytest.mark.parametrize("count", [MOST_COORDINATES, MOST_COORDINATES + 1])
def test_noise_on_many_numbers_is_added_up_within_seconds_or_refused(made, count):
    fields = made("laplace").manifest.mechanism | {"scales": [f"{10**9}/1"] * count}
    fields = fields | {"box": {"low": [0.0] * count, "high": [1.0] * count, "grid_steps": 1}}
    started = time.process_time()
    if count > MOST_COORDINATES:
        with pytest.raises(BundleError, match="noise on more than"):
            mechanisms.load(fields)
    else:
        assert mechanisms.load(fields).certificate()
    assert time.process_time() - started < SECONDS


def test_results_are_few(made, forge):
    result = {"mechanism": "channel", "guarantee": "ldp", "epsilon": 5.0, "windows": 9, "useful": {}}
    assert Bundle.load(forge(made("channel ldp"), results=[result] * MOST_RESULTS))
    with pytest.raises(BundleError, match="results"):
        Bundle.load(forge(made("channel ldp"), results=[result] * (MOST_RESULTS + 1)))


@pytest.mark.long
@pytest.mark.parametrize("filler", [0, {"a": 1}, [[]], "a"], ids=repr)
def test_a_manifest_full_of_small_things_is_read_within_seconds(made, tmp_path, filler):
    made("laplace").save(tmp_path / "bundle")
    body = made("laplace").manifest.model_dump(mode="json")
    body["feature_extractor"]["filler"] = [filler] * int(0.98 * LARGEST_MANIFEST / (len(json.dumps(filler)) + 2))
    content = json.dumps({**body, "digest": digest(body)}).encode()
    assert len(content) < LARGEST_MANIFEST
    (tmp_path / "bundle" / "manifest.json").write_bytes(content)
    (tmp_path / "bundle" / "card.html").unlink()
    started = time.process_time()
    assert card(Bundle.load(tmp_path / "bundle"))
    assert verify(tmp_path / "bundle").holds
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("scores", [MOST_NUMBERS, MOST_NUMBERS + 8])
def test_scores_of_a_batch_take_little_memory_or_are_refused(made, forge, scores):
    """A file of few bytes could ask for half a million scores of each of the 65,536 windows of a batch."""
    bundle = made("channel ldp")
    ramps, codes = np.ones((scores // 8, 8), np.int8), np.arange(scores, dtype=np.int16) % 2
    tensors = {"q": ramps, "codes": codes, "outputs": bundle.decoder.steps.astype(np.uint16)}
    quantise = {"op": "quantise", "shift": "q", "shift_scale": 0, "factor": "q", "factor_scale": 0, "low": 0, "high": 9}
    layers = [quantise, {"op": "argmax", "classes": [scores], "codes": "codes", "reject": None}]
    path = forge(bundle, files={TENSORS: save(tensors)}, encoder=layers, decoder={"outputs": "outputs"})
    if scores > MOST_NUMBERS:
        with pytest.raises(BundleError, match=f"gives {scores} numbers for a window, more than {MOST_NUMBERS}"):
            Bundle.load(path)
    assert verify(path).holds == (scores == MOST_NUMBERS)


@pytest.mark.parametrize("features", [MOST_NUMBERS, MOST_NUMBERS + 1])
def test_features_of_a_batch_take_little_memory_or_are_refused(features):
    ramps = np.ones((features, 1), np.int32)
    wide = Network((Quantise(0 * ramps, 0, ramps, 0, Clip(0, 1)),), 1)
    back = Network((Quantise(ramps.T, 0, ramps.T, 0, Clip(0, 1)), affine(features, 1, shift=0)), features)
    mechanism = certified(Box.unit(features), 5.0)
    if features == MOST_NUMBERS:
        assert check_shapes(mechanism, wide, back, dim=1)
    else:
        with pytest.raises(BundleError, match=f"gives {features} numbers for a window, more than {MOST_NUMBERS}"):
            check_shapes(mechanism, wide, back, dim=1)


DOCS = Path(__file__).parents[2] / "docs"
MEGABYTE = 1 << 20


def power(value):
    """2²⁵, of a power of two."""
    assert value == 1 << value.bit_length() - 1
    return f"2{str(value.bit_length() - 1).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def test_the_documentation_states_the_work_that_the_code_allows():
    text = (DOCS / "known-weaknesses.md").read_text(encoding="utf-8")
    assert f"multiplications ({power(MOST_WORK)} per window" in text


@pytest.mark.parametrize(
    "row",
    [
        f"| {LARGEST_MANIFEST // MEGABYTE} MB, {DEEPEST_NESTING} levels, texts of {LONGEST_TEXT:,} characters |",
        f"| {LARGEST_FILE // MEGABYTE} MB, in a zip of {MOST_FILES} files |",
        f"| {power(MOST_WORK)} multiplications for a window, {MOST_LAYERS} layers, {power(MOST_VALUES)} values between",
        f"| {MOST_NUMBERS:,} scores or features, or as many as it has values | a window |",
        f"| {MOST_CODES} codes, {MOST_CODES} outputs, {power(MOST_VARIANTS)} variants of each |",
        f"| {power(MOST_SCRIPTS)} scripts, {MOST_SLOTS:,} slots |",
        f"| {MOST_COORDINATES:,} coordinates, {MOST_SCALES:,} different scales |",
        f"| {power(MOST_KEPT)} recordings, {MOST_SECRETS} secrets |",
        f"| {MOST_HELD_WINDOWS:,} windows, {power(MOST_HELD_VALUES)} values | an episode |",
        f"| {MOST_INFERENCES} useful and {MOST_INFERENCES} sensitive inferences, {MOST_CHANNELS:,} channels, "
        f"{MOST_RESULTS} results |",
    ],
)
def test_the_threat_model_states_the_sizes_that_the_code_allows(row):
    assert row in (DOCS / "threat-model.md").read_text(encoding="utf-8")
