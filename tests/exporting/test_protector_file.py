"""protector.json holds what a device releases with, is written only after the promise was proved, and can be pinned."""

import base64
import hashlib
import json
from dataclasses import replace

import pytest
from tests.device.small_bundles import KINDS, small_bundle
from typer.testing import CliRunner

from deeprotect.cli.app import app
from deeprotect.errors import BundleError, PolicyError
from deeprotect.exporting import protector_file
from deeprotect.exporting.protector_file import ProtectorFile
from deeprotect.exporting.targets import export_device
from deeprotect.privacy.events import Step
from deeprotect.release.ledger import Price


@pytest.fixture(scope="module")
def bundle():
    return small_bundle("channel ldp")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_device_charges_is_what_python_charges(kind):
    made = small_bundle(kind)
    body = json.loads(ProtectorFile.of(made).text)
    assert body["promise"]["charge"] == float(Price.of(made.mechanism).epsilon)
    assert body["promise"]["epsilon"] == made.mechanism.event.epsilon
    assert body["bundle"] == made.digest


def test_the_numbers_are_those_of_the_bundle(bundle):
    body = json.loads(ProtectorFile.of(bundle).text)
    assert base64.b64decode(body["tensors"]) == bundle.files["tensors.safetensors"]
    assert [[int(weight) for weight in row.split()] for row in body["mechanism"]["weights"]] == [
        list(row) for row in bundle.mechanism.weights
    ]
    assert body["encoder"] == bundle.manifest.encoder


def test_a_promise_that_verify_does_not_prove_is_not_exported(bundle, tmp_path, monkeypatch):
    for holds, needed in ((False, False), (None, True)):
        broken = Step("ε from integers", holds=holds, found="more than stated", needed=needed)
        monkeypatch.setattr(protector_file, "steps", lambda _, step=broken: [step])
        with pytest.raises(BundleError, match="is not proved: ε from integers"):
            export_device(bundle, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_certificate_that_was_changed_is_not_exported(bundle, tmp_path):
    manifest = bundle.manifest.model_copy(update={"certificate": {**bundle.manifest.certificate, "epsilon": 0.1}})
    with pytest.raises(BundleError, match="is not proved: certificate"):
        ProtectorFile.of(replace(bundle, manifest=manifest))


def test_a_mechanism_that_devices_do_not_draw_is_refused(bundle, monkeypatch):
    monkeypatch.setattr(protector_file, "DiscreteChannel", type("Other", (), {}))
    with pytest.raises(BundleError, match="devices cannot draw"):
        ProtectorFile.of(bundle)


def test_streams_that_no_device_has_are_refused(bundle, monkeypatch):
    def none(_):
        raise PolicyError("channel 'mic' is no motion")

    monkeypatch.setattr(protector_file, "places_of", none)
    with pytest.raises(PolicyError, match="mic"):
        ProtectorFile.of(bundle)


def test_the_digest_is_that_of_the_file(bundle, tmp_path):
    digest = export_device(bundle, tmp_path / "out")
    content = (tmp_path / "out" / "protector.json").read_bytes()
    assert digest == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "out" / "protector.sha256").read_text() == f"{digest}  protector.json\n"
    assert content.isascii()
    assert export_device(bundle, tmp_path / "again") == digest


def test_the_verb_says_which_digest_to_pin(bundle, tmp_path):
    bundle.save(tmp_path / "bundle")
    command = ["export", str(tmp_path / "bundle"), "--target", "device", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert ProtectorFile.of(bundle).digest in done.output
    assert (tmp_path / "out" / "deeprotect.js").stat().st_size > 10_000


def test_what_a_missing_sensor_leaves_is_the_policys_and_left_out_where_it_does_not_say(bundle):
    def stated(when_missing):
        policy = bundle.policy.vary(stream={"when_missing": when_missing}) if when_missing else bundle.policy
        return protector_file._policy(policy).get("whenMissing", "not stated")

    assert [stated(each) for each in ("nothing", "placeholder", None)] == ["nothing", "placeholder", "not stated"]
