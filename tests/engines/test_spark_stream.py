"""A stream on Spark: files in, files out."""

import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import walk

from deeprotect.errors import InputError, StreamError, TableError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement

pytestmark = pytest.mark.filterwarnings("ignore")
BEGIN_US = 1_700_000_000_000_000


@pytest.fixture(scope="module")
def engine(spark):
    from deeprotect.engines import spark_stream

    return spark_stream


def _rows(first, count, devices=("d1", "d2")):
    """Rows of a tenth of a second each, from row `first` on."""
    stamps = pa.array(BEGIN_US + 100_000 * (first + np.arange(count)), pa.timestamp("us", tz="UTC"))
    one = walk(first + count, recordings=1).slice(first).select(["acc_x", "acc_y"]).append_column("time", stamps)
    return pa.concat_tables([one.append_column("device", pa.array([each] * count)) for each in devices])


class Query:
    def __init__(self, spark, engine, bundle, folder):
        self.spark, self.engine, self.bundle, self.folder = spark, engine, bundle, folder
        (folder / "in").mkdir()

    def add(self, name, rows):
        pq.write_table(rows, self.folder / f"{name}.part")
        (self.folder / f"{name}.part").rename(self.folder / "in" / f"{name}.parquet")

    def released(self, out, **given):
        source = self.spark.readStream.schema(self.spark.read.parquet(str(self.folder / "in")).schema)
        frame = source.option("maxFilesPerTrigger", 1).parquet(str(self.folder / "in"))
        given = {"silence_seconds": None, "name": "walks", "map": {"recording": "device"}} | given
        stream = self.engine.protect_stream(frame, self.bundle, ledger=str(self.folder / "ledger.db"), **given)
        writer = stream.writeStream.option("path", str(self.folder / out))
        return writer.option("checkpointLocation", str(self.folder / f"{out}-checkpoint"))

    def run(self, out="out"):
        self.released(out).trigger(availableNow=True).start().awaitTermination(120)
        return self.table(out)

    def table(self, out="out"):
        """As the sink's log says, which knows no file of an attempt that was not committed."""
        rows = self.spark.read.parquet(str(self.folder / out)).toArrow()
        return rows.sort_by([("device", "ascending"), ("time", "ascending")])

    def draws(self):
        people = statement(Database.existing(str(self.folder / "ledger.db"))).people
        return sum(line.draws for person in people for line in person.lines)


@pytest.fixture
def query(spark, engine, bundle, tmp_path):
    return Query(spark, engine, bundle, tmp_path)


@pytest.mark.long
def test_a_restart_goes_on_and_late_and_duplicate_rows_change_nothing(query):
    query.add("1", _rows(0, 43))
    first = query.run()
    assert first.column_names == ["acc_x", "acc_y", "time", "device"]
    assert first.schema.field("acc_y").type == pa.float32()
    query.add("2", pa.concat_tables([_rows(30, 50), _rows(50, 20)]))  # some of it twice, and some too late
    whole = query.run()
    pairs = list(zip(whole["device"].to_pylist(), whole["time"].to_pylist(), strict=True))
    assert len(pairs) == len(set(pairs)) > first.num_rows
    known = dict(zip(pairs, whole["acc_x"].to_pylist(), strict=True))
    before = zip(first["device"].to_pylist(), first["time"].to_pylist(), first["acc_x"].to_pylist(), strict=True)
    assert all(known[device, stamp] == x for device, stamp, x in before)
    assert whole.num_rows == 4 * query.draws()  # windows of four rows, one draw each


def test_a_stream_that_lost_its_checkpoint_gets_the_draws_that_were_made(query):
    query.add("1", _rows(0, 43))
    first = query.run("out")
    draws = query.draws()
    again = query.run("elsewhere")
    assert again.equals(first)
    assert query.draws() == draws


def test_a_silent_device_ends_and_leaves_no_state(query):
    query.add("1", _rows(0, 43, devices=("d1",)))
    running = query.released("out", silence_seconds=2.0).trigger(processingTime="1 second").start()
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            progress = running.lastProgress
            if progress and progress["batchId"] > 0 and progress["stateOperators"][0]["numRowsTotal"] == 0:
                break
            time.sleep(0.3)
        assert running.lastProgress["stateOperators"][0]["numRowsTotal"] == 0
    finally:
        running.stop()
    assert query.table().num_rows > 36


