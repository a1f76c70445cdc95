"""A live stream pushed sample by sample, in a process of its own so that its memory is that of one stream.

Its arguments are BUNDLE SECONDS RATE CHANNELS; without a bundle (-), samples are copied.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Push = Callable[[Any], Any]


def pushes(bundle: str) -> Push:
    if bundle == "-":
        return np.array
    from deeprotect.bundle import Bundle
    from deeprotect.privacy.entropy import SystemEntropy
    from deeprotect.release.ledger import MemoryLedger, Price
    from deeprotect.release.live import LiveStream

    loaded = Bundle.load(bundle)
    ledger = MemoryLedger(Price.of(loaded.mechanism))
    return LiveStream(loaded, ledger=ledger, entropy=SystemEntropy()).push


def measured(push: Push, samples: Any) -> tuple[float, float]:
    """Processor seconds of all samples, and the median milliseconds of a push that releases."""
    times, start = [], time.process_time()
    for sample in samples:
        before = time.perf_counter()
        released = len(push(sample))
        times += [time.perf_counter() - before] if released else []
    return time.process_time() - start, 1000 * float(np.median(times))


def main() -> None:
    bundle, seconds, rate_hz, channels = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    samples = np.random.default_rng(0).normal(size=(int(seconds * rate_hz), channels))
    cpu, milliseconds = measured(pushes(bundle), samples)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": cpu / seconds, "memory": memory, "window": milliseconds}))
