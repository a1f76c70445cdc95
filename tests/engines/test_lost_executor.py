"""An executor, or a worker of Dask, killed in the middle of a job, on real clusters."""

import os
import signal
import threading
import time

import pyarrow.parquet as pq
import pytest
from sqlalchemy import func, select
from tests.conftest import walk
from tests.engines.conftest import require_spark
from tests.postgres import Cluster

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges
from studies.benchmark.spark_run import finish, start

RECORDINGS, ROWS, FILES = 24, 8000, 8
SMALL = {"spark.executor.memory": "512m", "spark.sql.adaptive.enabled": "false"}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.multiplier": "1",
    "spark.speculation.minTaskRuntime": "1ms",
}


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


@pytest.fixture
def given(bundle, tmp_path):
    """Eight files of three whole recordings each, and where all things are."""
    table, rows = walk(RECORDINGS * ROWS, recordings=RECORDINGS), RECORDINGS * ROWS // FILES
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        pq.write_table(table.slice(number * rows, rows), tmp_path / "in" / f"{number}.parquet")
    bundle.save(tmp_path / "bundle")
    return {"source": str(tmp_path / "in"), "out": str(tmp_path / "out"), "bundle": str(tmp_path / "bundle")}


def _kill_one(cluster, job, under_way):
    while job.poll() is None and not under_way():
        time.sleep(0.02)
    if job.poll():
        finish(job)  # says why
    killed = cluster.executors()[:1]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert killed
    assert job.poll() is None, "the job was over before an executor could be killed"


def _complete(out):
    """Every row, and each once."""
    released = pq.read_table(out, columns=["recording", "time"])
    pairs = set(zip(released["recording"].to_pylist(), released["time"].to_pylist(), strict=True))
    return released.num_rows == len(pairs) == RECORDINGS * ROWS


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("work", ["frame", "protect"])
def test_output_is_complete_and_charges_equal_draws_when_an_executor_dies_under_speculation(
    given, tmp_path, address, work
):
    from studies.benchmark.standalone import standalone

    database, wanted = Database.existing_or_new(address), RECORDINGS * ROWS // 4
    before = _draws(database)
    with standalone(2, tmp_path, memory="600m") as cluster:
        job = start(cluster, work, ledger=address, stream=work, conf=SMALL | SPECULATION, **given)
        _kill_one(cluster, job, lambda: _draws(database) > before)
        assert _draws(database) - before < wanted
        finish(job)
    assert _complete(given["out"])
    assert _draws(database) - before == wanted


@pytest.mark.long
@pytest.mark.timeout(300)
def test_output_is_complete_when_an_executor_dies_without_speculation_or_ledger(given, tmp_path):
    require_spark()
    from studies.benchmark.standalone import standalone

    with standalone(2, tmp_path, memory="600m") as cluster:
        job = start(cluster, "protect", conf=SMALL, **given)
        _kill_one(cluster, job, lambda: list(tmp_path.glob(".*/part-*.parquet")))
        assert not (tmp_path / "out").exists()
        finish(job)
    assert _complete(given["out"])
    assert not list(tmp_path.glob(".*/*.parquet"))


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("with_ledger", [True, False])
def test_output_is_complete_and_charges_equal_draws_when_a_worker_of_dask_dies(given, tmp_path, with_ledger):
    pytest.importorskip("distributed", reason="needs dask; install deeprotect[dask]")
    from distributed import Client, LocalCluster

    from deeprotect.engines import dask

    options = {"ledger": str(tmp_path / "ledger.db"), "stream": "walks"} if with_ledger else {}
    killed = []

    def kill_one(client):
        while not (list(tmp_path.glob(".*/*part-*.parquet")) or (tmp_path / "out").exists()):
            time.sleep(0.005)
        assert not (tmp_path / "out").exists(), "the job was over before a worker could be killed"
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
        Client(cluster) as killer,
    ):
        thread = threading.Thread(target=kill_one, args=(killer,))
        thread.start()
        dask.protect(given["source"], given["bundle"], out=given["out"], client=client, **options)
        thread.join()
        assert killed[0] not in client.run(os.getpid).values()
    assert _complete(given["out"])
    assert not list(tmp_path.glob(".*/*.parquet"))
    if with_ledger:
        assert _draws(Database.existing(options["ledger"])) == RECORDINGS * ROWS // 4
