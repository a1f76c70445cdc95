"""The manifest: everything a bundle says about itself, checked on the way in."""

import hashlib
import json
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from deeprotect.errors import BundleError

FORMAT: Literal["deeprotect-bundle"] = "deeprotect-bundle"
VERSION = 1
Json = dict[str, Any]


class Part(BaseModel):
    """A file of the bundle."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    sha256: str
    size: int

    @classmethod
    def of(cls, content: bytes) -> Self:
        return cls(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


class Training(BaseModel):
    """Which data the protector was learnt from; `fingerprint` is a hash of the table's training columns."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    fingerprint: str
    rows: int
    windows: int
    recordings: int
    classes: dict[str, list[str]]


class Manifest(BaseModel):
    """Policy, mechanism and certificate as plain numbers, and the hashes of the files beside them."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["deeprotect-bundle"] = FORMAT
    version: int = VERSION
    created: str
    made_with: dict[str, str]
    policy: Json
    minimiser: Json
    mechanism: Json
    certificate: Json
    training: Training
    results: list[Json]
    files: dict[str, Part]

    def to_json(self) -> bytes:
        """Text for people, closed with a digest of the whole."""
        body = self.model_dump(mode="json")
        return json.dumps({**body, "digest": digest(body)}, indent=1, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def from_json(cls, content: bytes, *, where: str) -> Self:
        """Refuse what is foreign, newer, incomplete or altered, in this order, with the reason."""
        body = _object(content, where)
        if body.get("format") != FORMAT:
            raise BundleError(f"{where}: not a DEEProtect bundle (manifest.json has no format '{FORMAT}')")
        if not isinstance(body.get("version"), int) or body["version"] > VERSION:
            raise BundleError(
                f"{where}: bundle version {body.get('version')} is newer than this program knows ({VERSION}); upgrade"
            )
        if body.pop("digest", None) != digest(body):
            raise BundleError(f"{where}: manifest.json was altered after the bundle was made; get a fresh copy")
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BundleError(f"{where}: manifest.json is incomplete: {place}: {first['msg']}") from None


def digest(body: Json) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _object(content: bytes, where: str) -> Json:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise BundleError(f"{where}: manifest.json is not valid JSON; get a fresh copy of the bundle") from None
    if not isinstance(body, dict):
        raise BundleError(f"{where}: not a DEEProtect bundle (manifest.json is not an object)")
    return body
