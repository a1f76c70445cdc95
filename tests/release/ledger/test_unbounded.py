"""A draw without an LDP bound has no finite price, whatever its bundle states: where there are limits it is refused."""

import json
import math
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pyarrow.csv as pa_csv
import pytest
from tests.mutations import protectors
from tests.release.ledger.bookings import charge
from tests.release.ledger.prices import price

from deeprotect import Protector
from deeprotect.cli.budget import lines
from deeprotect.errors import BudgetError, InputError
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.laplace import GridLaplace
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.release.ledger.archive import export_charges
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.limits import UNBOUNDED
from deeprotect.release.ledger.people import set_limits
from deeprotect.release.ledger.statement import statement
from deeprotect.signals import Run

ONE = [Run("a", 0, 1)]
ALLOW = r"has no LDP bound, so no limit can count it, and '{}' has {}; use a protector with one, or .*allow.without.ldp"


@dataclass(frozen=True)
class Raw:
    """A mechanism that adds no noise at all, whatever ε it states; `bound` is what its certificate derives."""

    bound: float | None = None
    event = Event("ldp", 1e-4)

    def certificate(self):
        return {"ldp_epsilon": self.bound}


def unbounded(*, allowed=False, **limits):
    return replace(price(1e-4, **limits), epsilon=UNBOUNDED, allowed=allowed)


@pytest.mark.parametrize("bound", [None, math.inf, math.nan])
def test_without_a_derived_bound_no_stated_epsilon_is_a_price(bound):
    assert Price.of(Raw(bound)).epsilon == UNBOUNDED
    assert Price.of(Raw(5e-5)).epsilon == Fraction(1, 10_000)


def test_only_a_draw_without_a_bound_can_be_allowed_without_one():
    assert Price.of(Raw(), allow_without_ldp=True).allowed
    assert not Price.of(Raw(5e-5), allow_without_ldp=True).allowed


@pytest.mark.parametrize("cost", [unbounded(), unbounded(allowed=True), unbounded(in_all=5.0)])
def test_such_a_price_is_the_same_after_it_was_stored(cost):
    assert Price.from_json(cost.to_json()) == cost


@pytest.mark.parametrize("counted_as", ["named", "rldp"])
def test_what_an_earlier_version_counted_at_the_stated_epsilon_is_unbounded_now(counted_as):
    body = json.loads(price().to_json()) | {"counted_as": counted_as}
    assert Price.from_json(json.dumps(body)).epsilon == UNBOUNDED


@pytest.mark.parametrize("when_spent", ["refuse", "placeholder"])
def test_a_policys_own_limit_refuses_it(open_ledger, address, clock, when_spent):
    cost = unbounded(in_all=5.0, when_spent=when_spent)
    with pytest.raises(BudgetError, match=ALLOW.format("this run", "in_all = 5")):
        charge(MemoryLedger(cost, clock=clock), (), count=1)
    with pytest.raises(BudgetError, match=ALLOW.format("walk", "in_all = 5")):
        charge(open_ledger(at=cost), ONE, count=1)
    assert statement(Database.existing(address), clock=clock).people == ()


@pytest.mark.parametrize("limit", ["per_hour", "per_day", "in_all"])
def test_a_persons_limit_refuses_it_whoever_set_that(open_ledger, address, limit):
    charge(open_ledger("watch", person="ann", bundle="sound", **{limit: 50.0}), ONE, count=1)
    with pytest.raises(BudgetError, match=ALLOW.format("ann", f"{limit} = 50")):
        charge(open_ledger("phone", person="ann", at=unbounded()), ONE, count=1)
    set_limits(Database.existing(address), "bob", {limit: Fraction(7)})
    with pytest.raises(BudgetError, match=ALLOW.format("bob", f"{limit} = 7")):
        charge(open_ledger("ring", person="bob", at=unbounded()), ONE, count=1)


