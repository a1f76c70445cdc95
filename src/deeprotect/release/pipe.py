"""The one way through the house: encode, charge, privatise, record, decode; for every window, or for an episode."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from deeprotect.privacy.entropy import SystemEntropy, require_system
from deeprotect.privacy.mechanisms.mechanism import Mechanism
from deeprotect.release.in_order import in_order
from deeprotect.release.ledger import Ledger
from deeprotect.release.ledger.ledger import Paid
from deeprotect.release.placeholder import placeholders
from deeprotect.signals import Hold, Run, Schema, Windows
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats


class Pipeline(Protocol):
    """What the pipe needs of a bundle.

    `encode` sees one scaled window at a time, `pool` makes one code of an episode's, `decode` gives windows in units.
    """

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
    windows: Iterable[Windows], bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy, workers: int = 1
) -> Iterator[Windows]:
    """Released windows in units, one batch for each private batch; the decoder never meets a private sample.

    So many threads work out codes, which takes no randomness; all that is charged and drawn is so in one, in order.
    """
    batches = (private for private in windows if len(private))
    for private, code in in_order(partial(episode_codes, bundle), batches, workers=workers):
        yield release_batch(private, code, bundle, ledger=ledger, entropy=entropy)


def episode_codes(bundle: Pipeline, private: Windows) -> Floats:
    """One code for each episode of a batch, from the windows of it that are looked at."""
    heard, counts = bundle.hold.heard(private.frame.windows_of_episodes)
    samples = private.samples if len(heard) == len(private) else private.samples[heard]
    return bundle.pool(bundle.encode(bundle.schema.scale(samples)), counts)


def release_batch(
    private: Windows, code: Floats, bundle: Pipeline, *, ledger: Ledger, entropy: SystemEntropy
) -> Windows:
    """One batch of whole episodes through the rest of the pipe: one draw for each code."""
    frame = private.frame
    held = draw(code, frame.windows_of_episodes, bundle, runs=frame.runs, ledger=ledger, entropy=entropy)
    return Windows(bundle.decode(held), frame)


def draw(
    code: Floats,
    counts: Counts,
    bundle: Pipeline,
    *,
    runs: Sequence[Run],
    ledger: Ledger,
    entropy: SystemEntropy,
) -> Floats:
    """Noisy codes, one draw for each code, as often as its episode has windows; `runs` number the draws."""
    system = require_system(entropy)
    paid = ledger.charge(runs, count=len(code))  # a crash may waste budget, never overspend
    noisy_code = privatise(code, bundle.mechanism, paid=paid, entropy=system)
    held = bundle.mechanism.repeat(noisy_code, counts, entropy=system)
    # With what each window shows: a draw that is asked for again leaves as it left, variants included.
    return ledger.record(runs, held, counts)


def privatise(code: Floats, mechanism: Mechanism, *, paid: Paid, entropy: SystemEntropy) -> Floats:
    """Noisy codes of what is paid for; the other codes are not looked at."""
    noisy_code = mechanism.privatise(code[paid], entropy=entropy)
    if paid.all():
        return noisy_code
    drawn = np.empty((len(code), noisy_code.shape[1]))
    drawn[paid], drawn[~paid] = noisy_code, placeholders(mechanism, int((~paid).sum()), entropy=entropy)
    return drawn
