"""A table through the whole pipe and the same table merely copied: time and memory, each in a process of its own."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.benchmark.ratio import Ratio
from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.products import Affine
from deeprotect.bundle.manifest import TrainingRecord
from deeprotect.bundle.network import Network
from deeprotect.policy import Policy
from deeprotect.privacy.box import Box
from deeprotect.privacy.mechanisms import laplace
from deeprotect.tables.sinks import open_sink

ROWS, GROWTH, REPEATS = 200_000, 4, 2
CHANNELS, WINDOW, FEATURES, EPSILON = ("acc_x", "acc_y", "acc_z"), 20, 6, 5.0
PEERS = {"csv": "pyarrow, CSV read and written", "parquet": "pyarrow, Parquet read and written"}

PROTECT = """
from deeprotect import Protector
protector = Protector.load(source.with_name("protector"))
def work(): protector.protect_file(source, sink)
"""
COPY = {
    "csv": """
from pyarrow import csv
def work():
    with csv.open_csv(source) as reader, csv.CSVWriter(sink, reader.schema) as writer:
        for batch in reader: writer.write_batch(batch)
""",
    "parquet": """
from pyarrow import parquet
def work():
    with parquet.ParquetFile(source) as file, parquet.ParquetWriter(sink, file.schema_arrow) as writer:
        for batch in file.iter_batches(): writer.write_batch(batch)
""",
}
# The kernel counts a parent's memory in a new child's ru_maxrss; VmHWM is the child's own, where there is one.
_MEASURE = """
import json, pathlib, re, resource, sys, time
source, sink = map(pathlib.Path, sys.argv[1:])
{program}
start = time.process_time()
work()
seconds, status = time.process_time() - start, pathlib.Path("/proc/self/status")
own = re.search(r"VmHWM:\\s*(\\d+)", status.read_text()) if status.exists() else None
unit = 1 if sys.platform == "darwin" else 1024
peak = int(own[1]) * 1024 if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(json.dumps({{"seconds": seconds, "peak_bytes": peak}}))
"""


@dataclass(frozen=True)
class TimedRun:
    """One pass over a table: the processor's seconds after start-up, and the process's largest resident memory."""

    seconds: float
    peak_bytes: int


def run(program: str, source: Path) -> TimedRun:
    """In a new process, so that no memory is left over from before."""
    sink = source.with_name(f"written{source.suffix}")
    command = [sys.executable, "-c", _MEASURE.format(program=program), str(source), str(sink)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return TimedRun(**json.loads(done.stdout))


def tables(
    *, rows: int = ROWS, repeats: int = REPEATS, progress: Callable[[float], None] = lambda _: None
) -> list[Ratio]:
    """`protect` against copying, its memory against the file's size and against that for a smaller file."""
    ratios: list[Ratio] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        protector().save(folder / "protector")
        for kind in PEERS:
            write(walk(rows), folder / f"large.{kind}")
            write(walk(rows // GROWTH), folder / f"small.{kind}")
            ratios += _ratios(folder, kind, repeats=repeats)
            progress(len(ratios) / (4 * len(PEERS)))
    return ratios


def _ratios(folder: Path, kind: str, *, repeats: int) -> list[Ratio]:
    what, large = f"protect, {kind}", folder / f"large.{kind}"
    turns = [(run(PROTECT, large), run(COPY[kind], large)) for _ in range(repeats)]
    speed = min(copied.seconds for _, copied in turns) / min(protected.seconds for protected, _ in turns)
    peak = max(protected.peak_bytes for protected, _ in turns)
    small = run(PROTECT, folder / f"small.{kind}").peak_bytes
    return [
        Ratio(what, PEERS[kind], "throughput", speed),
        Ratio(what, PEERS[kind], "memory", peak / max(copied.peak_bytes for _, copied in turns)),
        Ratio(what, "the file's size", "memory", peak / large.stat().st_size),
        Ratio(what, f"a file with 1/{GROWTH} of the rows", "memory", peak / small),
    ]


def write(table: pa.Table, path: Path) -> None:
    with open_sink(path, table.schema) as sink:
        sink.write(table)


def walk(rows: int) -> pa.Table:
    """A long walk, made up: its numbers take as long as anybody's."""
    generator, time = np.random.default_rng(0), np.arange(rows) / 10
    swing = {name: np.sin(time + shift) + 0.1 * generator.normal(size=rows) for shift, name in enumerate(CHANNELS)}
    return pa.table({"time": time, **swing})


def protector() -> Bundle:
    """Means of parts of a window, protected by Laplace noise and spread over the window again."""
    policy = _policy()
    dim = policy.schema().dim
    part = np.arange(dim)[:, None] * FEATURES // dim == np.arange(FEATURES)
    return Bundle.make(
        policy,
        laplace.certified(Box.unit(FEATURES), EPSILON),
        encoder=_product(part / part.sum(axis=0)),
        decoder=_product(part.T),
        minimiser={"name": "means"},
        training=TrainingRecord(fingerprint="0" * 64, rows=0, windows=0, recordings=0, classes={}),
        results=[],
        created="2026-01-01T00:00:00+00:00",
        made_with={},
    )


def _product(matrix: NDArray[Any]) -> Network:
    weights = matrix.astype(np.float32)
    return Network((Affine(weights, np.zeros(weights.shape[1], np.float32)),), len(weights))


def _policy() -> Policy:
    channels = {name: {"unit": "g", "range": [-4.0, 4.0]} for name in CHANNELS}
    return Policy.from_tables(
        {
            "version": 1,
            "stream": {"rate_hz": 10, "window": WINDOW, "channels": channels},
            "inferences": {"useful": ["activity"]},
            "privacy": {"epsilon": EPSILON, "mechanism": "laplace"},
        }
    )
