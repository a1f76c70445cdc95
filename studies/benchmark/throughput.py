"""A table through the whole pipe and the same table merely copied: time and memory, each in a process of its own."""

import tempfile
from pathlib import Path

import pyarrow as pa

from deeprotect.tables.outputs import open_sink
from studies.benchmark.made_up import Shape, protector, recording
from studies.benchmark.own_process import TimedRun, run
from studies.benchmark.ratio import Ratio

ROWS, GROWTH, REPEATS = 2_000_000, 4, 3
PEERS = {kind: f"pyarrow, {kind} read and written" for kind in ("Parquet", "Arrow", "CSV")}
SHORT = 10
"""Samples of a short window, where there is more to encode for each row than in the usual fifty."""
HELD, LISTEN = "10 s", 3  # as long as a live draw is usually held, and as many windows as it listens to

PROTECT = """
from deeprotect import Protector
protector = Protector.load(source.with_name("{bundle}"))
def work(): protector.protect(source, sink, force=True)
"""
COPY = {
    "CSV": """
from pyarrow import csv
def work():
    with csv.open_csv(source) as reader, csv.CSVWriter(sink, reader.schema) as writer:
        for batch in reader: writer.write_batch(batch)
""",
    "Parquet": """
from pyarrow import parquet
def work():
    with parquet.ParquetFile(source) as file, parquet.ParquetWriter(sink, file.schema_arrow) as writer:
        for batch in file.iter_batches(): writer.write_batch(batch)
""",
    "Arrow": """
import pyarrow as pa
def work():
    file = pa.ipc.open_file(str(source))
    with pa.ipc.new_file(str(sink), file.schema) as writer:
        for index in range(file.num_record_batches): writer.write_batch(file.get_batch(index))
""",
}


def tables(*, rows: int = ROWS, kinds: tuple[str, ...] = tuple(PEERS), repeats: int = REPEATS) -> list[Ratio]:
    """`protect` against copying, and its memory against that for a smaller file."""
    ratios: list[Ratio] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        protector(Shape()).save(folder / "protector")
        protector(Shape(), every=HELD, listen=LISTEN).save(folder / "held")
        protector(Shape(samples=SHORT)).save(folder / "short")
        for kind in kinds:
            write(recording(rows, Shape()), folder / f"large.{kind.lower()}")
            write(recording(rows // GROWTH, Shape()), folder / f"small.{kind.lower()}")
            ratios += _ratios(folder, kind, repeats=repeats)
    return ratios


def _ratios(folder: Path, kind: str, *, repeats: int) -> list[Ratio]:
    what, large = f"protect, {kind}", folder / f"large.{kind.lower()}"
    programs = (COPY[kind], *(PROTECT.format(bundle=name) for name in ("protector", "held", "short")))
    turns = [[run(each, large) for each in programs] for _ in range(repeats)]
    copied, protected, held, short = ([turn[place] for turn in turns] for place in range(len(programs)))
    small = run(programs[1], folder / f"small.{kind.lower()}")
    return [
        Ratio(what, PEERS[kind], "time", _least(protected) / _least(copied)),
        Ratio(f"{what}, draws held for {HELD}", PEERS[kind], "time", _least(held) / _least(copied)),
        Ratio(f"{what}, windows of {SHORT}", PEERS[kind], "time", _least(short) / _least(copied)),
        Ratio(f"{what}, by the clock", PEERS[kind], "time", _shortest(protected) / _shortest(copied)),
        Ratio(what, PEERS[kind], "memory", _most(protected) / _most(copied)),
        Ratio(what, f"a file with 1/{GROWTH} of the rows", "memory", _most(protected) / small.peak_bytes),
        Ratio(what, "100 MB", "memory", _most(protected) / 1e8),
    ]


def _least(runs: list[TimedRun]) -> float:
    return min(each.seconds for each in runs)


def _shortest(runs: list[TimedRun]) -> float:
    return min(each.clock_seconds for each in runs)


def _most(runs: list[TimedRun]) -> int:
    return max(each.peak_bytes for each in runs)


def write(table: pa.Table, path: Path) -> None:
    with open_sink(path, table.schema) as sink:
        sink.write(table)
