"""One live window from samples to released samples: how long it takes, and what one stream asks of a core."""

import time

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.live import LiveStream
from deeprotect.signals.schema import Floats
from studies.benchmark.made_up import RATE_HZ, Shape, protector
from studies.benchmark.ratio import Clock, Ratio

WINDOWS, ROUNDS, READINGS = 2000, 3, 100
MILLISECOND = 1e-3
CLOCKS: dict[str, Clock] = {"by the clock": time.perf_counter, "of the processor": time.thread_time}


def live(*, windows: int = WINDOWS, rounds: int = ROUNDS) -> list[Ratio]:
    """50 Hz × 6 channels, pushed sample by sample. Of several rounds the best: others can only add time."""
    shape = Shape()
    bundle = protector(shape)
    samples = bundle.schema.unscale(shape.windows(windows))
    what, second = f"live window of {shape.samples} × {shape.channels} samples", shape.samples / RATE_HZ
    ratios, shares = [], []
    for name, clock in CLOCKS.items():
        found = [_clocked(bundle, samples, clock) for _ in range(rounds)]
        shares += [share for _, share in found]
        for which, percent in (("median", 50), ("99th percentile", 99)):
            best = min(float(np.percentile(times, percent)) for times, _ in found)
            ratios.append(Ratio(f"{what}, {which} {name}", "a millisecond", "time", best / MILLISECOND))
    return [*ratios, Ratio(f"{what}, all its pushes", "the second it lasts", "time", min(shares) / second)]


def _clocked(bundle: Bundle, windows: Floats, clock: Clock) -> tuple[Floats, float]:
    """Seconds of each push that fills a window; and processor seconds for all pushes of one."""
    stream = LiveStream(bundle, ledger=MemoryLedger(Price.of(bundle.mechanism)), entropy=SystemEntropy())
    times, start = np.empty(len(windows)), time.process_time()
    for place, (*before, last) in enumerate(windows):
        for sample in before:
            stream.push(sample)
        begun = clock()
        stream.push(last)
        times[place] = clock() - begun
    used = (time.process_time() - start) / len(windows)
    return times - _reading(clock), used


def _reading(clock: Clock) -> float:
    """Seconds that reading a clock takes: on virtual machines the processor's takes a tenth of a millisecond."""
    return min(-(clock() - clock()) for _ in range(READINGS))
