import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from deeprotect.bundle.manifest import digest


@pytest.fixture
def keys(folder):
    key = Ed25519PrivateKey.generate()
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "public.pem").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def edit(folder, change):
    """A careful forger: the digest is mended."""
    path = folder / "protector" / "manifest.json"
    body = json.loads(path.read_text())
    body.pop("digest")
    change(body)
    path.write_text(json.dumps({**body, "digest": digest(body)}))


def test_a_bundle_that_holds_prints_every_step_and_the_verdict(deeprotect):
    done = deeprotect("verify", "protector")
    assert done.returncode == 0
    assert done.stderr == ""
    *steps, promise, verdict = done.stdout.splitlines()
    assert all(line.startswith(("ok ", "- ")) for line in steps)
    assert any("Σ steps/noise = 5, stated 5" in line or "Σ steps/noise = 4.9" in line for line in steps)
    assert (promise, verdict) == ("promise: ε = 5 ldp per window", "verdict: holds")


def test_steps_come_as_json_for_scripts(deeprotect):
    report = json.loads(deeprotect("verify", "protector", "--json").stdout)
    assert report["holds"]
    assert {"files", "manifest", "signature", "mechanism", "policy", "certificate"} <= {
        step["name"] for step in report["steps"]
    }


def test_an_edited_epsilon_ends_with_exit_code_1_and_the_reason(folder, deeprotect):
    edit(folder, lambda body: body["mechanism"]["event"].update(epsilon=0.5))
    done = deeprotect("verify", "protector")
    assert done.returncode == 1
    assert "FAILS mechanism" in done.stdout
    assert "the noise gives epsilon 5, more than the stated 0.5" in done.stdout
    assert done.stdout.splitlines()[-1] == "verdict: does not hold"
    assert not json.loads(deeprotect("verify", "protector", "--json").stdout)["holds"]


@pytest.mark.parametrize("command", [("describe", "protector"), ("protect", "protector", "walk.csv", "out.csv")])
def test_what_does_not_hold_is_refused_by_the_other_verbs_too(folder, deeprotect, command):
    edit(folder, lambda body: body["mechanism"]["event"].update(epsilon=0.5))
    done = deeprotect(*command)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "more than the stated 0.5" in done.stderr


def test_what_is_no_bundle_is_wrong_input(folder, deeprotect):
    (folder / "broken").mkdir()
    (folder / "broken" / "manifest.json").write_text("{")
    for name in ("none", "walk.csv", "broken"):
        done = deeprotect("verify", name)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_key_is_asked_of_unsigned_bundles_too(keys, deeprotect):
    done = deeprotect("verify", "protector", "--key", "public.pem")
    assert done.returncode == 1
    assert "not signed" in done.stdout
    assert done.stdout.splitlines()[-1] == "verdict: does not hold"


def test_a_wrong_key_file_is_wrong_input(deeprotect):
    done = deeprotect("verify", "protector", "--key", "walk.csv")
    assert done.returncode == 2
    assert "openssl" in done.stderr


def test_training_signs_and_verify_checks(folder, keys, deeprotect):
    assert deeprotect("train", "policy.toml", "--data", "walk.csv", "--out", "new", "--sign", "key.pem").returncode == 0
    done = deeprotect("verify", "new", "--key", "public.pem")
    assert done.returncode == 0, done.stdout
    assert "Ed25519, by the owner of the key given" in done.stdout
    (folder / "new" / "manifest.sig").write_bytes(bytes(64))
    assert deeprotect("verify", "new", "--key", "public.pem").returncode == 1


def test_a_wrong_signing_key_is_said_before_the_long_work(folder, deeprotect):
    done = deeprotect("train", "policy.toml", "--data", "none.csv", "--out", "new", "--sign", "walk.csv")
    assert done.returncode == 2
    assert "walk.csv: not an unencrypted private key" in done.stderr


def test_protect_with_a_key_refuses_an_unsigned_bundle_and_releases_nothing(folder, keys, deeprotect):
    done = deeprotect("protect", "protector", "walk.csv", "out.csv", "--key", "public.pem")
    assert done.returncode == 2
    assert "sign" in done.stderr
    assert not (folder / "out.csv").exists()
