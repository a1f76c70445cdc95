"""The one way through the house: encode, charge, privatise, decode."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.ledger import Ledger
from deeprotect.signals import Schema, Windows
from deeprotect.signals.schema import Floats


class Pipeline(Protocol):
    """What the pipe needs of a bundle."""

    @property
    def schema(self) -> Schema: ...
    @property
    def mechanism(self) -> Mechanism: ...
    def encode(self, private: Floats) -> Floats: ...
    def decode(self, noisy_code: Floats) -> Floats: ...


def release(
    windows: Iterable[Windows], bundle: Pipeline, *, ledger: Ledger, stream: str, entropy: SystemEntropy
) -> Iterator[Windows]:
    """Released windows in units, one batch for each private batch; the decoder never meets a private sample."""
    for private in windows:
        if len(private):
            yield release_batch(private, bundle, ledger=ledger, stream=stream, entropy=entropy)


def release_batch(
    private: Windows, bundle: Pipeline, *, ledger: Ledger, stream: str, entropy: SystemEntropy
) -> Windows:
    """One batch of windows through the pipe."""
    system = require_system(entropy)
    code = bundle.encode(bundle.schema.scale(private.samples))
    ledger.charge(stream, bundle.mechanism.event, count=len(private))  # a crash may waste budget, never overspend
    noisy_code = bundle.mechanism.privatise(code, entropy=system)
    return Windows(bundle.schema.unscale(bundle.decode(noisy_code)), private.frame)
