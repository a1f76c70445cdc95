"""The ledger that forgets: the same limits, for one run."""

import numpy as np
import pytest
from tests.release.ledger.bookings import charge, record
from tests.release.ledger.prices import price

from deeprotect.errors import BudgetError
from deeprotect.release.ledger import MemoryLedger


def test_limits_hold_within_a_run_and_time_frees(clock):
    ledger = MemoryLedger(price(per_hour=15.0, in_all=30.0), clock=clock)
    assert charge(ledger, (), count=3).all()
    with pytest.raises(BudgetError, match="it frees at 2026-11-16 13:00:00 UTC"):
        charge(ledger, (), count=1)
    clock.move(hours=1)
    assert charge(ledger, (), count=3).all()
    clock.move(days=2)
    with pytest.raises(BudgetError, match="it never frees"):
        charge(ledger, (), count=1)


def test_when_spent_it_marks_placeholders(clock):
    ledger = MemoryLedger(price(in_all=15.0, when_spent="placeholder"), clock=clock)
    assert charge(ledger, (), count=5).tolist() == [True, True, True, False, False]
    assert not charge(ledger, (), count=2).any()
    assert (ledger.tally.charged, ledger.tally.placeholders, ledger.spending.per_stream) == (3, 4, 15)


def test_every_draw_leaves_as_it_was_drawn(clock):
    drawn = np.random.default_rng(0).normal(size=(3, 2))
    assert record(MemoryLedger(price(), clock=clock), (), drawn) is drawn


def test_a_long_stream_is_counted_in_constant_memory(clock):
    ledger = MemoryLedger(price(per_day=1e6), clock=clock)
    for _ in range(100):
        charge(ledger, (), count=1)
        clock.move(hours=1)
    assert len(ledger.charges(clock.now.replace(year=2000))) <= 25
    assert ledger.tally.charged == 100
