"""Running the real pipe many times: encode, charge, privatise, decode, with the operating system's randomness."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.auditing.distinguisher import look_up, names
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, stream
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Frame, Schema, Windows
from deeprotect.signals.schema import Floats

_BATCH = 8_192
_MOST_VARIANTS = 1 << 17


def releases(bundle: Pipeline, pool: Floats, count: int) -> Iterator[Floats]:
    """Released windows (run, value), in parts, of private ones drawn from a pool (window, value); one is repeated.

    Each window counts as a run of its own: so they are where windows are released independently of each other.
    """
    rng = np.random.default_rng()
    sizes = (min(_BATCH, count - start) for start in range(0, count, _BATCH))
    return released_batches(bundle, (pool[rng.integers(len(pool), size=size)] for size in sizes))


def released_batches(bundle: Pipeline, batches: Iterable[Floats], *, hold: int = 1) -> Iterator[Floats]:
    """What the pipe makes of batches of scaled windows (window, value), in episodes of `hold`, one after the other."""
    private = (in_units(bundle.schema, batch, hold=hold) for batch in batches)
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    for released in stream(private, bundle, ledger=ledger, entropy=SystemEntropy()):
        yield released.samples.reshape(len(released), bundle.schema.dim)


def in_units(schema: Schema, scaled: Floats, *, hold: int = 1) -> Windows:
    """Scaled windows (window, value) as a sensor would give them, in episodes of `hold` windows."""
    # Not through `unscale`: snapping to the sensor's resolution would move relaxed neighbours off their direction.
    samples = schema.low + scaled.reshape(-1, schema.window, len(schema.channels)) * (schema.high - schema.low)
    places = np.arange(len(samples))
    return Windows(samples, Frame(np.full(len(samples), schema.window), places * schema.window, places // hold))


@dataclass(frozen=True)
class KnownOutputs:
    """Which of `count` public outputs released windows show: the decoder is public, so an attacker knows it, too."""

    count: int
    known: NDArray[np.uint64]  # names of the windows that can be released, sorted
    output: NDArray[np.uint64]

    def __call__(self, rows: Floats) -> NDArray[np.uint64]:
        """Numbers (run,) of released windows (run, value); `count` for a window that no output gives."""
        return look_up(names(rows), self.known, self.output, missing=np.uint64(self.count))


def outputs_of(bundle: Pipeline) -> KnownOutputs | None:
    """None where a release is not one of a few windows."""
    mechanism, schema = bundle.mechanism, bundle.schema
    count = mechanism.public_outputs
    if count is None or count > _MOST_VARIANTS:
        return None
    index = np.arange(count, dtype=np.float64)[:, None]
    output = mechanism.output_of(index)
    if output is None:
        return None
    windows = bundle.decode(index).reshape(count, schema.dim)
    known, where = np.unique(names(windows), return_index=True)
    return KnownOutputs(int(output.max()) + 1, known, output[where].astype(np.uint64))
