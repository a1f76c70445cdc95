"""A bundle that was written to fail on some windows, on engines that retry: every row leaves, and is paid for once."""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.bundle.hostile_layers import OVERFLOW, hostile
from tests.gateway.channels import channel_bundle
from tests.release.test_totality import DEEDS, STEPS, Hostile

from deeprotect.engines.arrow import release_batches
from deeprotect.engines.job import Job
from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement

pytestmark = pytest.mark.filterwarnings("ignore")
RECORDINGS, WINDOWS = 6, 8


def _draws(address):
    return sum(person.draws for person in statement(Database.existing(str(address))).people)


@pytest.mark.parametrize("deed", ["raises", "fewer rows", "infinite"])
@pytest.mark.parametrize("step", STEPS)
def test_a_retry_after_failures_of_a_pipeline_gets_the_first_draws(bundle, rows, tmp_path, step, deed):
    job = Job.of(bundle, rows.schema, place=LedgerPlace(str(tmp_path / "ledger.db"), Account("walk")))
    job = replace(job.of_parts([job.surveyed(rows.to_batches())]), bundle=Hostile(bundle, step, DEEDS[deed]))
    first, again = (pa.Table.from_batches(release_batches(rows.to_batches(), job)) for _ in range(2))
    assert first.num_rows == rows.num_rows
    assert first.equals(again)
    assert _draws(tmp_path / "ledger.db") == RECORDINGS * WINDOWS


@pytest.fixture
def bundle_of_strangers(tmp_path):
    hostile(channel_bundle(), OVERFLOW).save(tmp_path / "stranger")
    return str(tmp_path / "stranger")


def test_dask_computes_again_what_a_hostile_bundle_released(bundle_of_strangers, folder, tmp_path):
    dd = pytest.importorskip("dask.dataframe", reason="needs deeprotect[dask]")
    from deeprotect.engines import dask

    ledger = str(tmp_path / "ledger.db")
    table = dd.read_parquet(folder).shuffle("recording")
    released = dask.protect(table, bundle_of_strangers, ledger=ledger, stream="walk")
    first, again = (released.compute(scheduler="synchronous") for _ in range(2))
    assert len(first) == RECORDINGS * 30
    assert first.equals(again)
    assert _draws(ledger) == RECORDINGS * WINDOWS


@pytest.mark.long
def test_spark_computes_again_what_a_hostile_bundle_released(spark, bundle_of_strangers, folder, tmp_path):
    from deeprotect.engines import spark as engine

    ledger, order = str(tmp_path / "ledger.db"), [("recording", "ascending"), ("time", "ascending")]
    released = engine.protect(spark.read.parquet(folder), bundle_of_strangers, ledger=ledger, stream="walk")
    first, again = (each.toArrow().sort_by(order) for each in (released, released.repartition(3)))
    assert first.num_rows == RECORDINGS * 30
    assert first.equals(again)
    assert _draws(ledger) == RECORDINGS * WINDOWS
