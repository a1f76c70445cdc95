"""One timed job on Spark, in its own process, with its task as JSON."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deeprotect.errors import DeeprotectError
from studies.benchmark import own_process
from studies.benchmark.standalone import Standalone

CONF = {"spark.executor.memory": "1g", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "16"}


@dataclass(frozen=True)
class SparkRun:
    """The clock's seconds of one job after Spark has started, and the processor's of all workers."""

    seconds: float
    processor_seconds: float


def start(cluster: Standalone, work: str, **given: Any) -> "subprocess.Popen[str]":
    """A job on a cluster: `protect` file by file, a `frame` that Spark sorts, or a `copy` by Spark alone."""
    conf = CONF | given.pop("conf", {})
    submit = " ".join([*(f"--conf {name}={value}" for name, value in conf.items()), "pyspark-shell"])
    asked = json.dumps({"master": cluster.master, "workers": cluster.workers, "work": work, **given})
    command = [*own_process.program("spark_run"), asked]
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": submit}
    return subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def finish(process: "subprocess.Popen[str]") -> SparkRun:
    out, said = process.communicate()
    if process.returncode:
        raise DeeprotectError(f"the job failed: {said.strip().splitlines()[-1] if said.strip() else 'no word'}")
    return SparkRun(**json.loads(out.splitlines()[-1]))


def _copy(session: Any, asked: dict[str, Any]) -> None:
    session.read.parquet(asked["source"]).write.parquet(asked["out"])


def _frame(session: Any, asked: dict[str, Any]) -> None:
    from deeprotect.engines import spark

    given = {name: asked[name] for name in ("ledger", "stream") if name in asked}
    table = spark.read(session, asked["source"])
    spark.protect(table, Path(asked["bundle"]), out=asked["out"], keep_names=True, **given)


def _protect(session: Any, asked: dict[str, Any]) -> None:
    from deeprotect.engines import spark
    from deeprotect.engines.ledger_place import LedgerPlace

    place = LedgerPlace.of(asked.get("ledger"), asked.get("stream"), person=None, app="")
    spark.protect_folder(session, asked["source"], asked["out"], asked["bundle"], place=place, keep_names=True)


def _warm(context: Any, tasks: int) -> None:
    """Executors and their Python have started, which is Spark's part; importing the package is in the time."""

    def ready(_: int) -> None:
        time.sleep(0.3)  # so that no executor takes all

    context.parallelize(range(tasks), tasks).foreach(ready)


_WORK = {"copy": _copy, "frame": _frame, "protect": _protect}


def main() -> None:
    asked = json.loads(sys.argv[1])
    from deeprotect.engines.spark_session import session

    cluster = Standalone(asked["master"], tuple(asked["workers"]))
    with session(asked["master"]) as opened:
        _warm(opened.sparkContext, 4 * len(cluster.workers))
        before, began = cluster.processor_seconds, time.perf_counter()
        _WORK[asked["work"]](opened, asked)
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "processor_seconds": cluster.processor_seconds - before}))
