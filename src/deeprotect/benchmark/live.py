"""One live window from samples to released samples: how long it takes, and what one stream asks of a core."""

import time

import numpy as np

from deeprotect.benchmark.made_up import RATE_HZ, Shape, protector
from deeprotect.benchmark.ratio import Ratio
from deeprotect.bundle import Bundle
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.streaming import LiveStream
from deeprotect.signals.schema import Floats

WINDOWS, ROUNDS = 2000, 3
MILLISECOND = 1e-3


def live(*, windows: int = WINDOWS, rounds: int = ROUNDS) -> list[Ratio]:
    """50 Hz × 6 channels, pushed sample by sample. Of several rounds the best: others can only add time."""
    shape = Shape()
    bundle = protector(shape)
    samples = bundle.schema.unscale(shape.windows(windows))
    clocked = [_clocked(bundle, samples) for _ in range(rounds)]
    what, second = f"live window of {shape.samples} × {shape.channels} samples", shape.samples / RATE_HZ
    ratios = []
    for place, clock in enumerate(("by the clock", "of the processor")):
        times = np.array([each[0][place] for each in clocked])
        for name, found in (
            ("median", np.median(times, axis=1)),
            ("99th percentile", np.percentile(times, 99, axis=1)),
        ):
            ratios.append(Ratio(f"{what}, {name} {clock}", "a millisecond", "time", float(found.min()) / MILLISECOND))
    share = min(each[1] for each in clocked) / second
    return [*ratios, Ratio(f"{what}, all its pushes", "the second it lasts", "time", share)]


def _clocked(bundle: Bundle, windows: Floats) -> tuple[Floats, float]:
    """(clock or processor, window): seconds of each push that fills a window; and processor seconds for a window."""
    stream = LiveStream(bundle, ledger=MemoryLedger(Price.of(bundle.mechanism)), entropy=SystemEntropy())
    times, start = np.empty((2, len(windows))), time.process_time()
    for place, (*before, last) in enumerate(windows):
        for sample in before:
            stream.push(sample)
        begun = time.perf_counter(), time.thread_time()
        stream.push(last)
        times[:, place] = time.perf_counter() - begun[0], time.thread_time() - begun[1]
    return times, (time.process_time() - start) / len(windows)