def test_where_nobody_has_limits_it_is_charged_and_a_limit_that_is_set_later_is_spent(open_ledger, address, clock):
    charge(open_ledger("phone", person="ann", at=unbounded()), ONE, count=1)
    set_limits(Database.existing(address), "ann", {"per_hour": Fraction(50)}, clock=clock)
    sound = open_ledger("watch", person="ann")
    with pytest.raises(
        BudgetError, match=r"spent ε = ∞ of per_hour = 50; .* ε = 0 remains; it frees at 2026-11-16 13:00"
    ):
        charge(sound, ONE, count=1)
    clock.move(hours=1)
    assert charge(sound, ONE, count=1).all()
    set_limits(Database.existing(address), "ann", {"in_all": Fraction(500)}, clock=clock)
    with pytest.raises(BudgetError, match=r"spent ε = ∞ of in_all = 500; .* it never frees"):
        charge(sound, [Run("a", 1, 1)], count=1)
    (person,) = statement(Database.existing(address), clock=clock).people
    assert [person.left(limit) for limit in person.limits] == [45, 0]


def test_what_the_operator_allowed_by_name_is_in_the_entry_and_no_limit_counts_it(
    open_ledger, address, clock, tmp_path
):
    cost = unbounded(allowed=True, in_all=12.0)
    for ledger in (MemoryLedger(cost, clock=clock), open_ledger("phone", person="ann", at=cost)):
        assert charge(ledger, [Run("a", 0, 1000)], count=1000).all()
    sound = open_ledger("watch", person="ann")
    assert charge(sound, [Run("a", 0, 2)], count=2).all()
    with pytest.raises(BudgetError, match="spent ε = 10 of in_all = 12"):
        charge(sound, [Run("a", 2, 1)], count=1)
    found = statement(Database.existing(address), clock=clock)
    assert found.people[0].counted_as == ("ldp", "no LDP bound, allowed")
    said = "\n".join(lines(found))
    assert "1002 draws, 1000 of them without an LDP bound" in said
    assert "left: 2 of in_all = 12" in said
    assert "ε = ∞ by 1000 draws; ε = 0.0001 ldp per window, no LDP bound, allowed;" in said
    export_charges(Database.existing(address), tmp_path / "charges.csv")
    rows = pa_csv.read_csv(tmp_path / "charges.csv").select(["counted_as", "epsilon"]).to_pylist()
    assert [row["counted_as"] for row in rows] == ["no LDP bound, allowed", "ldp"]
    assert [str(row["epsilon"]) for row in rows] == ["None", "5"]


def test_a_time_when_a_limit_frees_is_when_enough_has_left_it(open_ledger, clock):
    ledger = open_ledger(per_hour=20.0)
    for first in range(4):
        charge(ledger, [Run("a", first, 1)], count=1)
        clock.move(minutes=10)
    with pytest.raises(BudgetError, match="it frees at 2026-11-16 13:10:00 UTC"):
        charge(ledger, [Run("a", 4, 2)], count=2)
    clock.now += timedelta(minutes=30)
    assert charge(ledger, [Run("a", 4, 2)], count=2).all()


@pytest.fixture
def forged(monkeypatch):
    """A bundle that states ε = 2, of which nothing is derived."""
    whole = GridLaplace.certificate
    monkeypatch.setattr(GridLaplace, "certificate", lambda self: whole(self) | {"ldp_epsilon": None})
    return Protector(protectors.on_samples())


def test_a_forged_bundle_releases_nothing_about_somebody_who_has_limits(forged, address, tmp_path):
    set_limits(Database.existing_or_new(address), "ann", {"in_all": Fraction(5)})
    who = {"stream": "watch", "person": "ann"}
    pa_csv.write_csv(protectors.table(), tmp_path / "in.csv")
    with pytest.raises(BudgetError, match=ALLOW.format("ann", "in_all = 5")):
        forged.protect(tmp_path / "in.csv", tmp_path / "out.csv", ledger=address, **who)
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(BudgetError, match="no LDP bound"), forged.stream(ledger=address, **who) as live:
        live.push(np.zeros((2, 1)))
    assert statement(Database.existing(address)).people[0].draws == 0
    release = forged.protect(tmp_path / "in.csv", tmp_path / "out.csv", ledger=address, allow_without_ldp=True, **who)
    assert release.draws.charged == 4
    assert statement(Database.existing(address)).people[0].counted_as == ("no LDP bound, allowed",)


def test_a_ledger_that_is_open_was_allowed_where_it_was_opened(forged, address):
    ledger = forged.ledger(address, stream="watch", allow_without_ldp=True)
    assert forged.protect(protectors.table(), ledger=ledger).draws.charged == 4
    with pytest.raises(InputError, match="when you open it"):
        forged.protect(protectors.table(), ledger=ledger, allow_without_ldp=True)
