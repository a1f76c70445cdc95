"""A Spark session for the command line; what is not there is said before Spark begins to look for it."""

import os
import re
import shutil
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deeprotect.errors import DeeprotectError, InputError, printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_SECONDS = 5.0
JAVA = "Spark needs Java 17 or later; install it (apt-get install openjdk-17-jre-headless), or set JAVA_HOME"
PANDAS = "PySpark does not yet fully support pandas"  # of it, only what hands Arrow on is used here


@contextmanager
def session(master: str | None) -> Iterator["SparkSession"]:
    """A session at a master, or at the one of `spark-submit`; Spark's own log is left to the executors."""
    _check_java()
    _check_master(master)
    warnings.filterwarnings("ignore", message=PANDAS)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("deeprotect").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "OFF")
    try:
        spark = (builder.master(master) if master else builder).getOrCreate()
    except Exception as failure:  # of whatever kind: a gateway that died, a master that refused, a setting
        where = printable(master or "the master of spark-submit")
        raise DeeprotectError(f"Spark did not start at {where} ({type(failure).__name__}); its log says why") from None
    try:
        yield spark
    finally:
        spark.stop()


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(Path(home, "bin", "java").exists() if home else shutil.which("java"))


def _check_java() -> None:
    if not has_java():
        raise InputError(JAVA)


def _check_master(master: str | None) -> None:
    """Spark itself would try for a minute."""
    if master is None:
        if "SPARK_ENV_LOADED" not in os.environ:  # set by spark-submit, which brings its own
            raise InputError("--engine spark needs --master: spark://HOST:PORT, or local[2] for this machine alone")
        return
    if re.fullmatch(r"local(\[[\w*,]+\])?", master) or not re.match(r"local|spark:", master):
        return  # a resource manager's address is not ours to judge
    place = re.fullmatch(r"spark://([\w.-]+):(\d+)", master)
    if place is None:
        raise InputError(f"--master {printable(master)}: write spark://HOST:PORT, or local[2] for this machine alone")
    try:
        socket.create_connection((place[1], int(place[2])), ANSWER_SECONDS).close()
    except (OSError, OverflowError):
        raise InputError(f"no Spark master answers at {printable(master)}; start one, or correct the address") from None
