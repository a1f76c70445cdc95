"""Tables on Spark, with one session for all of them."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deeprotect.api import Protector
from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.errors import DeeprotectError, InputError, TableError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement

pytestmark = pytest.mark.filterwarnings("ignore")  # PySpark's own, of pandas 3 and of sockets that it leaves open


@pytest.fixture(scope="module")
def engine(spark):
    from deeprotect.engines import spark as engine

    return engine


def _in_order(frame):
    return frame.toArrow().sort_by([("recording", "ascending"), ("time", "ascending")])


def _draws(address):
    return sum(line.draws for person in statement(Database.existing(str(address))).people for line in person.lines)


@pytest.mark.long
def test_a_table_leaves_as_protect_gives_it_once_and_under_its_name_only_when_whole(
    spark, engine, bundle, rows, folder, tmp_path
):
    out = tmp_path / "out"
    released = _in_order(engine.protect(spark.read.parquet(folder), bundle, out=str(out), keep_names=True))
    usual = Protector(bundle).protect(rows, keep_names=True).table
    assert released.schema.types == usual.schema.types
    beside = ["time", "recording"]
    assert released.select(beside).equals(usual.select(beside).cast(released.select(beside).schema))
    assert released.column_names == usual.column_names
    assert (out / "_SUCCESS").exists()
    assert not released["acc_x"].equals(rows["acc_x"])
    with pytest.raises(InputError, match=r"exists already; choose another name$"):
        engine.protect(spark.read.parquet(folder), bundle, out=str(out))


def test_with_a_ledger_a_frame_that_is_computed_again_is_not_drawn_again(spark, engine, bundle, folder, tmp_path):
    ledger = tmp_path / "ledger.db"
    released = engine.protect(spark.read.parquet(folder), bundle, ledger=str(ledger), stream="walk")
    first, again = _in_order(released), _in_order(released.repartition(3))
    assert first.equals(again)
    assert set(first["recording"].to_pylist()) == {"1", "2", "3", "4", "5", "6"}
    assert _draws(ledger) == 6 * 8


def test_a_table_that_has_grown_draws_for_its_new_recordings_alone(spark, engine, bundle, rows, folder, tmp_path):
    given = {"ledger": str(tmp_path / "ledger.db"), "stream": "walk", "keep_names": True}
    fewer = spark.read.parquet(folder).where("recording != 'r5'")
    first = _in_order(engine.protect(fewer, bundle, **given))
    whole = _in_order(engine.protect(spark.read.parquet(folder), bundle, **given))
    assert whole.slice(0, first.num_rows).equals(first)
    assert _draws(given["ledger"]) == 6 * 8


def test_what_would_be_drawn_twice_without_a_ledger_is_refused(spark, engine, bundle, folder, tmp_path):
    table = spark.read.parquet(folder)
    with pytest.raises(InputError, match="drawn again"):
        engine.protect(table, bundle)
    for value in ("true", "TRUE"):
        spark.sparkContext._jsc.sc().conf().set("spark.speculation", value)
        try:
            with pytest.raises(InputError, match="a second release"):
                engine.protect(table, bundle, out=str(tmp_path / "out"))
        finally:
            spark.sparkContext._jsc.sc().conf().set("spark.speculation", "false")


def test_another_committer_is_refused_without_a_ledger(spark, engine, bundle, folder, tmp_path):
    setting = "spark.sql.parquet.output.committer.class"
    spark.conf.set(setting, "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter")
    try:
        with pytest.raises(InputError, match="must be Spark's own"):
            engine.protect(spark.read.parquet(folder), bundle, out=str(tmp_path / "out"))
    finally:
        spark.conf.unset(setting)
    assert not (tmp_path / "out").exists()


def test_the_same_recordings_by_file_and_as_a_frame_are_drawn_once(spark, engine, bundle, rows, folder, tmp_path):
    place = LedgerPlace.of(str(tmp_path / "ledger.db"), "walk", person=None, app="")
    (tmp_path / "whole").mkdir()
    for number in range(3):
        pq.write_table(rows.slice(60 * number, 60), tmp_path / "whole" / f"{number}.parquet")
    engine.protect_folder(spark, str(tmp_path / "whole"), str(tmp_path / "by_file"), bundle, place=place)
    engine.protect_folder(spark, folder, str(tmp_path / "as_frame"), bundle, place=place)
    assert _draws(tmp_path / "ledger.db") == 6 * 8
    first, second = (_in_order(spark.read.parquet(str(tmp_path / each))) for each in ("by_file", "as_frame"))
    assert first.equals(second)


def test_mistakes_are_one_line_each(spark, engine, bundle, folder, tmp_path):
    table, out = spark.read.parquet(folder), str(tmp_path / "out")
    with pytest.raises(TableError, match="'acc_x' is missing"):
        engine.protect(table.drop("acc_x"), bundle, out=out)
    with pytest.raises(TableError, match="empty in some rows"):
        engine.protect(
            table.selectExpr("*", "nullif(recording, 'r1') as r").drop("recording").withColumnRenamed("r", "recording"),
            bundle,
            out=out,
        )
    with pytest.raises(TableError, match="counted on one worker"):
        engine.protect(
            table.selectExpr("*", "if(time = 1.0, null, acc_x) as x").drop("acc_x").withColumnRenamed("x", "acc_x"),
            bundle,
            out=out,
        )
    assert not (tmp_path / "out" / "_SUCCESS").exists()
    with pytest.raises(InputError, match="no such input"):
        engine.read(spark, str(tmp_path / "nothing"))


def test_what_workers_raise_is_said_in_one_line(engine):
    absent = engine._explained("...\nModuleNotFoundError: No module named 'deeprotect'\n...")
    assert "the workers' Python has no deeprotect" in str(absent)
    strange = engine._explained("java.lang.SomethingException: cell 0.123")
    assert type(strange) is DeeprotectError
    assert "Spark failed: SomethingException; its log says more" in str(strange)
    assert "0.123" not in str(strange)


def test_the_last_cause_is_named_and_a_system_may_say_it_in_words(engine):
    full = (
        "org.apache.spark.SparkException: Job aborted\nCaused by: java.io.IOException: No space left on device\n\tat x"
    )
    assert "Spark failed: IOException: No space left on device; its log" in str(engine._explained(full))
    cells = "SparkException: x\nCaused by: org.apache.spark.SparkArithmeticException: cannot cast '0.123' to int\n"
    assert "Spark failed: SparkArithmeticException; its log" in str(engine._explained(cells))


def test_where_spark_itself_fails_its_log_is_on_and_named_and_otherwise_gone(monkeypatch, tmp_path):
    from deeprotect.engines import spark_session

    monkeypatch.setattr(spark_session.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dx=y")

    def run(failure):
        with spark_session._log_in_a_file():
            every = tmp_path.glob("*/log4j2.properties")
            settings = next(each for each in every if not each.with_name("spark.log").exists())
            assert os.environ["SPARK_SUBMIT_OPTS"] == f"-Dx=y -Dlog4j2.configurationFile=file:{settings}"
            log = settings.with_name("spark.log")
            assert f"fileName = {log}\n" in settings.read_text()
            log.write_text("WARN")
            raise failure

    with pytest.raises(DeeprotectError, match=r"its log says more: .*/spark\.log$"):
        run(DeeprotectError("Spark failed: IOException; its log says more"))
    assert len(list(tmp_path.glob("*/spark.log"))) == 1
    with pytest.raises(InputError, match=r"^wrong$"):
        run(InputError("wrong"))
    assert len(list(tmp_path.glob("*/spark.log"))) == 1
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dx=y"


def test_each_person_of_a_frame_is_charged_on_their_own_account(spark, engine, bundle, rows, tmp_path):
    people = ["ann" if name < "r2" else "bob" for name in rows["recording"].to_pylist()]
    pq.write_table(rows.append_column("person", pa.array(people)), tmp_path / "walk.parquet")
    given = {"ledger": str(tmp_path / "ledger.db"), "stream": "walk"}
    for out in ("once", "again"):
        frame = spark.read.parquet(str(tmp_path / "walk.parquet"))
        released = _in_order(engine.protect(frame, bundle, out=str(tmp_path / out), **given))
    assert released.column_names == ["time", "acc_x", "acc_y", "recording"]
    charged = statement(Database.existing(given["ledger"])).people
    assert {each.name: each.draws for each in charged if each.draws} == {"ann": 2 * 8, "bob": 4 * 8}


def test_names_are_unique_in_one_release_by_file_folder_and_engine(spark, engine, bundle, rows, folder, tmp_path):
    for number in range(3):
        (tmp_path / "whole").mkdir(exist_ok=True)
        pq.write_table(rows.slice(60 * number, 60), tmp_path / "whole" / f"{number}.parquet")
    whole, protector = str(tmp_path / "whole"), Protector(bundle)
    protector.protect(whole, tmp_path / "one.parquet")
    protector.protect(whole, tmp_path / "several")
    engine.protect(spark.read.parquet(folder), bundle, out=str(tmp_path / "frame"))
    engine.protect_folder(spark, whole, str(tmp_path / "by_file"), bundle, place=None)
    dask = pytest.importorskip("deeprotect.engines.dask", reason="needs deeprotect[dask]")
    dask.protect(whole, bundle, out=tmp_path / "dask")
    for place in ("one.parquet", "several", "frame", "by_file", "dask"):
        released = pq.read_table(tmp_path / place).select(["recording", "time"])
        assert released.num_rows == 180
        assert released.group_by(["recording", "time"]).aggregate([]).num_rows == 180, place
        assert {*released["recording"].to_pylist()} == {*"123456"}


def test_a_missing_column_is_said_before_spark_is_looked_for(engine, bundle, rows, tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(rows.drop_columns(["acc_x"]), tmp_path / "in" / "0.parquet")
    with pytest.raises(TableError, match="'acc_x' is missing"):
        engine.refuse_at_once(str(tmp_path / "in"), str(tmp_path / "out"), bundle)


def test_no_master_and_no_java_are_said_at_once(monkeypatch):
    from deeprotect.engines.spark_session import session

    with pytest.raises(InputError, match="no Spark master answers"), session("spark://127.0.0.1:9"):
        pass
    with pytest.raises(InputError, match="write spark://HOST:PORT"), session("spark://nowhere"):
        pass
    with pytest.raises(InputError, match="needs --master"), session(None):
        pass
    monkeypatch.setenv("JAVA_HOME", "/nothing")
    with pytest.raises(InputError, match="needs Java 17"), session("local[2]"):
        pass


@pytest.mark.long
def test_a_table_of_the_catalogue_is_read_and_written(spark, engine, bundle, folder):
    spark.read.parquet(folder).write.mode("overwrite").saveAsTable("walks")
    released = engine.protect(engine.read(spark, "table:walks"), bundle, out="table:released_walks")
    assert released.count() == 180
    spark.sql("drop table released_walks")
    spark.sql("drop table walks")


def test_recordings_with_numbers_for_names_and_odd_columns_pass(spark, engine, bundle, rows, tmp_path):
    numbers = pa.array([int(name[1:]) for name in rows["recording"].to_pylist()], pa.int32())
    odd = rows.set_column(4, "recording", numbers).append_column("a.b", pa.array([[1]] * rows.num_rows))
    pq.write_table(odd, tmp_path / "odd.parquet")
    released = engine.protect(spark.read.parquet(str(tmp_path / "odd.parquet")), bundle, out=str(tmp_path / "out"))
    assert sorted({row.recording for row in released.collect()}) == [1, 2, 3, 4, 5, 6]
