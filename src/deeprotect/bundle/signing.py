"""Ed25519 signatures over a bundle's manifest, and through its hashes over every file; needs the `sign` extra.

Keys are PEM files: `openssl genpkey -algorithm ed25519 -out key.pem` makes one, and
`openssl pkey -in key.pem -pubout -out public.pem` the public half.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.manifest import Manifest
from deeprotect.bundle.store import MANIFEST, file_of, write
from deeprotect.errors import BundleError, InputError

SIGNATURE = "manifest.sig"  # 64 raw bytes, as `openssl pkeyutl -verify -rawin` reads them


def private_key(path: str | Path) -> Any:
    """The key to sign with."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    make = "make one with `openssl genpkey -algorithm ed25519 -out key.pem`"
    load = partial(load_pem_private_key, password=None)
    return _key(path, load, Ed25519PrivateKey, meant="an unencrypted private key", fix=make)


def public_key(path: str | Path) -> Any:
    """The key to check with."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    take = "take it from the private key with `openssl pkey -in key.pem -pubout -out public.pem`"
    return _key(path, load_pem_public_key, Ed25519PublicKey, meant="a public key", fix=take)


def _key(path: str | Path, load: Callable[[bytes], Any], kind: type, *, meant: str, fix: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        key = load(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path}: the key cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        raise InputError(f"{path}: not {meant} in PEM; {fix}") from None
    if not isinstance(key, kind):
        raise InputError(f"{path}: not an Ed25519 key; {fix}")
    return key


def save(bundle: Bundle, path: str | Path, *, key: Any) -> None:
    """Save the bundle with its signature, whole or not at all."""
    manifest = bundle.manifest.to_json()
    write(Path(path), {MANIFEST: manifest, SIGNATURE: key.sign(manifest), **bundle.beside_manifest()})


def load(path: str | Path, *, key: Any) -> Bundle:
    """Loads a bundle; refuses one whose manifest is not signed by the owner of the public key."""
    manifest = file_of(Path(path), MANIFEST)
    reason = fault(manifest, signature(path), key=key)
    if reason:
        raise BundleError(f"{path}: {reason}")
    bundle = Bundle.load(path)
    # Read twice: the signed manifest must be the loaded one.
    if Manifest.from_json(manifest, where=str(path)) != bundle.manifest:
        raise BundleError(f"{path}: changed while it was read; try again")
    return bundle


def signature(path: str | Path) -> bytes | None:
    """The bundle's signature; None if it has none."""
    try:
        return file_of(Path(path), SIGNATURE)
    except BundleError:
        return None


def fault(manifest: bytes, signed: bytes | None, *, key: Any) -> str | None:
    """Why the signature is invalid; None if it is valid."""
    from cryptography.exceptions import InvalidSignature

    if signed is None:
        return f"not signed ({SIGNATURE} is missing); sign it with `train --sign`"
    try:
        key.verify(signed, manifest)
    except InvalidSignature:
        return "the signature does not fit: another key signed it, or the manifest was altered after signing"
    return None
