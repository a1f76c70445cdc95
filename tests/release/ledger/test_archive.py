"""What is old leaves a ledger: sums stay exact, and what was drawn once is never drawn again."""

from datetime import timedelta
from fractions import Fraction

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest
from sqlalchemy import func, select
from tests.release.ledger.bookings import Asked, charge, opened, record

from deeprotect.errors import BudgetError, InputError, LedgerUnavailableError, ReleasedBeforeError
from deeprotect.release.ledger import archive
from deeprotect.release.ledger.archive import archive_charges, export_charges, forget_draws
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, draws, quarters
from deeprotect.release.ledger.statement import statement
from deeprotect.release.ledger.stored import pay
from deeprotect.signals import Run

MONTH = timedelta(days=30)


def release(ledger, first, count=1, *, value=1.0, recording="monday"):
    """What leaves, as the engine asks for it: charged and recorded in one transaction; a refusal is raised."""
    runs = [Run(recording, first, count)]
    with opened(ledger, runs, range(count)) as books:
        (paid,) = books.charge()
        (kept,) = books.record([None if isinstance(paid, BudgetError) else np.full((count, 1), value)])
    if isinstance(paid, BudgetError):
        raise paid
    return kept[:, 0].tolist()


def rows(address, table):
    with Database.existing(address).reading() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def taken_out(kind, address, clock, tmp_path):
    """By either way; how many."""
    if kind == "forget":
        return forget_draws(Database.existing(address), older_than=MONTH, clock=clock)
    out = tmp_path / f"{clock.now.timestamp()}.csv"
    return archive_charges(Database.existing(address), out, older_than=MONTH, clock=clock)


@pytest.fixture(params=["forget", "archive"])
def kind(request):
    return request.param


def test_what_is_not_kept_any_more_is_refused_and_never_drawn_again(open_ledger, address, clock, tmp_path, kind):
    assert release(open_ledger(), 0, 5) == [1.0] * 5
    clock.move(days=31)
    assert release(open_ledger(), 5, 5, value=2.0) == [2.0] * 5
    assert taken_out(kind, address, clock, tmp_path) == 1
    for first, count in ((0, 5), (4, 1), (3, 4)):
        with pytest.raises(ReleasedBeforeError, match="never drawn a second time"):
            release(open_ledger(), first, count, value=3.0)
    assert release(open_ledger(), 5, 5, value=3.0) == [2.0] * 5  # what is kept is given again
    assert release(open_ledger(), 10, 1, value=3.0) == [3.0]  # and what was never drawn is drawn
    assert release(open_ledger(), 0, 1, value=4.0, recording="tuesday") == [4.0]
    assert statement(Database.existing(address), clock=clock).people[0].draws == 12


def test_a_refused_booking_leaves_the_others_of_its_batch_alone(open_ledger, address, clock):
    old, new = open_ledger(), open_ledger("other")
    release(old, 0)
    clock.move(days=31)
    forget_draws(Database.existing(address), older_than=MONTH, clock=clock)
    ones = np.ones(1, dtype=np.int64)
    asked = [Asked(old, [Run("monday", 0, 1)], ones), Asked(new, [Run("monday", 0, 1)], ones)]
    with old.open(asked) as books:
        refused, paid = books.charge()
        assert isinstance(refused, ReleasedBeforeError)
        assert paid.tolist() == [True]
        assert books.record([None, np.full((1, 1), 7.0)])[1].tolist() == [[7.0]]


def test_nothing_is_recorded_for_what_is_gone_even_where_nobody_asked_whether_it_may(open_ledger, address, clock):
    release(open_ledger(), 0)
    clock.move(days=31)
    forget_draws(Database.existing(address), older_than=MONTH, clock=clock)
    with pytest.raises(ReleasedBeforeError):
        record(open_ledger(), [Run("monday", 0, 1)], np.zeros((1, 1)))


def test_a_charge_of_an_old_version_that_was_never_drawn_is_not_drawn_once_it_is_closed(
    open_ledger, address, clock, tmp_path
):
    charge(open_ledger(), [Run("monday", 0, 1)], count=1)  # and the process died
    clock.move(days=31)
    archive_charges(Database.existing(address), tmp_path / "old.csv", older_than=MONTH, clock=clock)
    with pytest.raises(ReleasedBeforeError):
        release(open_ledger(), 0)


