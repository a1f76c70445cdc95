"""One live window from samples to released samples: how long it takes, and what one stream asks of a core."""

import time

import numpy as np

from deeprotect.benchmark.made_up import RATE_HZ, Shape, protector
from deeprotect.benchmark.ratio import Ratio
from deeprotect.bundle import Bundle
from deeprotect.bundle.network import one_thread
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.pipe import release
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Cutter

WINDOWS, ROUNDS = 2000, 3
MILLISECOND = 1e-3


def live(*, windows: int = WINDOWS, rounds: int = ROUNDS) -> list[Ratio]:
    """A second of 50 Hz × 6 channels at a time. Of several rounds the best: others can only add time."""
    shape = Shape()
    bundle, samples = protector(shape), shape.windows(windows)
    samples = bundle.schema.unscale(samples)
    with one_thread():
        clocked = [_clocked(bundle, samples) for _ in range(rounds)]
    wall, processor = np.array([each[0] for each in clocked]), min(each[1] for each in clocked)
    what, second = "one live window of 50 × 6 samples", shape.samples / RATE_HZ
    ratios = [
        Ratio(f"{what}, {name} of the clock", "a millisecond", "time", float(at.min()) / MILLISECOND)
        for name, at in (("median", np.median(wall, axis=1)), ("99th percentile", np.percentile(wall, 99, axis=1)))
    ]
    return [*ratios, Ratio(f"{what}, processor time", "the second it lasts", "time", processor / second)]


def _clocked(bundle: Bundle, windows: Floats) -> tuple[Floats, float]:
    """Seconds of each window by the clock, and of the processor on average."""
    cutter = Cutter(bundle.schema.window, len(bundle.schema.channels), hold=bundle.hold.windows)
    ledger, entropy = MemoryLedger(Price.of(bundle.mechanism)), SystemEntropy()
    wall, start = np.empty(len(windows)), time.process_time()
    for place, samples in enumerate(windows):
        begun = time.perf_counter()
        for released in release([cutter.push(samples)], bundle, ledger=ledger, entropy=entropy):
            released.rows()
        wall[place] = time.perf_counter() - begun
    return wall, (time.process_time() - start) / len(windows)
