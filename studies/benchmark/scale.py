"""How engines scale: Spark on one worker and two, against `protect` and Spark's own copy; Dask; and devices held.

Ratios are of one run on one machine. A worker has one core and uses no other. The first job of each cluster is the one
that counts, from when its workers' Python has started and knows the package, as `protect`'s does.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deeprotect.errors import DeeprotectError
from studies.benchmark.made_up import RATE_HZ, Shape, protector, recording
from studies.benchmark.own_process import run
from studies.benchmark.ratio import Ratio
from studies.benchmark.spark_run import SparkRun, finish, start
from studies.benchmark.standalone import standalone

ROWS, FILE_ROWS, RECORDING_ROWS = 50_000_000, 1_000_000, 50_000
DEVICES, HELD, TRIGGER_SECONDS, STREAM_SECONDS = 2000, "10 s", 10, 90
Say = Callable[[str], None]
_PROTECT = """
from deeprotect.bundle import Bundle
from deeprotect.release.engine import encoding_threads
from deeprotect.api import Protector
guard = Protector.load(source / "../bundle")
files = sorted(map(str, source.glob("*.parquet")))
def work(): guard.protect(files, sink.with_name("one.parquet"), keep_names=True, force=True)
"""
# Dask tells glibc when to give memory back, so that every large array is paged in anew: half of a release's time.
_DASK = """
import os
from dask import config
from distributed import Client, LocalCluster
from deeprotect.engines import dask
for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
    config.set({{f"distributed.nanny.pre-spawn-environ.{{name}}": 1 << 28}})
cluster = LocalCluster(n_workers={workers}, threads_per_worker=1, dashboard_address=None)
client = Client(cluster)
cores = sorted(os.sched_getaffinity(0))
for place, worker in enumerate(client.scheduler_info()["workers"]):
    client.run(os.sched_setaffinity, 0, [cores[place % len(cores)]], workers=[worker])
def work(): dask.protect(str(source), source / "../bundle", out=sink.with_name("dask-{workers}"), client=client)
"""


def scale(rows: int = ROWS, *, say: Say = lambda _: None) -> Iterator[Ratio]:
    """Tables: ratios as they are measured, with the seconds behind them told to `say`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = _tables(folder, rows)
        runs = {workers: _spark(folder, "protect", workers) for workers in (1, 2)}
        copy, frame = _spark(folder, "copy", 2), _spark(folder, "frame", 2)
        for workers, each in runs.items():
            say(f"Spark, {workers} workers: {each.seconds:.1f} s, processor {each.processor_seconds:.1f} s")
        say(f"Spark's copy, 2 workers: {copy.seconds:.1f} s, processor {copy.processor_seconds:.1f} s")
        say(
            f"Spark, a frame that it sorts, 2 workers: {frame.seconds:.1f} s, processor {frame.processor_seconds:.1f} s"
        )
        yield Ratio("Spark, 2 workers", "1 worker", "throughput", runs[1].seconds / runs[2].seconds)
        alone = run(_PROTECT, source)
        say(f"protect, one process: {alone.clock_seconds:.1f} s, processor {alone.seconds:.1f} s")
        yield Ratio("Spark, 2 workers", "protect, same cores", "time", runs[2].seconds / alone.clock_seconds)
        for name, each in (("Spark, 2 workers", runs[2]), ("Spark, a sorted frame", frame)):
            processor = each.processor_seconds / copy.processor_seconds
            yield Ratio(f"{name}, processor", "Spark's copy", "time", processor)
        dask = {workers: run(_DASK.format(workers=workers), source).clock_seconds for workers in (1, 2)}
        for workers, seconds in dask.items():
            say(f"Dask, {workers} workers: {seconds:.1f} s")
        yield Ratio("Dask, 2 workers", "1 worker", "throughput", dask[1] / dask[2])
        yield Ratio("Dask, 2 workers", "protect, same cores", "time", dask[2] / alone.clock_seconds)


