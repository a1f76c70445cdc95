"""The hand-over between training and release: a policy, two networks, a mechanism, and what is promised."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from deeprotect.bundle import store
from deeprotect.bundle.agreement import check_certificate, check_networks, check_promise
from deeprotect.bundle.manifest import Manifest, Part, Training
from deeprotect.bundle.network import Network
from deeprotect.errors import BundleError, PolicyError
from deeprotect.policy import Policy
from deeprotect.privacy import mechanism as mechanisms
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.privacy.subspace import Subspace
from deeprotect.signals import Schema
from deeprotect.signals.schema import Floats
from deeprotect.version import __version__

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"


@dataclass(frozen=True)
class Bundle:
    """A protector that can leave the laboratory; needs onnxruntime, not torch."""

    manifest: Manifest
    files: dict[str, bytes]

    @classmethod
    def make(
        cls,
        policy: Policy,
        mechanism: Mechanism,
        *,
        encoder: bytes,
        decoder: bytes,
        minimiser: dict[str, Any],
        training: Training,
        results: Sequence[dict[str, Any]],
        created: str,
        made_with: dict[str, str],
    ) -> Self:
        files = {ENCODER: encoder, DECODER: decoder}
        manifest = Manifest(
            created=created,
            made_with={"deeprotect": __version__, **made_with},
            policy=policy.to_json(),
            minimiser=minimiser,
            mechanism=mechanism.to_json(),
            certificate=mechanism.certificate(),
            training=training,
            results=list(results),
            files={name: Part.of(content) for name, content in files.items()},
        )
        return cls(manifest, files)._checked("the new bundle")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        return cls(*store.read(Path(path)))._checked(str(path))

    def save(self, path: str | Path) -> None:
        """A folder, or a zip file when the name ends in .zip."""
        store.write(Path(path), {store.MANIFEST: self.manifest.to_json(), **self.files})

    @cached_property
    def policy(self) -> Policy:
        return Policy.from_json(self.manifest.policy)

    @cached_property
    def schema(self) -> Schema:
        return self.policy.schema()

    @cached_property
    def mechanism(self) -> Mechanism:
        return mechanisms.load(self.manifest.mechanism)

    def encode(self, private: Floats) -> Floats:
        """Code (window, coordinate) of scaled windows (window, time, channel)."""
        flat = private.reshape(len(private), self.schema.dim)
        # The window itself is the code there, and float32 would make residuals of relaxed neighbours differ.
        return flat if isinstance(self.mechanism, Subspace) else self.encoder(flat)

    def decode(self, noisy_code: Floats) -> Floats:
        """Scaled windows (window, time, channel) from noisy codes alone."""
        return self.decoder(noisy_code).reshape(len(noisy_code), self.schema.window, len(self.schema.channels))

    @cached_property
    def encoder(self) -> Network:
        return Network(self.files[ENCODER], name=ENCODER)

    @cached_property
    def decoder(self) -> Network:
        return Network(self.files[DECODER], name=DECODER)

    def _checked(self, where: str) -> Self:
        """Parts that do not belong together are refused, even when each is whole."""
        try:
            self._check()
        except KeyError as error:
            raise BundleError(f"{where}: incomplete: {error.args[0]} is missing") from None
        except (BundleError, PolicyError) as error:
            message = str(error)
            raise BundleError(message if message.startswith(where) else f"{where}: {message}") from None
        return self

    def _check(self) -> None:
        check_promise(self.policy, self.mechanism)
        check_certificate(self.mechanism, self.manifest.certificate)
        shapes = (self.encoder.inputs, self.encoder.outputs, self.decoder.inputs, self.decoder.outputs)
        dim, code = self.schema.dim, self.mechanism.dim
        if shapes != (dim, code, code, dim):
            raise BundleError(f"the networks' shapes {shapes} do not fit windows of {dim} values and codes of {code}")
        check_networks(self.mechanism, self.encoder, self.decoder)
