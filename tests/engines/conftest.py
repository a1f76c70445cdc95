"""A Spark session that the tests of a process share, and a table whose recordings lie across files."""

import os
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import walk

WANTED = "needs Java 17 and pyspark; apt-get install openjdk-17-jre-headless, and install deeprotect[spark]"


def require(found):
    if not found:
        (pytest.fail if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1" else pytest.skip)(WANTED)


def require_spark():
    from importlib.util import find_spec

    from deeprotect.engines.spark_session import has_java

    require(find_spec("pyspark") is not None and has_java())


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    require_spark()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own, of pandas 3 and of sockets that it leaves open
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "OFF")
            .config("spark.driver.memory", "512m")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture
def rows():
    """Six recordings of thirty rows."""
    return walk(180, recordings=6)


@pytest.fixture
def folder(rows, tmp_path):
    """The table's rows, shuffled into two files."""
    mixed = rows.take(pa.array(np.random.default_rng(0).permutation(rows.num_rows)))
    place = tmp_path / "in"
    place.mkdir()
    for number, part in enumerate((mixed.slice(0, 100), mixed.slice(100))):
        pq.write_table(part, place / f"{number}.parquet")
    return str(place)
