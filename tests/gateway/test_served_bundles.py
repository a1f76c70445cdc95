"""Which bundles a gateway serves: those that it was started with, and with a key only signed ones."""

import shutil

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.gateway.conftest import channel_bundle
from typer.testing import CliRunner

from deeprotect.bundle import signing
from deeprotect.cli.app import app
from deeprotect.errors import BundleError
from deeprotect.gateway.mediation.gateway import Bundles, Gateway, Settings

OWNER, STRANGER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


@pytest.fixture
def public(tmp_path):
    path = tmp_path / "public.pem"
    path.write_bytes(OWNER.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return path


def settings(tmp_path, public):
    return Settings({"protector": tmp_path / "protector"}, str(tmp_path / "ledger.sqlite"), key=public)


def test_a_bundle_that_the_owner_of_the_key_signed_is_served(tmp_path, public):
    bundle = channel_bundle()
    signing.save(bundle, tmp_path / "protector", key=OWNER)
    assert Gateway(settings(tmp_path, public)).bundles.get("protector").digest == bundle.digest


@pytest.mark.parametrize(("signer", "why"), [(None, "not signed"), (STRANGER, "the signature does not fit")])
def test_another_bundle_is_refused_before_anything_is_opened(tmp_path, public, signer, why):
    path = tmp_path / "protector"
    signing.save(channel_bundle(), path, key=signer) if signer else channel_bundle().save(path)
    with pytest.raises(BundleError, match=why):
        Gateway(settings(tmp_path, public))
    assert not (tmp_path / "ledger.sqlite").exists()


def test_serve_takes_the_key(tmp_path, public):
    channel_bundle().save(tmp_path / "protector")
    words = ["gateway", "serve", "--bundle", str(tmp_path / "protector"), "--key", str(public), "--port", "0"]
    done = CliRunner().invoke(app, [*words, "--ledger", str(tmp_path / "ledger.sqlite")])
    assert isinstance(done.exception, BundleError)
    assert "not signed" in str(done.exception)


def test_what_is_put_in_a_bundles_place_is_told_and_not_taken_up(bundle_path):
    bundles = Bundles({"protector": bundle_path})
    before = bundles.get("protector")
    assert bundles.replaced() == set()
    channel_bundle(window=8).save(bundle_path)
    assert bundles.replaced() == {"protector"}
    assert bundles.get("protector") is before
    shutil.rmtree(bundle_path)
    assert bundles.replaced() == {"protector"}
    assert bundles.get("protector") is before
    assert bundles.channels() == before.schema
