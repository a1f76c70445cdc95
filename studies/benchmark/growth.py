"""How the cost grows: with rows, channels, samples of a window and codes, each against its usual size."""

import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import stream
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals.windowing import Frame, Windows
from studies.benchmark.made_up import Shape, protector, recording
from studies.benchmark.own_process import run
from studies.benchmark.ratio import Ratio
from studies.benchmark.throughput import PROTECT, write

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
SIZES = {"channels": (1, 3, 12, 24), "samples": (10, 25, 100, 200), "codes": (2, 32, 128)}
WINDOWS, REPEATS = 2000, 5
FEWEST_COMPARED = 100_000
"""Rows from which on start-up, which is the same for all, no longer counts."""


def growth() -> list[Ratio]:
    return [*rows(), *shapes()]


def rows(*, sizes: tuple[int, ...] = ROWS) -> list[Ratio]:
    """Time for each row of Parquet against that of the file a tenth as large, the exponent, and memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        protector(Shape()).save(folder / "protector")
        runs = {}
        for size in sizes:
            write(recording(size, Shape()), folder / "in.parquet")
            turns = [
                run(PROTECT.format(bundle="protector"), folder / "in.parquet")
                for _ in range(2 if size > FEWEST_COMPARED else 4)
            ]
            runs[size] = min(turns, key=lambda turn: turn.seconds)
    ratios = [
        Ratio(f"protect, {large:,} rows", f"{small:,} rows, row for row", "time", each_row)
        for small, large in pairwise(sizes)
        for each_row in [runs[large].seconds / runs[small].seconds * small / large]
    ]
    compared = [size for size in sizes if size >= FEWEST_COMPARED]
    slope = np.polyfit(np.log(compared), np.log([runs[size].seconds for size in compared]), 1)[0]
    memory = runs[sizes[-1]].peak_bytes / runs[compared[0]].peak_bytes
    return [
        *ratios,
        Ratio("protect, exponent of time in rows", "linear", "time", float(slope)),
        Ratio(f"protect, {sizes[-1]:,} rows", f"{compared[0]:,} rows", "memory", memory),
    ]


def shapes(*, windows: int = WINDOWS) -> list[Ratio]:
    """Time for each window, without files."""
    usual = _seconds(Shape(), windows)
    return [
        Ratio(f"one window, {size} {name}", f"{getattr(Shape(), name)} {name}", "time", found / usual)
        for name, sizes in SIZES.items()
        for size in sizes
        for found in [_seconds(replace(Shape(), **{name: size}), windows)]
    ]


def _seconds(shape: Shape, windows: int) -> float:
    bundle = protector(shape)
    frame = Frame(np.full(windows, shape.samples), np.arange(windows) * shape.samples)
    private = Windows(bundle.schema.unscale(shape.windows(windows)), frame)
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        ledger = MemoryLedger(Price.of(bundle.mechanism))
        list(stream([private], bundle, ledger=ledger, entropy=SystemEntropy()))
        seconds.append(time.process_time() - start)
    return min(seconds)
