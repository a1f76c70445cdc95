"""Clocks that jump, at any point of a release: nothing is drawn twice, and what counts is never forgotten."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.mutations import protectors
from tests.release.ledger.bookings import charge, opened, record
from tests.release.ledger.prices import price

from deeprotect import Protector
from deeprotect.errors import BudgetError, LedgerUnavailableError, ReleasedBeforeError
from deeprotect.release.ledger import MemoryLedger, ledger
from deeprotect.release.ledger.archive import archive_charges, forget_draws
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.statement import statement
from deeprotect.signals import Run

ONE = [Run("a", 0, 1)]
JUMPS = [{"days": 40}, {"days": -40}, {"hours": 2}, {"hours": -2}]
MONTH = timedelta(days=30)


def drawn(value):
    return np.full((1, 1), value)


def spent(address, clock):
    (person,) = statement(Database.existing(address), clock=clock).people
    return [person.spent(name).epsilon for name in ("per_hour", "per_day", "in_all")]


@pytest.mark.parametrize("jump", JUMPS)
def test_between_charge_and_record_a_jump_changes_neither_the_draw_nor_its_date(open_ledger, address, clock, jump):
    right = clock.now
    with opened(open_ledger(per_hour=5.0), ONE, range(1)) as books:
        books.charge()
        clock.move(**jump)
        assert books.record([drawn(1.0)])[0].tolist() == [[1.0]]
    clock.now = right
    assert spent(address, clock) == [5, 5, 5]
    with pytest.raises(BudgetError, match="it frees at 2026-11-16 13:00:00 UTC"):
        charge(open_ledger(per_hour=5.0), [Run("a", 1, 1)], count=1)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_charge_that_waits_for_its_draw_gets_one_draw_whatever_the_clock_did_meanwhile(
    open_ledger, address, clock, jump
):
    """As versions before this one could leave it: charged, and then the process died."""
    charge(open_ledger(), ONE, count=1)
    clock.move(**jump)
    forget_draws(Database.existing(address), older_than=MONTH, clock=clock)
    for value in (1.0, 2.0):
        assert record(open_ledger(), ONE, drawn(value)).tolist() == [[1.0]]
    assert spent(address, clock)[-1] == 5


@pytest.mark.parametrize("take_out", ["forget", "archive"])
def test_a_clock_that_ran_ahead_while_the_ledger_was_cleared_frees_nothing_once_it_is_right(
    open_ledger, address, clock, tmp_path, take_out
):
    right, limits = clock.now, {"per_day": 5.0}
    with opened(open_ledger(**limits), ONE, range(1)) as books:
        books.charge()
        books.record([drawn(1.0)])
    clock.move(days=40)
    if take_out == "forget":
        assert forget_draws(Database.existing(address), older_than=MONTH, clock=clock) == 1
    else:
        archive_charges(Database.existing(address), tmp_path / "old.csv", older_than=MONTH, clock=clock)
    clock.now = right
    with pytest.raises((ReleasedBeforeError, LedgerUnavailableError)):
        record(open_ledger(**limits), ONE, drawn(2.0))
    with pytest.raises((BudgetError, LedgerUnavailableError)):
        charge(open_ledger(**limits), [Run("a", 1, 1)], count=1)


def test_a_clock_that_ran_ahead_and_is_right_again_counts_what_was_charged_before_and_meanwhile(
    open_ledger, address, clock
):
    right, account = clock.now, open_ledger(per_hour=25.0, per_day=25.0)
    charge(account, [Run("a", 0, 3)], count=3)
    clock.move(days=3)
    charge(account, [Run("a", 3, 2)], count=2)
    clock.now = right + timedelta(minutes=1)
    assert spent(address, clock) == [25, 25, 25]
    with pytest.raises(BudgetError, match="spent ε = 25"):
        charge(account, [Run("a", 5, 1)], count=1)


class Jumping(datetime):
    """The machine's clock, set to another time while a program runs."""

    ahead = timedelta(0)

    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 11, 16, 12, 0, tzinfo=tz or UTC) + cls.ahead


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setattr(ledger, "datetime", Jumping)
    monkeypatch.setattr(Jumping, "ahead", timedelta(0))
    return Jumping


@pytest.mark.parametrize("ahead", [{"days": 3}, {"days": -3}, {"minutes": 61}])
def test_a_run_does_not_see_that_the_machines_clock_is_set(machine, ahead):
    run = MemoryLedger(price(per_hour=10.0, per_day=10.0))
    assert charge(run, (), count=2).all()
    for machine.ahead in (timedelta(**ahead), timedelta(0)):
        with pytest.raises(BudgetError, match="spent ε = 10"):
            charge(run, (), count=1)


def test_a_live_stream_does_not_see_that_the_machines_clock_is_set(machine):
    bundle = protectors.on_samples()
    policy = bundle.policy.vary(privacy={"budget": {"per_day": 4.0}}).to_json()
    limited = type(bundle)(bundle.manifest.model_copy(update={"policy": policy}), bundle.files)
    live = Protector(limited).stream()
    assert len(live.push(np.zeros((4, 1)))) == 4
    machine.ahead = timedelta(days=3)
    with pytest.raises(BudgetError, match="of per_day = 4"):
        live.push(np.zeros((2, 1)))
