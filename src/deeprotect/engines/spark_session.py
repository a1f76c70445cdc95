"""A Spark session for the command line; reports missing prerequisites before Spark starts."""

import os
import re
import shutil
import socket
import sys
import tempfile
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
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c: %m%n%ex
"""
PANDAS = "PySpark does not yet fully support pandas"  # only its Arrow interface is used here


@contextmanager
def session(master: str | None) -> Iterator["SparkSession"]:
    """A session at a master, or at the master of `spark-submit`.

    The driver's log goes to a private file, which is kept, and named, if Spark itself fails. `spark-submit` keeps its
    own logging.
    """
    _check_java()
    _check_master(master)
    warnings.filterwarnings("ignore", message=PANDAS)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("deeprotect").config("spark.ui.showConsoleProgress", "false")
    with _log_in_a_file():
        try:
            spark = (builder.master(master) if master else builder).getOrCreate()
        except Exception as failure:  # of any kind: a dead gateway, a refusing master, a setting
            where, kind = printable(master or "the master of spark-submit"), type(failure).__name__
            raise DeeprotectError(f"Spark did not start at {where} ({kind}); its log says why") from None
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def _log_in_a_file() -> Iterator[None]:
    if "SPARK_ENV_LOADED" in os.environ:
        yield
        return
    folder, before = Path(tempfile.mkdtemp(prefix="deeprotect-spark-")), os.environ.get("SPARK_SUBMIT_OPTS", "")
    settings, log = folder / "log4j2.properties", folder / "spark.log"
    settings.write_text(_LOG4J.format(log))
    os.environ["SPARK_SUBMIT_OPTS"] = f"{before} -Dlog4j2.configurationFile=file:{settings}".strip()
    keep = False
    try:
        yield
    except DeeprotectError as failure:
        keep = not isinstance(failure, InputError) and log.exists()
        if keep:
            failure.args = (f"{failure}: {log}",)
        raise
    finally:
        os.environ["SPARK_SUBMIT_OPTS"] = before
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(Path(home, "bin", "java").exists() if home else shutil.which("java"))


def _check_java() -> None:
    if not has_java():
        raise InputError(JAVA)


def _check_master(master: str | None) -> None:
    """Check that a master answers: Spark itself would try for a minute."""
    if master is None:
        if "SPARK_ENV_LOADED" not in os.environ:  # set by spark-submit, which brings its own
            raise InputError("--engine spark needs --master: spark://HOST:PORT, or local[2] for this machine alone")
        return
    if re.fullmatch(r"local(\[[\w*,]+\])?", master) or not re.match(r"local|spark:", master):
        return  # the address of a resource manager cannot be checked
    place = re.fullmatch(r"spark://([\w.-]+):(\d+)", master)
    if place is None:
        raise InputError(f"--master {printable(master)}: write spark://HOST:PORT, or local[2] for this machine alone")
    try:
        socket.create_connection((place[1], int(place[2])), ANSWER_SECONDS).close()
    except (OSError, OverflowError):
        raise InputError(f"no Spark master answers at {printable(master)}; start one, or correct the address") from None
