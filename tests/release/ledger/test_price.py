"""What a draw is counted as: the strongest bound that adds up, exactly, and never less than the mechanism's own."""

import json
from fractions import Fraction

import numpy as np
import pytest

from deeprotect.errors import BudgetError
from deeprotect.policy.sections import Budget
from deeprotect.privacy.box import Box
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.laplace import baseline, paper_mode2
from deeprotect.release.ledger import Price
from deeprotect.release.ledger.limits import Limits, down, up

DIRECTION = np.array([[0.6], [0.8]])


def test_an_ldp_draw_counts_as_its_epsilon_as_it_is_written():
    price = Price.of(baseline(4, 0.1))
    assert (price.epsilon, price.counted_as) == (Fraction(1, 10), "ldp")


def test_relaxed_draws_count_as_ldp_where_the_clip_box_gives_it():
    literal = paper_mode2(Box.unit(1), 2.0, directions=DIRECTION)
    assert Price.of(literal).counted_as == "ldp"
    assert Price.of(literal).epsilon >= literal.real_epsilon


def test_a_price_is_the_same_after_it_was_stored():
    relaxed, limits = paper_mode2(Box.unit(1), 2.0, directions=DIRECTION), Limits.of(Budget(per_hour=10.1, in_all=30.0))
    price = Price.of(relaxed, bundle="digest", limits=limits)
    assert Price.from_json(price.to_json()) == price


def stored(guarantee, *, counted_as, epsilon="5"):
    """As earlier versions wrote prices."""
    event = {"guarantee": guarantee, "epsilon": 3.0, "per": "window", "inferences": ["person"], "delta": 0.0}
    event |= {"confidence": 0.95, "given": ["activity"]}
    body = {"bundle": "digest", "event": event, "epsilon": epsilon, "counted_as": counted_as, "limits": {}}
    return json.dumps(body)


def test_a_stored_price_of_an_earlier_version_counts_as_it_did():
    price = Price.from_json(stored("rldp", counted_as="ldp"))
    assert (price.event, price.epsilon) == (Event("rldp", 3.0, inferences=("person",)), 5)
    price = Price.from_json(stored("named", counted_as="ldp"))
    assert (price.event, price.epsilon, price.counted_as) == (Event("ldp", 5.0), 5, "ldp")


def test_a_stored_price_that_bounds_nothing_is_refused_with_the_way_out():
    with pytest.raises(BudgetError, match="begin a new ledger") as refused:
        Price.from_json(stored("named", counted_as="named"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "above", "below"),
    [
        (Fraction(0), "0", "0"),
        (Fraction(100), "100", "100"),
        (Fraction(1, 10), "0.1", "0.1"),
        (Fraction(1, 3), "0.333334", "0.333333"),
        (Fraction(123456789123, 10), "12345678912.3", "12345678912.3"),
        (Fraction(10**400), "1" + "0" * 400, "1" + "0" * 400),
    ],
)
def test_spending_is_never_shown_smaller_nor_the_rest_larger(value, above, below):
    assert (up(value), down(value)) == (above, below)
