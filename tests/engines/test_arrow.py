from dataclasses import replace

import pyarrow as pa
import pytest
from tests.conftest import walk

from deeprotect.api import Protector
from deeprotect.bundle import Bundle
from deeprotect.engines.arrow import release_batches
from deeprotect.engines.job import Job, Part
from deeprotect.engines.ledger_place import LedgerPlace, refuse_file
from deeprotect.errors import BudgetError, InputError, LedgerError, TableError
from deeprotect.release import engine
from deeprotect.release.ledger import Account, limits


def _job(bundle, table, **options):
    job = Job.of(bundle, table.schema, **options)
    return job.of_parts([job.surveyed(table.to_batches())])


@pytest.mark.parametrize("options", [{}, {"keep_names": True}, {"relative_time": True}], ids=str)
def test_form_is_as_protect_gives_it_and_content_is_not(bundle, rows, options):
    released = pa.Table.from_batches(release_batches(rows.to_batches(max_chunksize=7), _job(bundle, rows, **options)))
    usual = Protector(bundle).protect(rows, **options).table
    assert released.schema.equals(usual.schema)
    beside = [name for name in usual.column_names if not name.startswith("acc")]
    assert released.select(beside).equals(usual.select(beside))
    assert not released["acc_x"].equals(rows["acc_x"])


def test_a_worker_that_has_seen_few_recordings_numbers_them_as_the_whole_table_does(bundle, rows):
    share = rows.filter(pa.compute.equal(rows["recording"], "r4"))
    released = pa.Table.from_batches(release_batches(share.to_batches(), _job(bundle, rows)))
    assert set(released["recording"].to_pylist()) == {"5"}


def test_rows_are_read_only_as_released_ones_are_taken(bundle):
    """Memory does not grow with a recording; a reader that stops ends the release."""
    table, taken = walk(1_000_000, recordings=1), []

    def batches():
        for batch in table.to_batches(max_chunksize=1 << 14):
            taken.append(batch)
            yield batch

    released = release_batches(batches(), _job(bundle, table))
    next(released)
    assert len(taken) * (1 << 14) <= 2 * (1 << 16) < table.num_rows
    released.close()
    assert len(taken) * (1 << 14) <= 2 * (1 << 16)


def test_a_bad_row_fails_the_share_and_says_nothing_of_it(bundle, rows):
    wrong = rows.set_column(1, "acc_x", pa.array([float("nan"), *rows["acc_x"].to_pylist()[1:]]))
    with pytest.raises(TableError, match="'acc_x' is missing or not a number"):
        list(release_batches(wrong.to_batches(), _job(bundle, wrong)))


def test_other_content_under_the_same_name_is_drawn_for_itself(bundle, rows, tmp_path):
    place = LedgerPlace(str(tmp_path / "ledger.db"), Account("walk"))
    job = _job(bundle, rows, place=place)
    changed = replace(job, parts={name: replace(part, digest="else") for name, part in job.parts.items()})
    first, second = (pa.Table.from_batches(release_batches(rows.to_batches(), each)) for each in (job, changed))
    assert not first.equals(second)


def test_a_recording_that_nobody_counted_is_refused(bundle, rows, tmp_path):
    place = LedgerPlace(str(tmp_path / "ledger.db"), Account("walk"))
    job = replace(_job(bundle, rows, place=place), parts={"r0": Part(1, 1, "")})
    with pytest.raises(TableError, match="changed while it was read"):
        list(release_batches(rows.to_batches(), job))


def test_a_worker_refuses_a_ledger_that_is_not_the_drivers(bundle, rows, tmp_path):
    """An address may mean another database on another machine."""
    place = LedgerPlace(str(tmp_path / "ledger.db"), Account("walk"))
    job = _job(bundle, rows, place=place)
    (tmp_path / "ledger.db").unlink()
    Protector(bundle).ledger(tmp_path / "ledger.db", stream="somebody else's")
    with pytest.raises(LedgerError, match="not the ledger that the driver uses"):
        list(release_batches(rows.to_batches(), job))


def test_a_worker_never_makes_a_ledger(bundle, rows, tmp_path):
    """A new one would know nothing of the draws that were made."""
    place = LedgerPlace(str(tmp_path / "ledger.db"), Account("walk"))
    job = _job(bundle, rows, place=place)
    (tmp_path / "ledger.db").unlink()
    with pytest.raises(LedgerError, match="no such ledger"):
        list(release_batches(rows.to_batches(), job))


@pytest.mark.parametrize(
    ("dropped", "line"),
    [("acc_x", "'acc_x' is missing"), ("recording", "names the recording of a row"), ("time", "time of a row")],
)
def test_a_missing_column_is_refused_before_any_work(bundle, rows, dropped, line):
    with pytest.raises(TableError, match=line):
        Job.of(bundle, rows.drop_columns([dropped]).schema)


def test_time_as_text_is_refused_for_texts_sort_otherwise(bundle, rows):
    text = rows.set_column(0, "time", rows["time"].cast(pa.string()))
    with pytest.raises(TableError, match="cast it to a number or time"):
        Job.of(bundle, text.schema)


def test_half_a_ledger_and_an_unshared_one_are_refused():
    with pytest.raises(InputError, match="add stream=NAME"):
        LedgerPlace.of("ledger.db", None, person=None, app="")
    with pytest.raises(InputError, match="add ledger=FILE"):
        LedgerPlace.of(None, "walk", person=None, app="")
    with pytest.raises(InputError, match="cannot be shared"):
        refuse_file("ledger.db", "the cluster")


def _limited(bundle, **limits):
    policy = bundle.policy.vary(privacy={"budget": limits}).to_json()
    return Bundle(bundle.manifest.model_copy(update={"policy": policy}), bundle.files)


@pytest.mark.parametrize("limit", ["per_hour", "per_day", "in_all"])
@pytest.mark.parametrize("when_spent", ["refuse", "placeholder"])
def test_without_a_ledger_a_limit_holds_over_all_workers_and_not_for_each(bundle, rows, limit, when_spent):
    """48 draws of ε = 5, shared out in parts of 8."""
    enough, short = (_limited(bundle, **{limit: most}, when_spent=when_spent) for most in (240.0, 239.0))
    with pytest.raises(BudgetError, match=rf"{limit} = 239; 48 draws would cost ε = 240; ε = 239 remains"):
        _job(short, rows)
    assert pa.Table.from_batches(release_batches(rows.to_batches(), _job(enough, rows))).num_rows == rows.num_rows


@pytest.mark.parametrize("with_ledger", [False, True])
def test_draws_without_an_ldp_bound_are_never_made_where_there_is_a_limit(
    bundle, rows, tmp_path, monkeypatch, with_ledger
):
    for module in (limits, engine):
        monkeypatch.setattr(module, "ldp_epsilon", lambda _: limits.UNBOUNDED)
    place = LedgerPlace(str(tmp_path / "ledger.db"), Account("walk", "ann")) if with_ledger else None
    with pytest.raises(BudgetError, match="has no LDP bound, so no limit can count it"):
        list(release_batches(rows.to_batches(), _job(_limited(bundle, in_all=1000.0), rows, place=place)))
