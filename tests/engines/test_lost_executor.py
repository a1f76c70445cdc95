"""An executor killed in the middle of a job, on a real standalone cluster with a real PostgreSQL ledger."""

import os
import signal
import time

import pyarrow.parquet as pq
import pytest
from sqlalchemy import func, select
from tests.conftest import walk
from tests.engines.conftest import require_spark
from tests.postgres import Cluster

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges

RECORDINGS, ROWS = 24, 800


@pytest.fixture(scope="module")
def address():
    require_spark()
    server = Cluster()
    server.start()
    yield server.address
    server.stop()
    server.remove()


def _draws(database):
    with database.reading() as connection:
        return connection.execute(select(func.sum(charges.c.draws))).scalar() or 0


@pytest.mark.timeout(300)
def test_output_is_complete_and_charges_equal_draws_when_an_executor_dies_under_speculation(bundle, tmp_path, address):
    from deeprotect.benchmark.spark_run import finish, start
    from deeprotect.benchmark.standalone import standalone

    (tmp_path / "in").mkdir()
    table = walk(RECORDINGS * ROWS, recordings=RECORDINGS)
    pq.write_table(table, tmp_path / "in" / "0.parquet")
    bundle.save(tmp_path / "bundle")
    given = {"source": str(tmp_path / "in"), "out": str(tmp_path / "out"), "bundle": str(tmp_path / "bundle")}
    conf = {
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.multiplier": "1",
        "spark.speculation.minTaskRuntime": "1ms",
        "spark.executor.memory": "512m",
        "spark.sql.adaptive.enabled": "false",
    }
    database = Database.existing_or_new(address)
    with standalone(2, tmp_path, memory="600m") as cluster:
        job = start(cluster, "protect", ledger=address, stream="walk", conf=conf, **given)
        while job.poll() is None and not _draws(database):
            time.sleep(0.05)
        killed = cluster.executors()[:1]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        assert killed
        assert job.poll() is None, "the job was over before an executor could be killed"
        assert _draws(database) < RECORDINGS * ROWS // 4
        finish(job)
    released = pq.read_table(tmp_path / "out", columns=["recording", "time"])
    assert released.num_rows == RECORDINGS * ROWS
    pairs = set(zip(released["recording"].to_pylist(), released["time"].to_pylist(), strict=True))
    assert len(pairs) == RECORDINGS * ROWS
    assert _draws(database) == RECORDINGS * ROWS // 4