def test_state_of_another_bundle_is_refused_and_a_flood_grows_no_state(engine, spark, bundle, tmp_path):
    from deeprotect.engines.job import Job

    schema = _rows(0, 4).schema
    Database.existing_or_new(str(tmp_path / "ledger.db"))
    job = Job.of(bundle, schema, map={"recording": "device"}, keep_names=True)
    plan = engine.StreamJob(job, str(tmp_path / "ledger.db"), "walks", "", None)
    stored, start_ns = {}, BEGIN_US * 1000
    engine.step(stored, {"d1": (start_ns + np.arange(10) * 100_000_000, np.zeros((10, 2)))}, plan, now=1)
    later = bundle.manifest.model_copy(update={"created": "2027-01-01T00:00:00+00:00"})
    other = replace(plan, job=replace(job, bundle=replace(bundle, manifest=later)))
    with pytest.raises(StreamError, match="another bundle"):
        engine.step(dict(stored), {"d1": (np.array([start_ns + 10**9]), np.zeros((1, 2)))}, other, now=2)
    flood = start_ns + 1_000_000_000 + np.arange(200_000)  # all in one window that does not end
    engine.step(stored, {"d1": (flood, np.zeros((200_000, 2))), "d2": (flood[:1], np.zeros((1, 2)))}, plan, now=3)
    assert list(stored) == ["d2"]


def test_devices_of_a_group_are_charged_together_and_end_apart(engine, spark, bundle, tmp_path):
    from deeprotect.engines.job import Job

    database = Database.existing_or_new(str(tmp_path / "ledger.db"))
    job = Job.of(bundle, _rows(0, 4).schema, map={"recording": "device"}, keep_names=True)
    plan = engine.StreamJob(job, str(tmp_path / "ledger.db"), "walks", "", 60.0)
    times, values = BEGIN_US * 1000 + np.arange(43) * 100_000_000, np.zeros((43, 2))
    stored = {}
    left = engine.step(stored, dict.fromkeys(("d1", "d2", "d3"), (times, values)), plan, now=0)
    assert all(left.values())
    assert set(stored) == {"d1", "d2", "d3"}
    assert {person.name for person in statement(database).people} == {"d1", "d2", "d3"}
    more = {"d1": (times[-1:] + 100_000_000, values[:1])}
    assert set(engine.step(stored, more, plan, now=59_999)) == {"d1"}
    engine.step(stored, {}, plan, now=60_000)  # the others have been silent for a minute
    assert set(stored) == {"d1"}


def test_rows_that_are_delivered_again_are_drawn_once_and_take_nothing_from_the_rest(engine, spark, bundle, tmp_path):
    from deeprotect.engines.job import Job

    database = Database.existing_or_new(str(tmp_path / "ledger.db"))
    job = Job.of(bundle, _rows(0, 4).schema, map={"recording": "device"}, keep_names=True)
    plan = engine.StreamJob(job, str(tmp_path / "ledger.db"), "walks", "", 60.0)
    stored, left = {}, []

    def batch(*rows, now):
        numbers = np.concatenate([np.arange(*each) for each in rows])
        given = {"d1": (BEGIN_US * 1000 + numbers * 100_000_000, np.zeros((len(numbers), 2)))}
        for each in engine.step(stored, given, plan, now=now).get("d1", []):
            left.append((each.ticket.number, each.window.tobytes()))

    batch((0, 160), now=0)
    batch((0, 60), now=1)  # sixteen seconds late,
    for start in range(160, 400, 20):
        batch((start - 100, start - 80), (start, start + 20), now=2)  # ten seconds late, with what is new,
    first = len(left)
    assert [number for number, _ in left] == list(range(left[0][0], left[0][0] + first))
    (person,) = statement(database).people
    assert sum(line.draws for line in person.lines) == first >= 98
    batch((100, 140), now=60_002)  # and for a minute nothing else
    assert stored == {}
    batch((0, 200), now=60_003)
    assert len(left) > first
    assert set(left[first:]) <= set(left[:first])
    (person,) = statement(database).people
    assert sum(line.draws for line in person.lines) == first


def test_a_row_without_a_device_or_a_time_belongs_to_nobody(engine, spark, bundle, tmp_path):
    import pandas as pd

    from deeprotect.engines.job import Job

    job = Job.of(bundle, _rows(0, 4).schema, map={"recording": "device"}, keep_names=True)
    plan = engine.StreamJob(job, str(tmp_path / "ledger.db"), "walks", "", 60.0)
    rows = pd.DataFrame({engine._DEVICE: ["d1", None, "d1"], engine._TIME: [1, 2, None], "acc_x": 0.0, "acc_y": 0.0})
    ((device, (times, _)),) = engine._by_device([rows], plan)
    assert (device, times.tolist()) == ("d1", [1000])


def test_a_stream_without_real_time_stamps_is_refused(spark, engine, bundle, folder, tmp_path):
    frame = spark.readStream.schema(spark.read.parquet(folder).schema).parquet(folder)
    with pytest.raises(TableError, match="cast it to Spark's timestamp"):
        engine.protect_stream(frame, bundle, ledger=str(tmp_path / "ledger.db"), name="walks")
    with pytest.raises(InputError):
        engine.refuse_file("ledger.db", "the cluster")
