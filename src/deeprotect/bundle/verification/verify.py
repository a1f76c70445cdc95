"""`verify`: everything that a bundle promises, derived again from its own numbers, step by step."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deeprotect.bundle import beyond, consistency, signing
from deeprotect.bundle.bundle import Bundle
from deeprotect.bundle.card import card_page
from deeprotect.bundle.manifest import CARD_WORDING, FileDigest, Manifest, digest, read_body
from deeprotect.bundle.network import Network
from deeprotect.bundle.store import CARD, MANIFEST, file_of, files_of
from deeprotect.errors import InputError
from deeprotect.privacy.events import Step
from deeprotect.version import __version__

_BELIEVE_NOTHING = "believe nothing in it, and read `deeprotect describe`"


@dataclass(frozen=True)
class Report:
    """The steps of a check, with their results."""

    promise: str
    steps: tuple[Step, ...]

    @property
    def holds(self) -> bool:
        """Whether every step held, and no step that the promise needs was left out."""
        return not any(step.breaks for step in self.steps)

    @property
    def verdict(self) -> str:
        """One of three verdicts; it contains nothing from the bundle, and nothing is printed after it."""
        if self.holds:
            return "holds"
        return "does not hold" if any(step.holds is False for step in self.steps) else "not proved"

    def to_json(self) -> dict[str, Any]:
        steps = [asdict(step) for step in self.steps]
        return {"holds": self.holds, "verdict": self.verdict, "promise": self.promise, "steps": steps}

    def __str__(self) -> str:
        return "\n".join([*map(str, self.steps), f"promise: {self.promise}", f"verdict: {self.verdict}"])


def verify(path: str | Path, *, key: Any = None) -> Report:
    """Check a bundle on disk; `key` is a public key that must have signed it. What cannot be read is a BundleError."""
    path = Path(path)
    content = file_of(path, MANIFEST)
    manifest, whole = _manifest(content, where=str(path))
    files = files_of(path, manifest)
    bundle = Bundle(manifest, files)
    card = _card(path, bundle)
    outside = [_files(manifest, files), whole, _signature(content, signing.signature(path), key=key)]
    outside.insert(len(outside) if card.holds else 0, card)
    return Report(_promise(bundle), (*outside, *steps(bundle)))


def verify_content(bundle: Bundle) -> Report:
    """Check a bundle in memory, whose files and signature were checked when it was loaded, if it was."""
    return Report(_promise(bundle), (_files(bundle.manifest, bundle.files), *steps(bundle)))


def steps(bundle: Bundle) -> Iterator[Step]:
    """The steps that need only the bundle's content."""
    mechanism = attempt("mechanism", lambda: f"{bundle.mechanism.name}: {bundle.mechanism.event}")
    yield mechanism
    if not mechanism.holds:
        return  # nothing more to check it against
    yield attempt("policy", lambda: _policy(bundle))
    yield attempt("certificate", lambda: _certificate(bundle))
    yield attempt("networks", lambda: _networks(bundle))
    yield _beyond(bundle)
    if bundle.mechanism.event.erased:
        yield attempt("erased directions", lambda: consistency.check_erased(bundle.encoder))
    yield from bundle.mechanism.derive()


def attempt(name: str, check: Callable[[], str]) -> Step:
    """Runs a check as a step, which holds unless the check raises."""
    try:
        return Step(name, holds=True, found=check())
    except InputError as error:
        return Step(name, holds=False, found=str(error))


def _manifest(content: bytes, *, where: str) -> tuple[Manifest, Step]:
    """Reads the manifest even if its digest is wrong, so that other steps can say what was changed."""
    body, intact = read_body(content, where=where)
    found = f"digest {digest(body)[:16]}…" if intact else "altered: digest differs"
    return Manifest.of(body, where=where), Step("manifest", holds=intact, found=found)


def _files(manifest: Manifest, files: dict[str, bytes]) -> Step:
    altered = [name for name, content in files.items() if manifest.files[name] != FileDigest.of(content)]
    if altered:
        return Step("files", holds=False, found=f"altered: SHA-256 of {', '.join(altered)} differs")
    names = ", ".join(f"{name} {part.sha256[:16]}…" for name, part in manifest.files.items())
    return Step("files", holds=True, found=f"SHA-256 {names}")


