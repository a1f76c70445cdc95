"""The one way through the house: encode, charge, privatise, decode; once for every window, or for an episode."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.ledger import Ledger
from deeprotect.signals import Hold, Schema, Windows
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats


class Pipeline(Protocol):
    """What the pipe needs of a bundle: `encode` sees one window at a time, `pool` makes one code of an episode's."""

    @property
    def schema(self) -> Schema: ...
    @property
    def hold(self) -> Hold: ...
    @property
    def mechanism(self) -> Mechanism: ...
    def encode(self, private: Floats) -> Floats: ...
    def pool(self, evidence: Floats, counts: Counts) -> Floats: ...
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
    """One batch of whole episodes through the pipe: one draw for each."""
    system, counts = require_system(entropy), private.frame.windows_of_episodes
    heard, heard_counts = bundle.hold.heard(counts)
    evidence = bundle.encode(bundle.schema.scale(private.samples[heard]))
    code = bundle.pool(evidence, heard_counts)
    ledger.charge(stream, bundle.mechanism.event, count=len(code))  # a crash may waste budget, never overspend
    noisy_code = bundle.mechanism.privatise(code, entropy=system)
    held = bundle.mechanism.repeat(noisy_code, counts, entropy=system)
    return Windows(bundle.schema.unscale(bundle.decode(held)), private.frame)
