"""The manifest: everything a bundle says about itself, checked on the way in."""

import hashlib
import json
import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from deeprotect.bundle.kept import Kept
from deeprotect.errors import BundleError, quoted
from deeprotect.privacy.events import Guarantee

FORMAT: Literal["deeprotect-bundle"] = "deeprotect-bundle"
VERSION: Literal[4] = 4
LONGEST_TEXT = 1000
LARGEST_NUMBER = 1e300
DEEPEST_NESTING = 32
_NUMBERS = re.compile(r"[0-9 ]*")
_KEY = re.compile(r"[a-z_0-9]{1,40}|\[key\]")
Json = dict[str, Any]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]
Share = Annotated[float, Field(ge=0, le=1)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$")]
Version = Annotated[
    str,  # as PEP 440 writes them
    Field(pattern=r"^[0-9]{1,4}(\.[0-9]{1,8}){0,4}(\.?(a|b|rc|post|dev)[0-9]{1,8}){0,3}(\+[a-z0-9._-]{1,40})?$"),
]
Package = Literal["deeprotect", "card", "torch", "scikit-learn", "numpy"]
CARD_WORDING = "6"
"""The version of the card's wording, stored in the manifest: if it differs, another version wrote the card."""
Name = Literal["channel", "laplace", "paper", "baseline"]
Learnt = Literal["none", "code book", "Autoencoder", "PaperAutoencoder", "PCA"]
MOST_RESULTS = 8
ENROLLED = "enrolled"
EXACT = "exact"
"""The only field of a certificate that is true or false. Elsewhere Python would take true for the number 1."""


class FileDigest(BaseModel):
    """A file of the bundle."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    sha256: Hash
    size: int = Field(ge=0)

    @classmethod
    def of(cls, content: bytes) -> Self:
        return cls(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


class TrainingRecord(BaseModel):
    """The training data; `fingerprint` is a hash of the table's training columns."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    fingerprint: Hash
    rows: Count
    windows: Count
    recordings: Count
    classes: dict[str, list[str]]


class ClassRead(BaseModel):
    """An app's recall of one class of a useful label; None if no window tests it.

    `name` is the class, or its number if classes may be people; a class whose `code` is "none" is released as another.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)
    name: str
    learnt: Count
    tested: Count
    clean: Share | None
    app: Share | None
    code: Literal["own", "none"] = "own"


Reading = Literal["clean", "app", "app_cost", "chance", "clean_balanced", "app_balanced"]
Error = Literal["error", "error_clean", "error_median", "error_coder", "error_limit"]
UsefulRead = dict[Reading | Error, Share]
SensitiveRead = dict[Literal["raw", "adaptive", "chance", "recording", "recording_raw"], Share]
"""Accuracy; `recording` uses all held-out windows of a recording together."""


class Unseen(BaseModel):
    """What the apps and attackers read of people whom the protector has not learnt from."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)
    people: Count
    useful: dict[str, UsefulRead]
    sensitive: dict[str, SensitiveRead] = Field(default_factory=dict)


class Measured(BaseModel):
    """What an unchanged app and a retrained attacker read of held-out windows, as the bundle's maker says.

    Errors are mean absolute errors of a numeric inference, as shares of its range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)
    mechanism: Name
    guarantee: Guarantee
    epsilon: float
    windows: Count
    useful: dict[str, UsefulRead]
    classes: dict[str, list[ClassRead]] = Field(default_factory=dict)
    sensitive: dict[str, SensitiveRead] = Field(default_factory=dict)
    unseen: Unseen | None = None

    @model_serializer(mode="wrap")
    def _stated(self, stated: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out `unseen` if it was not measured, so that earlier bundles keep their digest."""
        return {key: value for key, value in stated(self).items() if key != "unseen" or value is not None}


class FeatureExtractorRecord(BaseModel):
    """The feature extractor: its name, why it was chosen if the policy left the choice, and its parameters."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)
    name: Learnt
    chosen_for_expected_accuracy: dict[Name, float] = Field(default_factory=dict)
    chosen_for_expected_cost: dict[Name, float] = Field(default_factory=dict)

    @property
    def unmeasured(self) -> Json:
        """The record without figures that were estimated for another ε, hold or coder."""
        return {name: value for name, value in self.model_dump().items() if "expected" not in name}

    @property
    def enrolled_windows(self) -> int:
        """The number of one person's windows that the coder's head was learnt from; 0 if it was not enrolled."""
        windows = (self.model_extra or {}).get(ENROLLED, 0)
        return windows if type(windows) is int and 0 <= windows < 1 << 53 else 0


class Manifest(BaseModel):
    """Policy, mechanism, certificate and layers as plain numbers, and the hash of the tensors beside them.

    `decoder` is a list of layers, or for a channel the table of its public windows. `kept` are counts on recordings
    kept aside; None if there were too few recordings, or if the mechanism has no codes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal["deeprotect-bundle"] = FORMAT
    version: Literal[4] = VERSION
    created: Time
    made_with: dict[Package, Version]
    policy: Json
    feature_extractor: FeatureExtractorRecord
    mechanism: Json
    certificate: Json
    encoder: list[Json]
    decoder: list[Json] | Json
    training: TrainingRecord
    results: Annotated[list[Measured], Field(max_length=MOST_RESULTS)]
    kept: Kept | None = None
    files: dict[str, FileDigest]

    def to_json(self) -> bytes:
        """Readable JSON, with a digest of the rest."""
        body = self.model_dump(mode="json")
        return json.dumps({**body, "digest": digest(body)}, indent=1, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def from_json(cls, content: bytes, *, where: str) -> Self:
        """Refuses, in this order, foreign, older or newer, incomplete and altered manifests, with the reason."""
        body, intact = read_body(content, where=where)
        if not intact:
            raise BundleError(f"{where}: manifest.json was altered after the bundle was made; get a fresh copy")
        return cls.of(body, where=where)

    @classmethod
    def of(cls, body: Json, *, where: str) -> Self:
        """Refuses incomplete manifests, and unknown values where only known ones are allowed."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(_shown, first["loc"]))
            raise BundleError(f"{where}: manifest.json is incomplete: {place}: {first['msg']}") from None


def read_body(content: bytes, *, where: str) -> tuple[Json, bool]:
    """The checked body of a manifest of this version, and whether its digest is right."""
    body = _object(content, where)
    if body.get("format") != FORMAT:
        raise BundleError(f"{where}: not a DEEProtect bundle (manifest.json has no format '{FORMAT}')")
    _check_version(body.get("version"), where)
    _check_values(body, where)
    stated = body.pop("digest", None)
    return body, stated == digest(body)


def digest(body: Json) -> str:
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _shown(part: int | str) -> str:
    """A key in the path to a mistake: known keys as they are, the bundle's own in quotes."""
    return str(part) if isinstance(part, int) or _KEY.fullmatch(part) else quoted(part)


def _check_version(version: Any, where: str) -> None:
    if type(version) is int and 0 < version < VERSION:
        raise BundleError(
            f"{where}: bundle version {version} is of an earlier format, whose promises are not checked any more; "
            "train again"
        )
    if type(version) is not int or version != VERSION:
        known = version if type(version) is int and version < 1_000_000 else "unknown"
        raise BundleError(f"{where}: bundle version {known} is newer than this program knows ({VERSION}); upgrade")


def _check_values(value: Any, where: str, *, key: str = "", depth: int = 0) -> None:
    """Refuses texts that could print a verdict of their own (line breaks, escapes), and numbers and nesting that could
    make any reader of the manifest fail."""
    if depth > DEEPEST_NESTING:
        raise BundleError(f"{where}: manifest.json is nested deeper than {DEEPEST_NESTING}; refused")
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_values(name, where)
            _check_values(inner, where, key=name, depth=depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_values(inner, where, key=key, depth=depth + 1)
    elif isinstance(value, bool) and key != EXACT:
        raise BundleError(f"{where}: manifest.json holds true or false where a number or text is expected; refused")
    elif isinstance(value, int | float) and not abs(value) < LARGEST_NUMBER:
        raise BundleError(f"{where}: manifest.json holds a number that is too large to compute with; refused")
    elif isinstance(value, str) and not _harmless(value, key):
        raise BundleError(
            f"{where}: manifest.json holds a text that is not printable or longer than {LONGEST_TEXT}; refused"
        )


def _harmless(text: str, key: str) -> bool:
    """Whether a text is safe to print. Rows of a channel's integers may be longer; they are not printed."""
    if key == "weights" and _NUMBERS.fullmatch(text):
        return True
    return text.isprintable() and len(text) <= LONGEST_TEXT


def _object(content: bytes, where: str) -> Json:
    try:
        # Decoded first: `loads` would guess the encoding of bytes.
        body = json.loads(content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise BundleError(f"{where}: manifest.json is not valid JSON; get a fresh copy of the bundle") from None
    if not isinstance(body, dict):
        raise BundleError(f"{where}: not a DEEProtect bundle (manifest.json is not an object)")
    return body


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    """Refuses duplicate keys: readers differ in which one they take, and a promise must not depend on that."""
    body = dict(pairs)
    if len(body) < len(pairs):
        raise ValueError("a key stands twice")
    return body


def _no_constant(name: str) -> None:
    raise ValueError(name)
