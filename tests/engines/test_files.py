"""Files that hold whole recordings, one task each; the engine is a plain loop here, and Spark and Dask once each."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import walk

from deeprotect.api import Protector
from deeprotect.engines import files
from deeprotect.engines.job import Job
from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.errors import InputError, TableError
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
    job.write(tmp_path / "out", loop)
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
        job.write(tmp_path / f"out{number}", loop)
    assert pq.read_table(tmp_path / "out0").equals(pq.read_table(tmp_path / "out1"))
    assert _draws(tmp_path / "ledger.db") == 6 * 8


def with_people(paths, rows, people):
    """The table's files, each with one of these people."""
    for number, (path, person) in enumerate(zip(paths, people, strict=True)):
        part = rows.slice(60 * number, 60)
        pq.write_table(part.append_column("person", pa.array([person] * part.num_rows)), path)


def test_each_person_of_a_table_is_charged_on_their_own_account_and_draws_are_made_once(bundle, whole, tmp_path):
    paths, rows = whole
    with_people(paths, rows, ["ann", "bob", "ann"])
    for number in range(2):
        job = files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db"))
        job.write(tmp_path / f"out{number}", loop)
    first, again = (pq.read_table(tmp_path / f"out{number}") for number in range(2))
    assert first.equals(again)
    assert first.column_names == ["time", "acc_x", "acc_y", "recording"]
    people = statement(Database.existing(str(tmp_path / "ledger.db"))).people
    assert {each.name: each.draws for each in people if each.draws} == {"ann": 4 * 8, "bob": 2 * 8}


def test_people_of_one_job_wait_for_nobody_else(bundle, whole, tmp_path):
    """A server locks by person; were all charged to one, workers would wait for each other."""
    paths, rows = whole
    with_people(paths, rows, ["ann", "bob", "bob"])
    ledger = files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db")).whole.ledger()
    locks = {person: ledger.of_table(paths[0], ("time",)).of_person(person).lock for person in ("ann", "bob")}
    assert len({ledger.lock, *locks.values()}) == 3


def test_a_recording_of_two_people_is_refused(bundle, whole, tmp_path):
    paths, rows = whole
    first = rows.slice(0, 60)
    pq.write_table(first.append_column("person", pa.array(["ann"] * 10 + ["bob"] * 50)), paths[0])
    with_people(paths[1:], rows.slice(60), ["ann", "bob"])
    job = files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db"))
    with pytest.raises(TableError, match="is of two people"):
        job.write(tmp_path / "out", loop)
    assert not (tmp_path / "out").exists()


def test_a_job_that_is_refused_leaves_no_ledger(bundle, whole, tmp_path):
    paths, rows = whole
    part = rows.slice(0, 60)
    unnamed = pa.array([None, *part["recording"].to_pylist()[1:]])
    pq.write_table(part.set_column(part.schema.get_field_index("recording"), "recording", unnamed), paths[0])
    with pytest.raises(TableError, match="empty in some rows"):
        files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db"))
    assert not (tmp_path / "ledger.db").exists()


def test_a_changed_sample_is_another_recording_to_the_ledger(bundle, whole, tmp_path):
    paths, rows = whole
    for number in range(2):
        job = files.planned(paths, bundle, loop, place=_place(tmp_path / "ledger.db"))
        job.write(tmp_path / f"out{number}", loop)
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
        job.write(tmp_path / "out", loop)
    assert not (tmp_path / "out").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole"]


def test_of_two_attempts_at_a_file_the_first_stays(bundle, whole, tmp_path):
    paths, _ = whole
    job = files.planned(paths, bundle, loop, place=None)

    def twice(work, each):
        for one in each:
            work(one)
            before = one.out.read_bytes()
            work(one)
            assert one.out.read_bytes() == before

    job.write(tmp_path / "out", twice)


def test_what_an_attempt_drew_that_was_given_up_is_never_under_the_outputs_name(bundle, whole, tmp_path, monkeypatch):
    """One worker is killed while it writes; another is stopped, given up, and goes on when all is over."""
    paths, rows = whole
    job = files.planned(paths, bundle, loop, place=None)
    late: list[Callable[[], None]] = []
    usual = files.write_released

    def killed_then_stopped(work, each):
        def stopped(path, batches, job):
            usual(path, batches, job)
            raise KeyboardInterrupt

        for one in each:
            (one.attempts / f"{one.out.name}.killed").write_bytes(b"half a file")
            monkeypatch.setattr(files, "write_released", stopped)
            with suppress(KeyboardInterrupt):
                work(one)
            monkeypatch.setattr(files, "write_released", usual)
            attempt = files.first_stays(one.out, one.attempts)
            own = attempt.__enter__()
            shutil.copy(one.source, own)
            late.append(partial(attempt.__exit__, None, None, None))
            work(one)

    job.write(tmp_path / "out", killed_then_stopped)
    for goes_on in late:
        with suppress(FileNotFoundError):
            goes_on()
    names = [path.name for path in sorted((tmp_path / "out").iterdir())]
    assert names == ["_SUCCESS", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "whole"]
    assert not pq.read_table(tmp_path / "out")["acc_x"].equals(rows["acc_x"])


@pytest.mark.parametrize("how", ["more", "fewer", "another"])
def test_a_table_that_changes_while_it_is_read_is_refused_and_nothing_stands_there(bundle, whole, tmp_path, how):
    paths, rows = whole
    job = files.planned(paths, bundle, loop, place=None)
    part = rows.slice(60, 60)
    if how == "more":
        part = pa.concat_tables([part, part.slice(59)])
    elif how == "fewer":
        part = part.slice(0, 59)
    else:
        part = part.set_column(part.schema.get_field_index("recording"), "recording", pa.array(["new"] * 60))
    pq.write_table(part, paths[1])
    with pytest.raises(TableError, match="changed while it was read"):
        job.write(tmp_path / "out", loop)
    assert not (tmp_path / "out").exists()


def test_folders_that_hold_the_values_of_a_column_are_for_the_engine_to_read(tmp_path):
    (tmp_path / "recording=a").mkdir()
    pq.write_table(walk(20), tmp_path / "recording=a" / "0.parquet")
    assert files.parquet_files(tmp_path) == []


def test_a_task_is_given_the_recordings_of_its_own_file(bundle, whole, tmp_path):
    job = files.planned(whole[0], bundle, loop, place=_place(tmp_path / "ledger.db"))

    def one_by_one(work, each):
        assert [len(one.parts) for one in each] == [2, 2, 2]
        return loop(work, each)

    job.write(tmp_path / "out", one_by_one)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int16()])
def test_a_digest_is_the_same_in_any_order_and_width(bundle, kind):
    rows = walk(60, recordings=2)
    rows = rows.set_column(1, "acc_x", pa.array([n % 4 for n in range(60)]).cast(kind))
    job = replace(Job.of(bundle, rows.schema), place=_place("unused"))
    shuffled = rows.take(pa.array(np.random.default_rng(1).permutation(60)))
    wide = shuffled.set_column(0, "time", shuffled["time"].cast(pa.float64()))
    found = [job.surveyed(each.to_batches(max_chunksize=7)) for each in (rows, shuffled, wide)]
    assert found[0] == found[1] == found[2]
    changed = rows.set_column(1, "acc_x", pa.array([3, *([n % 4 for n in range(1, 60)])]).cast(kind))
    assert job.surveyed(changed.to_batches()) != found[0]


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
