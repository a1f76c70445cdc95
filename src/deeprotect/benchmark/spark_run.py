"""One timed job on Spark, in a process of its own: `python -m deeprotect.benchmark.spark_run '{…}'`."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deeprotect.benchmark.standalone import Standalone
from deeprotect.errors import DeeprotectError

CONF = {"spark.executor.memory": "1g", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "16"}


@dataclass(frozen=True)
class SparkRun:
    """The clock's seconds of one job after Spark has started, and the processor's of all workers."""

    seconds: float
    processor_seconds: float


def start(cluster: Standalone, work: str, **given: Any) -> "subprocess.Popen[str]":
    """A job on a cluster: `protect`, or `copy` of a table by Spark alone."""
    conf = CONF | given.pop("conf", {})
    submit = " ".join([*(f"--conf {name}={value}" for name, value in conf.items()), "pyspark-shell"])
    asked = json.dumps({"master": cluster.master, "workers": cluster.workers, "work": work, **given})
    command = [sys.executable, "-m", "deeprotect.benchmark.spark_run", asked]
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": submit}
    return subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def finish(process: "subprocess.Popen[str]") -> SparkRun:
    out, said = process.communicate()
    if process.returncode:
        raise DeeprotectError(f"the job failed: {said.strip().splitlines()[-1] if said.strip() else 'no word'}")
    return SparkRun(**json.loads(out.splitlines()[-1]))


def main(asked: dict[str, Any]) -> None:
    from deeprotect.engines import spark
    from deeprotect.engines.spark_session import session

    cluster = Standalone(asked["master"], tuple(asked["workers"]))
    with session(asked["master"]) as opened:
        opened.range(1000).repartition(4).count()  # executors have started
        before, began = cluster.processor_seconds, time.perf_counter()
        table = spark.read(opened, asked["source"])
        if asked["work"] == "copy":
            table.write.parquet(asked["out"])
        else:
            given = {name: asked[name] for name in ("ledger", "stream") if name in asked}
            spark.protect(table, Path(asked["bundle"]), out=asked["out"], keep_names=True, **given)
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "processor_seconds": cluster.processor_seconds - before}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
