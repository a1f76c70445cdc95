"""Totals follow the composition theorems, and both numbers are always there."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import BudgetError
from deeprotect.privacy.accounting import parallel, sequential, totals
from deeprotect.privacy.events import Event

epsilons = st.floats(0.01, 20.0)
charges = st.lists(st.tuples(epsilons.map(lambda e: Event("ldp", e)), st.integers(1, 1000)), max_size=8)


@given(charges)
def test_a_stream_costs_the_sum_and_a_window_the_largest(some):
    spending = totals(some)
    assert spending.per_stream == pytest.approx(sum(event.epsilon * count for event, count in some))
    assert spending.per_draw == max((event.epsilon for event, _ in some), default=0.0)
    assert spending.draws == sum(count for _, count in some)


@given(charges, charges)
def test_more_releases_never_cost_less(some, more):
    assert sequential(some + more) >= sequential(some)
    assert parallel(some + more) >= parallel(some)
    assert sequential(some + more) >= parallel(some + more) * (1 - 1e-12)


def test_the_text_shows_both_numbers():
    text = str(totals([(Event("ldp", 5.0), 12)]))
    assert "ε = 5 per window" in text
    assert "ε = 60 for the whole stream (12 windows)" in text


def test_ldp_with_rldp_is_rldp_and_bounds_no_ldp():
    spending = totals([(Event("ldp", 1.0), 2), (Event("rldp", 3.0, inferences=("subject",)), 4)])
    assert spending.guarantee == "rldp"
    assert spending.per_stream == 14.0


def test_ldp_alone_stays_ldp():
    spending = totals([(Event("ldp", 1.0), 2)])
    assert (spending.guarantee, spending.per_stream) == ("ldp", 2.0)


def test_a_named_promise_holds_for_one_window_only():
    one = Event("named", 1.0, inferences=("subject",), confidence=0.95)
    assert totals([(one, 1)]).per_stream == 1.0
    assert totals([(one, 2)]).per_stream == math.inf
    assert totals([(one, 2)]).per_draw == 1.0
    assert "no bound for the whole stream" in str(totals([(one, 2)]))


def test_doubts_of_different_promises_add_up():
    first, second = (Event("named", eps, inferences=("a",), confidence=c) for eps, c in ((1.0, 0.95), (1.0, 0.9)))
    assert totals([(first, 1), (second, 1)]).confidence == pytest.approx(0.85)
    assert totals([(first, 5)]).confidence == pytest.approx(0.95)


def test_delta_adds_up():
    assert totals([(Event("ldp", 1.0, delta=1e-6), 10)]).delta == pytest.approx(1e-5)


@pytest.mark.parametrize(
    "pair",
    [
        (Event("rldp", 1.0, inferences=("a",)), Event("rldp", 1.0, inferences=("b",))),
        (Event("rldp", 1.0, inferences=("a",)), Event("named", 1.0, inferences=("a",))),
    ],
)
def test_promises_about_different_things_are_not_added(pair):
    with pytest.raises(BudgetError, match="apart"):
        totals([(pair[0], 1), (pair[1], 1)])


class _Newer(Event):
    pass


@pytest.mark.parametrize("charge", [("ldp", 1), (None, 1), (_Newer("ldp", 1.0), 1)])
def test_an_unknown_event_is_refused(charge):
    with pytest.raises(BudgetError, match="charge an Event"):
        totals([charge])


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_a_count_that_is_no_count_is_refused(count):
    with pytest.raises(BudgetError, match="whole number"):
        totals([(Event("ldp", 1.0), count)])


def test_nothing_released_costs_nothing():
    spending = totals([])
    assert (spending.draws, spending.per_draw, spending.per_stream) == (0, 0.0, 0.0)