def test_totals_stay_exact_to_the_last_digit(open_ledger, address, clock, tmp_path):
    for day in range(8):
        release(open_ledger(in_all=40.0), day)
        clock.move(days=1)
    before = statement(Database.existing(address), clock=clock)
    clock.move(days=40)
    assert archive_charges(Database.existing(address), tmp_path / "old.csv", older_than=MONTH, clock=clock) == 8
    (person,) = statement(Database.existing(address), clock=clock).people
    assert rows(address, charges) == rows(address, draws) == rows(address, quarters) == 0
    assert (person.draws, person.spent("in_all").epsilon) == (8, Fraction(40))
    assert before.people[0].spent("in_all") == person.spent("in_all")
    with pytest.raises(BudgetError, match="spent ε = 40 of in_all = 40"):
        release(open_ledger(in_all=40.0), 8)


@pytest.mark.long
def test_an_archive_of_many_rows_is_taken_out_piece_by_piece_and_whole(
    open_ledger, address, clock, tmp_path, monkeypatch
):
    monkeypatch.setattr(archive, "AT_ONCE", 7)
    for number in range(30):
        release(open_ledger("walk" if number % 2 else "run", person="ann"), number)
        clock.move(days=1 if number != 12 else -1)  # once the clock was set back
    clock.move(days=15)
    database, out = Database.existing(address), tmp_path / "old.parquet"
    count = archive_charges(database, out, older_than=MONTH, clock=clock)
    table = pa_parquet.read_table(out)
    assert count == table.num_rows == 15
    assert rows(address, charges) == rows(address, draws) == 30 - count
    assert set(table["person"].to_pylist()) == {"ann"}
    assert sum(map(Fraction, table["epsilon"].to_pylist())) == 5 * count
    assert statement(database, clock=clock).people[0].draws == 30
    assert forget_draws(database, older_than=timedelta(days=20), clock=clock) == 10
    assert (rows(address, charges), rows(address, draws)) == (15, 5)


def test_all_charges_go_into_a_table(open_ledger, address, clock, tmp_path):
    release(open_ledger(app="fitness"), 0, 3)
    release(open_ledger("run", person='A "quoted", name', in_all=5.0, when_spent="placeholder"), 0, 2)
    pay(Database.existing(address))
    assert export_charges(Database.existing(address), tmp_path / "charges.csv") == 3
    found = pa_csv.read_csv(tmp_path / "charges.csv").to_pylist()
    assert [(each["person"], each["app"], each["draws"], each["paid"], each["epsilon"]) for each in found] == [
        ("walk", "fitness", 3, True, 5),
        ('A "quoted", name', "", 1, True, 5),
        ('A "quoted", name', "", 1, False, 5),
    ]
    assert export_charges(Database.existing(address), tmp_path / "charges.parquet") == 3


def test_a_clock_behind_what_was_archived_is_refused(open_ledger, address, clock, tmp_path):
    """Else charges that a limit looks at would be missing, and free what is spent."""
    release(open_ledger(per_day=5.0), 0)
    clock.move(days=31)
    archive_charges(Database.existing(address), tmp_path / "old.csv", older_than=MONTH, clock=clock)
    clock.move(days=-31)
    with pytest.raises(LedgerUnavailableError, match="the clock is behind charges that were archived"):
        release(open_ledger(per_day=5.0), 1)


def test_the_last_days_are_always_kept_and_a_file_is_never_written_over(open_ledger, address, clock, tmp_path):
    release(open_ledger(), 0)
    database, taken = Database.existing(address), tmp_path / "there.csv"
    taken.write_text("mine")
    for wrong in (forget_draws, lambda *a, **k: archive_charges(*a, tmp_path / "new.csv", **k)):
        with pytest.raises(InputError, match="keep 2 days or more"):
            wrong(database, older_than=timedelta(hours=47), clock=clock)
    with pytest.raises(InputError, match="need a new file"):
        archive_charges(database, taken, older_than=MONTH, clock=clock)
    assert (taken.read_text(), rows(address, charges)) == ("mine", 1)


def test_the_ledger_is_tried_on_an_account_that_is_nobodys(open_ledger, address, clock):
    release(open_ledger(), 0)
    database = Database.existing(address)
    for _ in range(3):
        pay(database, clock=clock)
    assert [person.name for person in statement(database, clock=clock).people] == ["walk"]
    assert rows(address, charges) == rows(address, draws) == 2