def streams(
    devices: int = DEVICES, *, ledger: str | None = None, seconds: int = STREAM_SECONDS, say: Say = lambda _: None
) -> Ratio:
    """Devices that each send a second of rows every second, on two cores: the slowest of 100 batches over a trigger."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        durations = _stream(folder, devices, ledger or str(folder / "ledger.db"), seconds)
    if not durations:
        raise DeeprotectError(f"{devices} devices: no batch but the first ended in {seconds} s; they are not held")
    worst = float(np.quantile(durations, 0.99))
    say(f"{devices} devices: {len(durations)} batches, median {np.median(durations):.1f} s, 99 % below {worst:.1f} s")
    return Ratio(
        f"{devices} devices, batch (99th percentile)",
        f"trigger of {TRIGGER_SECONDS} s",
        "time",
        worst / TRIGGER_SECONDS,
    )


def _tables(folder: Path, rows: int) -> Path:
    source = folder / "in"
    source.mkdir()
    protector(Shape()).save(folder / "bundle")
    size = min(FILE_ROWS, rows)
    table = recording(size, Shape())
    for number in range(rows // size):
        names = np.char.add(f"{number:04}-", (np.arange(size) // RECORDING_ROWS).astype(str))
        pq.write_table(table.append_column("recording", pa.array(names)), source / f"{number:04}.parquet")
    return source


def _spark(folder: Path, work: str, workers: int) -> SparkRun:
    own = folder / f"{work}-{workers}"
    own.mkdir()
    with standalone(workers, own) as cluster:
        given = {"source": str(folder / "in"), "out": str(own / "out"), "bundle": str(folder / "bundle")}
        return finish(start(cluster, work, **given))


def _stream(folder: Path, devices: int, ledger: str, seconds: int) -> list[float]:
    """Seconds of each batch but the first, in which Python starts."""
    from deeprotect.engines.spark_session import session
    from deeprotect.engines.spark_stream import protect_stream

    (folder / "in").mkdir()
    over = threading.Event()
    with session("local[2]") as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        _second(folder, devices, 0)
        schema = spark.read.parquet(str(folder / "in")).schema
        source = spark.readStream.schema(schema).parquet(str(folder / "in"))
        bundle = protector(Shape(), every=HELD, listen=3)
        released = protect_stream(source, bundle, ledger=ledger, name="bench", map={"recording": "device"})
        writer = released.writeStream.option("path", str(folder / "out"))
        query = writer.option("checkpointLocation", str(folder / "checkpoint"))
        running = query.trigger(processingTime=f"{TRIGGER_SECONDS} seconds").start()
        sender = threading.Thread(target=_send, args=(folder, devices, over))
        sender.start()
        time.sleep(seconds)
        over.set()
        sender.join()
        batches = [each for each in running.recentProgress if each["numInputRows"]]
        running.stop()
    return [each["durationMs"]["triggerExecution"] / 1000 for each in batches[1:]]


def _send(folder: Path, devices: int, over: threading.Event) -> None:
    began, number = time.monotonic(), 1
    while not over.wait(max(0.0, began + number - time.monotonic())):
        _second(folder, devices, number)
        number += 1


def _second(folder: Path, devices: int, number: int) -> None:
    """One second of all devices, in one file that appears whole."""
    rows = recording(RATE_HZ, Shape()).drop_columns(["time"])
    table = pa.concat_tables([rows] * devices)
    stamps = (1_700_000_000 + number) * 1_000_000 + np.tile(np.arange(RATE_HZ) * (1_000_000 // RATE_HZ), devices)
    names = np.repeat(np.char.add("d", np.arange(devices).astype(str)), RATE_HZ)
    table = table.append_column("time", pa.array(stamps, pa.timestamp("us", tz="UTC")))
    part = folder / f"{number}.part"
    pq.write_table(table.append_column("device", pa.array(names)), part)
    part.rename(folder / "in" / f"{number:05}.parquet")
