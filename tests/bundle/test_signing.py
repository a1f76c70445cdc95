import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from deeprotect.bundle import Bundle, signing
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.verification.verify import verify
from deeprotect.errors import BundleError, InputError


def write_keys(folder, key, *, encryption=None):
    """key.pem and public.pem, as openssl writes them."""
    pem, public = folder / "key.pem", folder / "public.pem"
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return pem, public


@pytest.fixture
def keys(tmp_path):
    return write_keys(tmp_path, Ed25519PrivateKey.generate())


@pytest.fixture(params=["signed", "signed.zip"])
def signed(bundle, tmp_path, keys, request):
    path = tmp_path / request.param
    signing.save(bundle, path, key=signing.private_key(keys[0]))
    return path


def test_a_signed_bundle_is_accepted_with_its_key_and_loads_without(bundle, signed, keys):
    key = signing.public_key(keys[1])
    assert signing.load(signed, key=key).manifest == bundle.manifest
    assert Bundle.load(signed).manifest == bundle.manifest
    report = verify(signed, key=key)
    assert report.holds
    assert next(step for step in report.steps if step.name == "signature").holds


def test_another_key_is_refused(signed):
    other = Ed25519PrivateKey.generate().public_key()
    assert "another key signed it" in str(verify(signed, key=other))
    with pytest.raises(BundleError, match="another key signed it"):
        signing.load(signed, key=other)


def test_an_unsigned_bundle_is_refused_where_a_key_is_given(bundle, tmp_path, keys):
    bundle.save(tmp_path / "bundle")
    key = signing.public_key(keys[1])
    assert "not signed" in str(verify(tmp_path / "bundle", key=key))
    with pytest.raises(BundleError, match="not signed"):
        signing.load(tmp_path / "bundle", key=key)


def test_saving_again_without_a_key_leaves_no_old_signature(bundle, signed):
    bundle.save(signed)
    assert signing.signature(signed) is None


def test_a_careful_forger_without_the_key_is_refused(bundle, forge, keys):
    """Everything mended, even the promise kept: only the signature tells."""
    key = signing.private_key(keys[0])
    path = forge(bundle, created="2030-01-01T00:00:00+00:00")
    (path / signing.SIGNATURE).write_bytes(key.sign(bundle.manifest.to_json()))
    assert verify(path).holds
    assert "altered after signing" in str(verify(path, key=key.public_key()))
    with pytest.raises(BundleError, match="altered after signing"):
        signing.load(path, key=key.public_key())


def test_a_network_exchanged_behind_a_signature_is_refused(bundle, tmp_path, keys):
    path = tmp_path / "bundle"
    signing.save(bundle, path, key=signing.private_key(keys[0]))
    (path / TENSORS).write_bytes(bundle.files[TENSORS][:-1] + b"!")
    key = signing.public_key(keys[1])
    assert f"SHA-256 of {TENSORS} differs" in str(verify(path, key=key))
    with pytest.raises(BundleError, match="altered or truncated"):
        signing.load(path, key=key)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_signature_of_another_length_is_refused(bundle, tmp_path, keys, length):
    path = tmp_path / "bundle"
    signing.save(bundle, path, key=signing.private_key(keys[0]))
    (path / signing.SIGNATURE).write_bytes(b"\0" * length)
    assert "does not fit" in str(verify(path, key=signing.public_key(keys[1])))


def test_keys_of_another_kind_are_wrong_input_with_the_way_to_make_one(tmp_path):
    pem, public = write_keys(tmp_path, generate_private_key(SECP256R1()))
    for read, path in ((signing.private_key, pem), (signing.public_key, public)):
        with pytest.raises(InputError, match=r"not an Ed25519 key; .*openssl"):
            read(path)


def test_keys_that_cannot_be_read_are_wrong_input(tmp_path):
    (tmp_path / "noise.pem").write_bytes(b"noise")
    for read in (signing.private_key, signing.public_key):
        with pytest.raises(InputError, match="openssl"):
            read(tmp_path / "noise.pem")
        with pytest.raises(InputError, match="cannot be read"):
            read(tmp_path / "none.pem")
    locked, _ = write_keys(tmp_path, Ed25519PrivateKey.generate(), encryption=BestAvailableEncryption(b"word"))
    with pytest.raises(InputError, match="not an unencrypted private key"):
        signing.private_key(locked)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="install openssl to run this")
def test_keys_made_by_openssl_sign_and_openssl_checks(bundle, tmp_path):
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=tmp_path, check=True, capture_output=True)

    openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
    openssl("pkey", "-in", "key.pem", "-pubout", "-out", "public.pem")
    signing.save(bundle, tmp_path / "bundle", key=signing.private_key(tmp_path / "key.pem"))
    assert verify(tmp_path / "bundle", key=signing.public_key(tmp_path / "public.pem")).holds
    parts = ("-in", "bundle/manifest.json", "-sigfile", "bundle/manifest.sig")
    openssl("pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", *parts)
