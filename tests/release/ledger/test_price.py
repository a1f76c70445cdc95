"""What a draw is counted as: the strongest bound that adds up, exactly, and never less than the mechanism's own."""

from fractions import Fraction

import numpy as np
import pytest
from tests.recordings import promises

from deeprotect.policy.sections import Budget
from deeprotect.privacy.box import Box
from deeprotect.privacy.channel.design import design, make
from deeprotect.privacy.mechanisms.laplace import baseline, paper_mode2
from deeprotect.privacy.mechanisms.subspace import subspace
from deeprotect.release.ledger import Price
from deeprotect.release.ledger.limits import Limits, down, up

PERSON = promises([[90, 60, 30, 20], [40, 60, 50, 50]])
DIRECTION = np.array([[0.6], [0.8]])


def named(*, ceiling=None):
    return make(design(1.0 - np.eye(4), np.ones(4), promises=PERSON, ldp_epsilon=ceiling))


def test_an_ldp_draw_counts_as_its_epsilon_as_it_is_written():
    price = Price.of(baseline(4, 0.1))
    assert (price.epsilon, price.counted_as) == (Fraction(1, 10), "ldp")


def test_a_named_draw_counts_as_its_ldp_ceiling():
    price = Price.of(named(ceiling=2.5))
    assert (price.event.guarantee, price.event.epsilon) == ("named", 1.0)
    assert (price.epsilon, price.counted_as) == (Fraction(5, 2), "ldp")


def test_without_a_ceiling_the_ldp_epsilon_of_the_integers_counts_rounded_up():
    channel = named()
    price = Price.of(channel)
    assert price.counted_as == "ldp"
    assert Fraction(channel.ldp_epsilon) <= price.epsilon < Fraction(channel.ldp_epsilon) + Fraction(1, 10**9)


def test_a_named_draw_without_any_ldp_bound_is_a_count_and_says_so():
    channel = make(design(1.0 - np.eye(4), np.ones(4), promises=_easy()))
    assert channel.certificate()["ldp_epsilon"] is None
    assert (Price.of(channel).epsilon, Price.of(channel).counted_as) == (30, "named")


def _easy():
    return promises([[90, 60, 30, 20], [40, 60, 50, 50]], epsilon=30.0)


def test_relaxed_draws_count_as_ldp_where_the_clip_box_gives_it():
    literal = paper_mode2(Box.unit(1), 2.0, directions=DIRECTION)
    assert Price.of(literal).counted_as == "ldp"
    assert Price.of(literal).epsilon >= literal.real_epsilon
    assert Price.of(subspace(DIRECTION, 2.0)).counted_as == "rldp"


def test_a_price_is_the_same_after_it_was_stored():
    price = Price.of(named(), bundle="digest", limits=Limits.of(Budget(per_hour=10.1, in_all=30.0)))
    assert Price.from_json(price.to_json()) == price


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
