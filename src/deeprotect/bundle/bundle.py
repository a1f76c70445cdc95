"""The bundle, which training hands to release: a policy, two networks, a mechanism, and the promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from deeprotect.bundle import consistency, store
from deeprotect.bundle.consistency import Decoder
from deeprotect.bundle.kept import Kept
from deeprotect.bundle.layers.tensors import TENSORS, TensorReader, TensorWriter
from deeprotect.bundle.manifest import CARD_WORDING, FileDigest, Manifest, TrainingRecord, digest
from deeprotect.bundle.network import EpisodeEncoder, Network, OutputTable
from deeprotect.errors import BundleError, PolicyError, quoted_all
from deeprotect.policy import Policy
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.mechanisms import mechanism as mechanisms
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.signals import Hold, Schema
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts
from deeprotect.version import __version__


@dataclass(frozen=True, repr=False)
class Bundle:
    """A protector as training exports it: numbers and layers, nothing that is executed.

    Examples:
        >>> from deeprotect.bundle import Bundle
        >>> bundle = Bundle.load("protector")  # as `deeprotect train` writes it; whatever was altered is refused
        >>> print(bundle.mechanism.event)
        ε = 5 ldp per window
        >>> bundle.manifest.certificate["neighbours"]
        'any two windows'
    """

    manifest: Manifest
    files: dict[str, bytes]

    @classmethod
    def make(
        cls,
        policy: Policy,
        mechanism: Mechanism,
        *,
        encoder: Network,
        decoder: Decoder,
        feature_extractor: dict[str, Any],
        training: TrainingRecord,
        results: Sequence[dict[str, Any]],
        created: str,
        made_with: dict[str, str],
        kept: Kept | None = None,
    ) -> Self:
        """Make a bundle from what training exports; it is checked as any bundle is."""
        tensors = TensorWriter()
        layers = {"encoder": encoder.to_json(tensors), "decoder": decoder.to_json(tensors)}
        files = {TENSORS: tensors.to_bytes()}
        manifest = Manifest(
            created=created,
            made_with={"deeprotect": __version__, **made_with, "card": CARD_WORDING},
            policy=policy.to_json(),
            feature_extractor=feature_extractor,
            mechanism=mechanism.to_json(),
            certificate=_certificate(mechanism, kept),
            training=training,
            results=list(results),
            kept=kept,
            files={name: FileDigest.of(content) for name, content in files.items()},
            **layers,
        )
        return cls(manifest, files).checked("the new bundle")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a folder or a zip file; ε is derived again, and a bundle that does not hold is refused."""
        return cls(*store.read(Path(path))).checked(str(path))

    def save(self, path: str | Path) -> None:
        """Save as a folder, or as a zip file if the name ends in .zip."""
        store.write(Path(path), {store.MANIFEST: self.manifest.to_json(), **self.beside_manifest()})

    def beside_manifest(self) -> dict[str, bytes]:
        """The tensors, and a card for people, which is made from the manifest; no program reads it."""
        from deeprotect.bundle.card import card_page

        return {**self.files, store.CARD: card_page(self).encode()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as the content of the files, which is checked again on loading."""
        return _unpickled, (self.manifest.to_json(), self.files)

    def __repr__(self) -> str:
        return f"<Bundle for {quoted_all(self.policy.inferences.useful, ', ')}; {self.mechanism.event}>"

    @cached_property
    def digest(self) -> str:
        """The digest of the whole manifest, which includes the hash of the tensors."""
        return digest(self.manifest.model_dump(mode="json"))

    @cached_property
    def policy(self) -> Policy:
        return Policy.from_json(self.manifest.policy)

    @cached_property
    def schema(self) -> Schema:
        return self.policy.schema()

    @cached_property
    def mechanism(self) -> Mechanism:
        return mechanisms.load(self.manifest.mechanism)

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The certificate, derived from the mechanism's numbers and the counts; the manifest's copy must agree."""
        return _certificate(self.mechanism, self.manifest.kept)

    @cached_property
    def hold(self) -> Hold:
        return self.policy.hold

    def encode(self, private: Floats) -> Floats:
        """Encodes scaled windows (window, time, channel) to codes (window, value), or evidence if draws are held."""
        return self._episodes.encode(private)

    def pool(self, evidence: Floats, counts: Counts) -> Floats:
        """Codes of episodes; `counts` are the windows of each."""
        return self._episodes.pool(evidence, counts)

    @cached_property
    def _episodes(self) -> EpisodeEncoder:
        return EpisodeEncoder.of(self.encoder, self.hold, self.mechanism.scripts)

    def decode(self, noisy_code: Floats) -> Floats:
        """Decodes noisy codes to windows (window, time, channel) in units; NaN becomes the middle of the range."""
        if self._public_windows is not None:
            index = noisy_code[:, 0].astype(np.int64)
            return self._public_windows.take(index, axis=1).transpose(1, 2, 0)
        scaled = np.nan_to_num(self.decoder(noisy_code), nan=0.5, posinf=1.0, neginf=0.0)
        return self._in_units(scaled)

    @cached_property
    def _public_windows(self) -> Floats | None:
        """A channel's public windows (channel, index, time) in units, so that a column's samples are contiguous."""
        if not isinstance(self.decoder, OutputTable):
            return None
        return np.ascontiguousarray(self._in_units(self.decoder.windows).transpose(2, 0, 1))

    def _in_units(self, scaled: Floats) -> Floats:
        return self.schema.unscale(scaled.reshape(-1, self.schema.window, len(self.schema.channels)))

    @property
    def encoder(self) -> Network:
        return self._networks[0]

    @property
    def decoder(self) -> Decoder:
        return self._networks[1]

    @cached_property
    def _networks(self) -> tuple[Network, Decoder]:
        tensors, dim, code = TensorReader(self.files[TENSORS]), self.schema.dim, self.mechanism.dim
        encoder = Network.read(self.manifest.encoder, tensors, inputs=dim)
        decoder = _decoder(self.manifest.decoder, tensors, inputs=code)
        tensors.check_all_used()
        return encoder, decoder

    def checked(self, where: str) -> Self:
        """Returns the bundle; refuses parts that do not belong together, even if each is intact."""
        try:
            consistency.check_promise(self.policy, self.mechanism)
            consistency.check_certificate(self.certificate, self.manifest.certificate)
            consistency.check_names_known(self.policy, self.mechanism, manifest=self.manifest)
            consistency.check_shapes(self.mechanism, self.encoder, self.decoder, dim=self.schema.dim)
            if self.mechanism.event.erased:
                consistency.check_erased(self.encoder)
        except (BundleError, PolicyError) as error:
            message = str(error)
            raise BundleError(message if message.startswith(where) else f"{where}: {message}") from None
        return self


def _certificate(mechanism: Mechanism, kept: Kept | None) -> dict[str, Any]:
    """The mechanism's certificate, with what follows from the recordings that were kept aside."""
    return mechanism.certificate() | {"beyond": None if kept is None else kept.derived(mechanism)}


def _unpickled(content: bytes, files: dict[str, bytes]) -> Bundle:
    manifest = Manifest.from_json(content, where="the pickle")
    store.check_hashes(files, manifest, where="the pickle")
    return Bundle(manifest, files).checked("the pickle")


def _decoder(stated: Any, tensors: TensorReader, *, inputs: int) -> Decoder:
    if isinstance(stated, dict):
        return OutputTable.read(JsonReader(stated, "decoder"), tensors)
    return Network.read(stated, tensors, inputs=inputs)
