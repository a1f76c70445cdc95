"""Totals follow the composition theorems, and both numbers are always there."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeprotect.errors import BudgetError
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.events import Event, shown

epsilons, counts = st.floats(0.01, 20.0), st.integers(1, 100_000)


@given(epsilons, counts)
def test_a_stream_costs_the_sum_and_a_window_the_largest(epsilon, draws):
    spending = Spending.of(Event("ldp", epsilon), draws)
    assert spending.per_stream == pytest.approx(epsilon * draws)
    assert (spending.per_draw, spending.draws) == (epsilon, draws)


@given(epsilons, counts, counts)
def test_more_releases_never_cost_less(epsilon, some, more):
    first, both = (Spending.of(Event("ldp", epsilon), count) for count in (some, some + more))
    assert both.per_stream >= first.per_stream >= first.per_draw == both.per_draw


def test_the_text_shows_both_numbers():
    text = str(Spending.of(Event("ldp", 5.0), 12))
    assert "ε = 5 per window" in text
    assert "ε = 60 for the whole stream (12 windows)" in text


@given(st.floats(1e-3, 1e9))
def test_an_epsilon_is_never_shown_as_less_than_it_is(epsilon):
    assert Fraction(epsilon) <= Fraction(shown(epsilon)) or float(shown(epsilon)) == epsilon
    assert float(shown(epsilon)) == pytest.approx(epsilon, rel=1.1e-5)


def test_a_long_stream_is_never_shown_as_cheaper_than_it_is():
    assert "ε = 5.00001e+06 for the whole stream" in str(Spending.of(Event("ldp", 5.0), 1_000_001))


@pytest.mark.parametrize("event", [Event("ldp", 1.0), Event("rldp", 1.0, inferences=("subject",))])
def test_a_promise_for_any_draw_adds_up_under_its_own_name(event):
    spending = Spending.of(event, 2)
    assert (spending.guarantee, spending.per_stream) == (event.guarantee, 2.0)


def test_delta_adds_up():
    assert Spending.of(Event("ldp", 1.0, delta=1e-6), 10).delta == pytest.approx(1e-5)


class _Newer(Event):
    pass


@pytest.mark.parametrize("event", ["ldp", None, _Newer("ldp", 1.0)])
def test_an_unknown_event_is_refused(event):
    with pytest.raises(BudgetError, match="charge an Event"):
        Spending.of(event, 1)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_a_count_that_is_no_count_is_refused(count):
    with pytest.raises(BudgetError, match="whole number"):
        Spending.of(Event("ldp", 1.0), count)


def test_nothing_released_costs_nothing():
    spending = Spending.of(Event("ldp", 5.0), 0)
    assert (spending.draws, spending.per_draw, spending.per_stream) == (0, 0.0, 0.0)
