"""Running the real pipe many times: encode, charge, privatise, decode, with the operating system's randomness."""

from collections.abc import Iterator

import numpy as np

from deeprotect.audit.distinguisher import Names, look_up, names
from deeprotect.privacy.channel.discrete_channel import DiscreteChannel
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import Ledger
from deeprotect.release.pipe import Protects, release
from deeprotect.signals import Frame, Windows
from deeprotect.signals.schema import Floats

_BATCH = 8_192
_MOST_VARIANTS = 1 << 17


def releases(bundle: Protects, pool: Floats, count: int) -> Iterator[Floats]:
    """Released windows (run, value), in parts, of private ones drawn from a pool (window, value); one is repeated."""
    schema, rng = bundle.schema, np.random.default_rng()
    # Not through `unscale`: snapping to the sensor's resolution would move relaxed neighbours off their direction.
    samples = schema.low + pool.reshape(-1, schema.window, len(schema.channels)) * (schema.high - schema.low)
    ledger, entropy = Ledger(), SystemEntropy()
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        frame = Frame(np.full(size, schema.window), np.arange(start, start + size) * schema.window)
        private = Windows(samples[rng.integers(len(samples), size=size)], frame)
        for released in release([private], bundle, ledger=ledger, stream="audit", entropy=entropy):
            yield released.samples.reshape(size, schema.dim)


def released(bundle: Protects, pool: Floats, count: int) -> Floats:
    """All of them at once, for counts that fit in memory."""
    return np.concatenate(list(releases(bundle, pool, count)))


def outputs_of(bundle: Protects) -> Names | None:
    """Which of a channel's outputs a released window shows: the decoder is public, so an attacker knows it, too."""
    channel, schema = bundle.mechanism, bundle.schema
    count = len(channel.weights[0]) * channel.variants if isinstance(channel, DiscreteChannel) else 0
    if not isinstance(channel, DiscreteChannel) or count > _MOST_VARIANTS:
        return None
    index = np.arange(count)
    windows = schema.unscale(bundle.decode(index[:, None].astype(np.float64)))
    known, where = np.unique(names(windows.reshape(count, schema.dim)), return_index=True)
    output = (index[where] // channel.variants).astype(np.uint64)
    return lambda rows: look_up(names(rows), known, output, missing=np.uint64(count))