def _signature(content: bytes, signed: bytes | None, *, key: Any) -> Step:
    if key is None:
        found = "none" if signed is None else "present, not checked; check it with `deeprotect verify --key`"
        return Step("signature", holds=None, found=found)
    reason = signing.fault(content, signed, key=key)
    return Step("signature", holds=reason is None, found=reason or "Ed25519, by the owner of the key given")


def _card(path: Path, bundle: Bundle) -> Step:
    """Compares card.html, which is for people only, with the card made from the manifest. If they differ, this step
    comes first: people may already have read the page."""
    made_with = bundle.manifest.made_with
    try:
        same = file_of(path, CARD) == card_page(bundle).encode()
    except InputError:
        return Step(
            "card", holds=None, found=f"no {CARD}, or nothing to hold it against; `deeprotect describe` makes one"
        )
    if same:
        return Step("card", holds=True, found=f"{CARD} says what the manifest says")
    if (made_with.get("deeprotect"), made_with.get("card")) != (__version__, CARD_WORDING):
        return Step("card", holds=None, found=f"this version did not write {CARD}: {_BELIEVE_NOTHING}")
    return Step("card", holds=False, found=f"{CARD} does not say what the manifest says: {_BELIEVE_NOTHING}")


def _promise(bundle: Bundle) -> str:
    """The stated promise, with what no arithmetic can check, and whether any noise is added."""
    try:
        mechanism, certificate = bundle.mechanism, bundle.certificate
    except InputError:
        return "nothing"
    assumed, noiseless = certificate["assumes"], certificate.get("codes_without_noise")
    stated = str(mechanism.event)
    promise = f"{stated}, assuming that {'; that '.join(assumed)}" if assumed else stated
    promise = "; ".join(filter(None, [promise, beyond.assumed(bundle)]))
    return f"{promise}; noise: {certificate['noise']}" if noiseless else promise


def _policy(bundle: Bundle) -> str:
    consistency.check_promise(bundle.policy, bundle.mechanism)
    stated = bundle.policy.privacy
    return f"asks for ε = {stated.epsilon:g} {stated.guarantee}, mechanism {stated.mechanism}; kept"


def _beyond(bundle: Bundle) -> Step:
    """Derives the bound beyond the useful label again, from the counts of recordings kept aside and the channel."""
    try:
        found = bundle.certificate["beyond"]
    except InputError as error:
        return Step("beyond the label", holds=False, found=str(error))
    if found is None:
        return Step("beyond the label", holds=None, found="no recordings were kept aside, so nothing is stated")
    stated = bundle.manifest.certificate.get("beyond")
    counted = (
        f"τ = {found['tau']:.6g}, {found['kept']} {found['of']} kept aside; {beyond.assumed(bundle) or 'no bound'}"
    )
    holds = isinstance(stated, dict) and stated.get("draw") == found["draw"]
    return Step("beyond the label", holds=holds, found=counted)


def _certificate(bundle: Bundle) -> str:
    consistency.check_certificate(bundle.certificate, bundle.manifest.certificate)
    consistency.check_names_known(bundle.policy, bundle.mechanism, manifest=bundle.manifest)
    return f"all {len(bundle.manifest.certificate)} entries follow from the mechanism's own numbers"


def _networks(bundle: Bundle) -> str:
    """Checks shapes and bounds of the networks. Nothing else is assumed about them: a layer is a function of one row in
    exact arithmetic, and its result is clipped, or drawn through the channel, before it is released."""
    fits = consistency.check_shapes(bundle.mechanism, bundle.encoder, bundle.decoder, dim=bundle.schema.dim)
    networks = [each for each in (bundle.encoder, bundle.decoder) if isinstance(each, Network)]
    largest = max(network.bounds.footprint.largest_sum for network in networks)
    exact = f"sums up to 2^{math.log2(largest):.1f}, all exact" if largest else "no sums"
    return f"{fits}; {len(bundle.encoder.layers)} layers in the encoder, none is trusted; {exact}"
