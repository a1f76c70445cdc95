"""Tables on Dask."""

import pyarrow.parquet as pq
import pytest

from deeprotect.api import Protector
from deeprotect.errors import InputError, TableError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement

dd = pytest.importorskip("dask.dataframe", reason="needs deeprotect[dask]")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def engine():
    from deeprotect.engines import dask as engine

    return engine


@pytest.fixture
def files(rows, tmp_path):
    """Two recordings in each of three files."""
    (tmp_path / "in").mkdir()
    for number in range(3):
        pq.write_table(rows.slice(60 * number, 60), tmp_path / "in" / f"{number}.parquet")
    return str(tmp_path / "in")


def test_files_leave_as_protect_gives_them(engine, bundle, rows, files, tmp_path):
    released = engine.protect(files, bundle, out=tmp_path / "out").compute()
    usual = Protector(bundle).protect(rows).table.to_pandas()
    assert list(released.columns) == list(usual.columns)
    assert released["recording"].tolist() == usual["recording"].tolist()
    assert released["time"].tolist() == usual["time"].tolist()
    assert released["acc_y"].dtype == usual["acc_y"].dtype
    with pytest.raises(InputError, match="out"):
        engine.protect(files, bundle, out=tmp_path / "out")


def test_with_a_ledger_a_frame_that_is_computed_again_is_not_drawn_again(engine, bundle, files, tmp_path):
    from distributed import Client, LocalCluster

    ledger = str(tmp_path / "ledger.db")
    local = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, Client(cluster) as client:
        released = engine.protect(dd.read_parquet(files), bundle, client=client, ledger=ledger, stream="walk")
        first, again = (client.compute(released).result() for _ in range(2))
    assert first.equals(again)
    people = statement(Database.existing(ledger)).people
    assert sum(line.draws for person in people for line in person.lines) == 6 * 8


def test_the_same_recordings_by_file_and_as_a_frame_are_drawn_once(engine, bundle, files, tmp_path):
    given = {"ledger": str(tmp_path / "ledger.db"), "stream": "walk"}
    by_file = engine.protect(files, bundle, out=tmp_path / "out", **given).compute()
    frame = engine.protect(dd.read_parquet(files), bundle, **given).compute()
    assert by_file.to_numpy().tolist() == frame.to_numpy().tolist()
    assert sum(person.draws for person in statement(Database.existing(given["ledger"])).people) == 6 * 8


def test_a_ledger_in_a_file_is_refused_on_the_cluster_that_dask_would_use_by_itself(engine, bundle, files, tmp_path):
    from distributed import Client, LocalCluster

    local = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, Client(cluster.scheduler_address), pytest.raises(InputError, match="cannot be shared"):
        engine.protect(dd.read_parquet(files), bundle, ledger=str(tmp_path / "ledger.db"), stream="walk")


def test_an_attempt_made_again_finds_the_file_of_the_first(engine, bundle, rows, files, tmp_path, monkeypatch):
    jobs = []
    written = engine._written
    monkeypatch.setattr(engine, "_written", lambda *given: jobs.append(given) or written(*given))
    engine.protect(dd.read_parquet(files), bundle, out=tmp_path / "out")
    frame, job, path, attempts = jobs[0]
    path = tmp_path / "out" / path.name
    before = path.read_bytes()
    written(frame, job, path, attempts)
    assert path.read_bytes() == before


def test_mistakes_are_one_line_each(engine, bundle, rows, files, tmp_path):
    with pytest.raises(TableError, match=r"lies in partitions 0 and 1.*shuffle"):
        engine.protect(dd.from_pandas(rows.to_pandas(), npartitions=4), bundle, out=tmp_path / "out")
    with pytest.raises(InputError, match="drawn again"):
        engine.protect(files, bundle)
    with pytest.raises(TableError, match="'acc_x' is missing"):
        engine.protect(
            dd.from_pandas(rows.to_pandas().drop(columns="acc_x"), npartitions=1), bundle, out=tmp_path / "o"
        )
    wrong = rows.to_pandas().assign(acc_x=float("nan"))
    with pytest.raises(TableError, match="'acc_x' is missing or not a number"):
        engine.protect(dd.from_pandas(wrong, npartitions=1), bundle, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    absent = engine._explained(RuntimeError("Error during deserialization: No module named 'deeprotect'"))
    assert "install deeprotect[dask] there too" in str(absent)
