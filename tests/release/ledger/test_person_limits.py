"""Limits are the person's: a bundle may tighten them, and only the operator loosens them."""

import contextlib
from fractions import Fraction

import numpy as np
import pytest
from sqlalchemy import select, text
from tests.release.ledger.bookings import Asked, charge
from tests.release.ledger.prices import price

from deeprotect.errors import BudgetError, LedgerError
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import archives, closed, quarters
from deeprotect.release.ledger.limits import Limits
from deeprotect.release.ledger.people import limits_of, set_limits
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Run

NEWER = (quarters, closed, archives)  # tables that came with the fourth version


def draws(first, count):
    return [Run("a", first, count)]


def held(address, person="ann"):
    with Database.existing(address).reading() as connection:
        found = limits_of(connection, [person]).get(person, Limits())
    return {name: float(epsilon) for name, epsilon in found.epsilons}


@pytest.fixture
def ann(open_ledger):
    """A ledger of Ann's under one of several bundles: of five ε a draw, for an app and a stream of its own."""

    def opened(bundle, **stated):
        return open_ledger(f"stream of {bundle}", person="ann", app=f"app of {bundle}", bundle=bundle, **stated)

    return opened


@pytest.mark.parametrize("stated", [{}, {"in_all": 1000.0}, {"per_day": 50.0}])
def test_a_limit_that_is_spent_binds_every_other_bundle(ann, stated):
    charge(ann("one", in_all=100.0), draws(0, 20), count=20)
    with pytest.raises(BudgetError, match=r"'ann' has spent ε = 100 of in_all = 100; 1 draw .* operator loosen it"):
        charge(ann("other", **stated), draws(0, 1), count=1)


def test_a_bundle_tightens_what_an_earlier_one_asked_for(ann, address):
    loose = ann("loose", in_all=100.0)
    charge(loose, draws(0, 4), count=4)
    charge(ann("tight", in_all=30.0, per_hour=25.0), draws(0, 1), count=1)
    assert held(address) == {"per_hour": 25.0, "in_all": 30.0}
    with pytest.raises(BudgetError, match="of per_hour = 25"):
        charge(loose, draws(4, 1), count=1)


def test_draws_of_many_accounts_at_once_are_held_to_the_same_limit(address, clock):
    database = Database.existing_or_new(address)
    asked = [
        Asked(StoredLedger(database, Account(name, "ann"), price(**stated), clock=clock), [Run("", 0, 1)], np.ones(1))
        for name, stated in (("watch", {"in_all": 10.0}), ("phone", {}), ("ring", {}), ("car", {"in_all": 500.0}))
    ]
    with asked[0].ledger.open(asked) as books:
        paid = books.charge()
    assert [not isinstance(each, BudgetError) for each in paid] == [True, True, False, False]
    assert held(address) == {"in_all": 10.0}


def test_a_failed_transaction_forgets_the_limits_that_it_entered(ann, address):
    ledger = ann("one", in_all=10.0)
    asked = [Asked(ledger, draws(first, 1), np.ones(1)) for first in (0, 1)]
    with contextlib.suppress(ZeroDivisionError), ledger.open(asked) as books:
        books.charge()
        raise ZeroDivisionError
    assert held(address) == {}
    with pytest.raises(BudgetError, match="of in_all = 10"):
        charge(ledger, draws(0, 3), count=3)


def test_other_people_keep_their_own_limits(ann, open_ledger, address):
    charge(ann("one", in_all=5.0), draws(0, 1), count=1)
    assert charge(open_ledger("bob's", person="bob"), draws(0, 50), count=50).all()
    assert held(address, "bob") == {}


def test_a_bundle_that_is_refused_leaves_no_limit_behind(ann, address):
    charge(ann("one", in_all=100.0), draws(0, 10), count=10)
    with pytest.raises(BudgetError, match="of in_all = 20"):
        charge(ann("greedy", in_all=20.0), draws(0, 1), count=1)
    assert held(address) == {"in_all": 100.0}


def test_what_the_operator_loosens_stays_loose_for_bundles_that_were_charged_before(ann, address, clock):
    one = ann("one", in_all=100.0)
    charge(one, draws(0, 20), count=20)
    set_limits(Database.existing(address), "ann", {"in_all": Fraction(110)}, clock=clock)
    for ledger in (one, ann("one", in_all=100.0)):
        first = 20 + (ledger is not one)
        assert charge(ledger, draws(first, 1), count=1).all()
    with pytest.raises(BudgetError, match="of in_all = 110"):
        charge(one, draws(22, 1), count=1)


def test_a_bundle_that_is_new_to_the_person_may_tighten_what_the_operator_set(ann, address, clock):
    set_limits(Database.existing_or_new(address), "ann", {"in_all": Fraction(200)}, clock=clock)
    charge(ann("new", in_all=50.0), draws(0, 1), count=1)
    assert held(address) == {"in_all": 50.0}
    set_limits(Database.existing(address), "ann", {"in_all": None, "per_day": Fraction(3, 2)}, clock=clock)
    assert held(address) == {"per_day": 1.5}


def test_how_a_spent_budget_is_answered_stays_the_bundles_own(ann):
    charge(ann("one", in_all=10.0), draws(0, 1), count=1)
    kind = ann("kind", in_all=500.0, when_spent="placeholder")
    assert charge(kind, draws(0, 3), count=3).tolist() == [True, False, False]


def test_a_ledger_of_the_third_version_goes_on_with_what_was_paid_in_each_quarter_of_an_hour(ann, address, clock):
    for number in range(40):
        charge(ann("one", per_day=205.0), draws(number, 1), count=1)
        clock.move(minutes=7)
    with Database.existing(address).writing("test") as connection:
        before = sorted(map(tuple, connection.execute(select(quarters))))
        for table in NEWER:
            table.drop(connection)
        connection.execute(text("UPDATE deeprotect_ledger SET version = 3"))
    with Database.existing(address).reading() as connection:
        assert sorted(map(tuple, connection.execute(select(quarters)))) == before
        assert len(before) == 19
    charge(ann("one", per_day=205.0), draws(40, 1), count=1)
    with pytest.raises(BudgetError, match="spent ε = 205 of per_day = 205"):
        charge(ann("one", per_day=205.0), draws(41, 1), count=1)


@pytest.mark.parametrize("version", [1, 2])
def test_a_ledger_of_a_version_that_was_never_released_is_refused_and_left_as_it_is(ann, address, version):
    charge(ann("one", in_all=100.0), draws(0, 10), count=10)
    with Database.existing(address).writing("test") as connection:
        connection.execute(text(f"UPDATE deeprotect_ledger SET version = {version}"))
    for opened in (Database.existing, Database.existing_or_new):
        with pytest.raises(LedgerError, match=rf"format {version} was never part of a release and is not read; begin"):
            opened(address)
