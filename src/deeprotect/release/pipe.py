"""The one way through the house: encode, charge, privatise, record, decode."""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.privacy.mechanism import Mechanism
from deeprotect.release.ledger import Ledger
from deeprotect.release.ledger.ledger import Paid
from deeprotect.release.placeholder import placeholders
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
    windows: Iterable[Windows], bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy
) -> Iterator[Windows]:
    """Released windows in units, one batch for each private batch; the decoder never meets a private sample."""
    for private in windows:
        if len(private):
            yield release_batch(private, bundle, ledger=ledger, entropy=entropy)


def release_batch(private: Windows, bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy) -> Windows:
    """One batch of windows through the pipe."""
    system = require_system(entropy)
    code = bundle.encode(bundle.schema.scale(private.samples))
    paid = ledger.charge(private.frame.runs, count=len(private))  # a crash may waste budget, never overspend
    drawn = draw(code, bundle.mechanism, paid=paid, entropy=system)
    noisy_code = ledger.record(private.frame.runs, drawn)  # two draws for one charge never leave
    return Windows(bundle.schema.unscale(bundle.decode(noisy_code)), private.frame)


def draw(code: Floats, mechanism: Mechanism, *, paid: Paid, entropy: SystemEntropy) -> Floats:
    """Noisy codes of what is paid for; the other codes are not looked at."""
    noisy_code = mechanism.privatise(code[paid], entropy=entropy)
    if paid.all():
        return noisy_code
    drawn = np.empty((len(code), noisy_code.shape[1]))
    drawn[paid], drawn[~paid] = noisy_code, placeholders(mechanism, int((~paid).sum()), entropy=entropy)
    return drawn
