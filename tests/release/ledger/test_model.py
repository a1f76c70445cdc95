"""The ledger against a few lines that say what it should do, in any order of charging, dying, drawing and waiting."""

import contextlib
from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.release.ledger.bookings import charge, opened, record
from tests.release.ledger.conftest import SetClock
from tests.release.ledger.prices import price

from deeprotect.errors import BudgetError
from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.limits import SPANS
from deeprotect.release.ledger.people import set_limits
from deeprotect.release.ledger.statement import statement
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.signals import Run

EPSILONS = (0.1, 2.5)
LIMITS = ({"per_hour": 3.0, "in_all": 12.0}, {"per_day": 5.1, "in_all": 9.3})
"""What the two bundles ask for; each holds for both of them once it was charged, until the operator loosens it."""
ENDS = ("records", "dies", "charges")
"""The last is how versions that wrote two transactions died between them."""
runs = st.lists(st.builds(Run, st.sampled_from("ab"), st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=3)


def tighter(held, stated):
    both = held | {name: Fraction(repr(most)) for name, most in stated.items()}
    return {name: min(most, held.get(name, most)) for name, most in both.items()}


def machine(address):
    database, people = Database.existing_or_new(address), iter(range(10**9))

    class Ledgers(RuleBasedStateMachine):
        """One person with two streams at two prices; all examples share a database, each has a person of its own."""

        @initialize(when_spent=st.sampled_from(["refuse", "placeholder"]))
        def begin(self, when_spent):
            self.clock, self.person, self.placeholders = SetClock(), f"p{next(people)}", when_spent == "placeholder"
            self.charges, self.paid, self.kept = [], {}, {}  # (when, ε); and by draw
            self.held, self.entered = {}, set()
            self.ledgers = [
                StoredLedger(
                    database,
                    Account(f"{self.person} {epsilon}", self.person),
                    price(epsilon, when_spent=when_spent, **limits),
                    clock=self.clock,
                )
                for epsilon, limits in zip(EPSILONS, LIMITS, strict=True)
            ]

        def spent(self, name):
            since = None if SPANS[name] is None else self.clock.now - SPANS[name]
            return sum((epsilon for at, epsilon in self.charges if since is None or at > since), Fraction(0))

        def draws(self, which, batch):
            return [
                (which, run.recording, number) for run in batch for number in range(run.first, run.first + run.count)
            ]

        @rule(which=st.integers(0, 1), batch=runs, value=st.integers(0, 2**20), end=st.sampled_from(ENDS))
        def release(self, which, batch, value, end):
            asked, epsilon = self.draws(which, batch), Fraction(repr(EPSILONS[which]))
            fresh = list(dict.fromkeys(draw for draw in asked if draw not in self.paid))
            held = self.held if which in self.entered else tighter(self.held, LIMITS[which])
            room = min(((most - self.spent(name)) // epsilon for name, most in held.items()), default=len(fresh))
            if end == "dies":
                self.dies(which, batch, len(asked))
                return
            try:
                paid = charge(self.ledgers[which], batch, count=len(asked))
            except BudgetError:
                assert not self.placeholders
                assert room < len(fresh)
                return
            assert self.placeholders or room >= len(fresh)
            for number, draw in enumerate(fresh):
                self.paid[draw] = number < room
                self.charges += [(self.clock.now, epsilon)] if number < room else []
            assert paid.tolist() == [self.paid[draw] for draw in asked]
            if fresh and room > 0:
                self.held = held
                self.entered.add(which)
                assert self.spent("in_all") <= held.get("in_all", np.inf)
            if end == "records":
                self.record(which, batch, asked, value)

        def dies(self, which, batch, count):
            """In the middle of a transaction: nothing of it is there."""
            drawn = np.zeros((count, 1))
            with contextlib.suppress(ZeroDivisionError), opened(self.ledgers[which], batch, drawn) as books:
                (paid,) = books.charge()
                books.record([None if isinstance(paid, BudgetError) else drawn])
                raise ZeroDivisionError

        def record(self, which, batch, asked, value):
            drawn = np.arange(len(asked), dtype=np.float64)[:, None] + value
            released = record(self.ledgers[which], batch, drawn)[:, 0]
            for draw, own in zip(asked, drawn[:, 0], strict=True):
                self.kept.setdefault(draw, own)
            assert released.tolist() == [self.kept[draw] for draw in asked]

        @rule(name=st.sampled_from(list(SPANS)), most=st.sampled_from([2.0, 7.5, 20.0, None]))
        def operator_says(self, name, most):
            epsilon = None if most is None else Fraction(repr(most))
            set_limits(database, self.person, {name: epsilon}, clock=self.clock)
            self.held = {key: value for key, value in (self.held | {name: epsilon}).items() if value is not None}

        @rule(minutes=st.sampled_from([1, 30, 59, 60, 61, 24 * 60, -45]))
        def wait(self, minutes):
            self.clock.now += timedelta(minutes=minutes)

        @invariant()
        def totals_are_those_of_the_model(self):
            found = statement(database, clock=self.clock).only(person=self.person).people
            assert (dict(found[0].limits.epsilons) if found else {}) == self.held
            for name in SPANS:
                assert (found[0].spent(name).epsilon if found else Fraction(0)) == self.spent(name)

    return Ledgers


@pytest.mark.long
def test_the_ledger_does_what_the_model_says(address):
    steps = settings(max_examples=20, stateful_step_count=12, deadline=None, derandomize=True)
    run_state_machine_as_test(machine(address), settings=steps)
