"""Files that hold whole recordings, one task each; the engine is a plain loop here, and Spark and Dask once each."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import walk

from deeprotect.engines import files
from deeprotect.engines.part_ledger import LedgerPlace
from deeprotect.errors import InputError, TableError
from deeprotect.protector import Protector
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement


def loop(work, each):
    return [work(one) for one in each]


@pytest.fixture
def whole(tmp_path):
    """Three files of two recordings each, in order; and the rows of all."""
    rows = walk(180, recordings=6)
    folder = tmp_path / "whole"
    folder.mkdir()
    for number in range(3):
        pq.write_table(rows.slice(60 * number, 60), folder / f"{number}.parquet", row_group_size=17)
    return files.parquet_files(folder), rows


def _draws(address):
    return sum(person.draws for person in statement(Database.existing(str(address))).people)


def _place(address, stream="walk"):
    return LedgerPlace.of(str(address), stream, person=None, app="")


@pytest.mark.parametrize("keep_names", [True, False])
def test_files_leave_as_protect_gives_their_rows(bundle, whole, tmp_path, keep_names):
    paths, rows = whole
    job = files.planned(paths, bundle, loop, place=None, keep_names=keep_names)
    files.write(paths, job, tmp_path / "out", loop)
    released = pq.read_table(tmp_path / "out")
    usual = Protector(bundle).protect(rows, keep_names=keep_names).table
    assert released.schema == usual.schema
    assert released.select(["time", "recording"]).equals(usual.select(["time", "recording"]))
    assert not released["acc_x"].equals(rows["acc_x"])
    assert [path.name for path in sorted((tmp_path / "out").iterdir())][:2] == ["_SUCCESS", "part-00000.parquet"]


def test_a_retry_is_given_what_was_drawn_however_the_files_are_laid_out(bundle, whole, tmp_path):
    paths, rows = whole
    for number, size in enumerate((60, 7)):
        for path, start in zip(paths, range(0, 180, 60), strict=True):
            pq.write_table(rows.slice(start, 60), path, row_group_size=size)
        job = files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db"))
        files.write(paths, job, tmp_path / f"out{number}", loop)
    assert pq.read_table(tmp_path / "out0").equals(pq.read_table(tmp_path / "out1"))
    assert _draws(tmp_path / "ledger.db") == 6 * 8


def test_a_changed_sample_is_another_recording_to_the_ledger(bundle, whole, tmp_path):
    paths, rows = whole
    for number in range(2):
        job = files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db"))
        files.write(paths, job, tmp_path / f"out{number}", loop)
        first = rows.slice(0, 60)
        moved = first.set_column(1, "acc_x", pa.array([9.0, *first["acc_x"].to_pylist()[1:]]))
        pq.write_table(moved, paths[0])
    assert _draws(tmp_path / "ledger.db") == 6 * 8 + 8


@pytest.mark.parametrize("how", ["across files", "in pieces", "backwards", "other type", "no time"])
def test_what_an_engine_must_sort_first_is_not_taken_file_by_file(bundle, whole, how):
    paths, rows = whole
    part = rows.slice(60, 60)
    if how == "across files":
        part = rows.slice(30, 60)
    elif how == "in pieces":
        part = pa.concat_tables([part.slice(0, 10), part.slice(30, 30), part.slice(10, 20)])
    elif how == "backwards":
        part = part.take(pa.array([1, 0, *range(2, 60)]))
    elif how == "other type":
        part = part.set_column(1, "acc_x", part["acc_x"].cast(pa.float32()))
    else:
        part = part.set_column(0, "time", pa.array([None, *part["time"].to_pylist()[1:]]))
    pq.write_table(part, paths[1])
    assert files.planned(paths, bundle, loop, place=None) is None


def test_a_row_without_a_recording_is_refused(bundle, whole):
    paths, rows = whole
    part = rows.slice(0, 60)
    unnamed = pa.array([None, *part["recording"].to_pylist()[1:]])
    pq.write_table(part.set_column(part.schema.get_field_index("recording"), "recording", unnamed), paths[0])
    with pytest.raises(TableError, match="empty in some rows"):
        files.planned(paths, bundle, loop, place=None)


def test_nothing_stands_under_the_outputs_name_when_a_task_fails(bundle, whole, tmp_path):
    paths, _ = whole
    job = files.planned(paths, bundle, loop, place=None)
    paths[2].write_bytes(b"no longer Parquet")
    with pytest.raises(pa.ArrowInvalid):
        files.write(paths, job, tmp_path / "out", loop)
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole"]


def test_of_two_attempts_at_a_file_the_first_stays(bundle, whole, tmp_path):
    paths, _ = whole
    job = files.planned(paths, bundle, loop, place=None)

    def twice(work, each):
        for one in each:
            work(one)
            before = one[1].read_bytes()
            work(one)
            assert one[1].read_bytes() == before

    files.write(paths, job, tmp_path / "out", twice)


@pytest.mark.long
def test_spark_releases_whole_files_without_moving_a_row(spark, bundle, whole, tmp_path, monkeypatch):
    from deeprotect.engines import spark as engine

    paths, rows = whole
    monkeypatch.setattr(engine, "read", None)  # Spark itself reads nothing
    out = str(tmp_path / "out")
    job = engine.protect_folder(spark, str(paths[0].parent), out, bundle, place=_place(tmp_path / "ledger.db"))
    assert pq.read_table(out).num_rows == rows.num_rows
    assert job.spending == Protector(bundle).protect(rows).cost
    assert _draws(tmp_path / "ledger.db") == 6 * 8
    with pytest.raises(InputError, match="exists"):
        engine.protect_folder(spark, str(paths[0].parent), out, bundle, place=None)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_spark_shares_out_by_recording_where_files_do_not_hold_them_whole(spark, bundle, folder, tmp_path):
    from deeprotect.engines import spark as engine

    out = str(tmp_path / "out")
    job = engine.protect_folder(spark, folder, out, bundle, place=None)
    assert pq.read_table(out).num_rows == sum(part.rows for part in job.parts.values()) == 180
