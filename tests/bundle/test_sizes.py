"""Work is bounded before it is done: what a bundle may hold is worked out in seconds, and what is more is refused."""

import json
import time
from pathlib import Path

import pytest

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.layers.layer import MOST_WORK
from deeprotect.bundle.manifest import MOST_RESULTS, digest
from deeprotect.bundle.store import LARGEST_MANIFEST
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError
from deeprotect.privacy.mechanisms import mechanism as mechanisms
from deeprotect.privacy.size_limits import (
    MOST_CODES,
    MOST_COORDINATES,
    MOST_SCALES,
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


def test_the_documentation_states_the_work_that_the_code_allows():
    digits = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    power = f"2{str(MOST_WORK.bit_length() - 1).translate(digits)}"
    assert f"multiplications ({power} per window" in (
        Path(__file__).parents[2] / "docs" / "known-weaknesses.md"
    ).read_text(encoding="utf-8")
