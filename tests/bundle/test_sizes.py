"""Work is bounded before it is done: what a bundle may hold is worked out in seconds, and what is more is refused."""

import json
import time

import pytest

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.bundle.manifest import MOST_RESULTS, digest
from deeprotect.bundle.store import LARGEST_MANIFEST
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError
from deeprotect.privacy.channel.betting import UNIT, needed
from deeprotect.privacy.channel.promises import miss_of_an_end
from deeprotect.privacy.mechanisms import mechanism as mechanisms
from deeprotect.privacy.size_limits import (
    MOST_CODES,
    MOST_COORDINATES,
    MOST_RECORDINGS,
    MOST_SCALES,
    MOST_TABLES,
)

SECONDS = 20  # of processor time, on a machine that others use as well
HALF = str(1 << 63)


def channel(bundle, *, classes=2, codes=1, inferences=1, recordings=200, rest=0):
    """A channel without information, so that every ε holds; a set for each of two useful classes and inference."""
    names = ["person", *(f"p{number}" for number in range(1, inferences))]
    fields, wide = bundle.manifest.mechanism, {"low": [0] * codes, "high": [UNIT] * codes}
    people = ["1", "2", *map(str, range(3, classes + 1))]

    def promise(inference, given):
        return {
            "inference": inference,
            "epsilon": 3.0,
            "classes": people,
            "recordings": recordings,
            **wide,
            "given": given,
        }

    miss = miss_of_an_end(0.95, inferences=inferences, cells=2 * (classes + rest), codes=codes)
    few = {"classes": [f"r{number}" for number in range(rest)], "recordings": 0, "needed": needed(miss)}
    return fields | {
        "event": fields["event"] | {"inferences": names},
        "weights": [f"{HALF} {HALF}"] * codes,
        "prior": [1.0 / codes] * codes,
        "cost": [[0.0, 1.0]] * codes,
        "promises": [promise(name, given) for name in names for given in ("still", "walk")],
        "unpromised": [
            {"inference": name, "given": given, **few} for name in names for given in ("still", "walk") if rest
        ],
        "codes": [],
    }


NEAR = {
    "codes": {"codes": MOST_CODES},
    "classes": {"classes": 100_000},  # about as many as a manifest holds
    "classes without a promise": {"rest": 100_000},
    "recordings": {"recordings": MOST_RECORDINGS, "codes": MOST_CODES},
    "inferences": {"classes": 16, "codes": 8, "inferences": 64},
}
BEYOND = {
    "codes": ({"codes": MOST_CODES + 1}, "rows of weights"),
    "recordings": ({"recordings": MOST_RECORDINGS + 1}, "recordings each"),
}


@pytest.mark.long
@pytest.mark.parametrize("sizes", NEAR.values(), ids=NEAR)
def test_the_largest_bundles_are_described_and_verified_within_seconds(made, forge, sizes):
    mechanism = channel(made("channel given"), **sizes)
    certificate = mechanisms.load(mechanism).certificate()
    names = mechanism["event"]["inferences"]
    changes = {"mechanism": mechanism, "certificate": certificate, "policy__inferences__sensitive": names}
    path = forge(made("channel given"), **changes)
    started = time.process_time()
    assert card(Bundle.load(path))
    assert verify(path).holds, verify(path)
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(("sizes", "says"), BEYOND.values(), ids=BEYOND)
def test_a_larger_channel_is_refused_in_one_line_before_any_work(made, forge, sizes, says):
    path = forge(made("channel given"), mechanism=channel(made("channel given"), **sizes))
    started = time.process_time()
    with pytest.raises(BundleError, match=says) as refused:
        Bundle.load(path)
    assert time.process_time() - started < SECONDS
    assert len(str(refused.value)) < 400
    assert not verify(path).holds


def wide(bundle, *, outputs, inferences):
    """The same with many outputs, which no bundle of ours has windows for: a set for each of them and inference."""
    fields, names = channel(bundle), [f"p{number}" for number in range(inferences)]
    given, one = [f"o{number}" for number in range(outputs)], fields["promises"][0]
    return fields | {
        "weights": [" ".join([str((1 << 64) // outputs)] * outputs)],
        "cost": [[0.0] * outputs],
        "outputs": given,
        "event": fields["event"] | {"inferences": names},
        "promises": [one | {"inference": name, "given": each} for name in names for each in given],
    }


def test_many_promises_are_checked_within_seconds_and_more_are_refused(made):
    most = MOST_TABLES // 64
    with pytest.raises(BundleError, match="cannot be checked"):
        mechanisms.load(wide(made("channel given"), outputs=64, inferences=most + 1))
    started = time.process_time()
    found = mechanisms.load(wide(made("channel given"), outputs=64, inferences=most))
    assert all(step.holds is not False for step in found.derive())
    assert time.process_time() - started < SECONDS


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
    result = {"mechanism": "channel", "guarantee": "named", "epsilon": 3.0, "windows": 9, "useful": {}}
    assert Bundle.load(forge(made("channel given"), results=[result] * MOST_RESULTS))
    with pytest.raises(BundleError, match="results"):
        Bundle.load(forge(made("channel given"), results=[result] * (MOST_RESULTS + 1)))


@pytest.mark.long
@pytest.mark.parametrize("filler", [0, {"a": 1}, [[]], "a"], ids=repr)
def test_a_manifest_full_of_small_things_is_read_within_seconds(made, tmp_path, filler):
    made("laplace").save(tmp_path / "bundle")
    body = made("laplace").manifest.model_dump(mode="json")
    body["minimiser"]["filler"] = [filler] * int(0.98 * LARGEST_MANIFEST / (len(json.dumps(filler)) + 2))
    content = json.dumps({**body, "digest": digest(body)}).encode()
    assert len(content) < LARGEST_MANIFEST
    (tmp_path / "bundle" / "manifest.json").write_bytes(content)
    (tmp_path / "bundle" / "card.html").unlink()
    started = time.process_time()
    assert card(Bundle.load(tmp_path / "bundle"))
    assert verify(tmp_path / "bundle").holds
    assert time.process_time() - started < SECONDS
