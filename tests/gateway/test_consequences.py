from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest
from tests.gateway.channels import channel_bundle

from deeprotect.gateway.offers.choices import varied
from deeprotect.gateway.offers.consequences import (
    accuracy_at,
    accuracy_curve,
    expected_accuracy,
    lasts,
    limits_of,
    rate_of,
)
from deeprotect.release.ledger.limits import Limit

BUNDLE = channel_bundle(prior=(0.4, 0.3, 0.2, 0.1))
HOUR = Limit("per_hour", Fraction(600), timedelta(hours=1))


def test_the_rate_is_one_draw_for_each_hold():
    assert rate_of(BUNDLE).per_second == Fraction(5) / Fraction(4, 10)
    held = rate_of(varied(BUNDLE, "2.5", 30))
    assert held.per_hour == Fraction("2.5") / 12 * 3600
    assert held.per_day == 24 * held.per_hour


def test_what_is_expected_of_a_choice_is_what_its_channel_gives():
    """The curve is worked out without making each channel; both ways agree."""
    for epsilon in ("0.5", "1", "2.5", "4.9"):
        made = expected_accuracy(varied(BUNDLE, epsilon, None))
        assert made == pytest.approx(accuracy_at(BUNDLE, float(epsilon)), abs=1e-9)


def test_the_curve_rises_to_the_bundles_own():
    curve = list(accuracy_curve(BUNDLE))
    assert curve[-1].epsilon == 5.0
    assert curve[-1].expected == expected_accuracy(BUNDLE)
    assert (np.diff([each.expected for each in curve]) >= 0).all()


def test_there_is_no_curve_where_accuracy_is_not_known(bundle):
    assert expected_accuracy(bundle) is None
    assert list(accuracy_curve(bundle)) == []


def test_what_is_left_lasts_as_long_as_the_rate_says():
    assert lasts(HOUR, Fraction(300), Fraction(1)) == timedelta(seconds=300)


def test_a_rate_that_a_rolling_limit_covers_never_runs_out():
    assert lasts(HOUR, Fraction(1), Fraction(600, 3600)) is None
    assert lasts(HOUR, Fraction(1), Fraction(601, 3600)) is not None
    assert lasts(HOUR, Fraction(1), Fraction(0)) is None


def test_a_limit_in_all_runs_out_at_any_rate():
    assert lasts(Limit("in_all", Fraction(10), None), Fraction(10), Fraction(1, 100)) == timedelta(seconds=1000)


def test_limits_are_those_of_the_policy():
    assert [(limit.name, limit.epsilon) for limit in limits_of(BUNDLE)] == [("per_hour", 600)]
