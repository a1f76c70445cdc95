from datetime import timedelta
from fractions import Fraction

from tests.gateway.channels import channel_bundle

from deeprotect.gateway.console.overview import lasts, rate_of
from deeprotect.release.ledger.limits import Limit

BUNDLE = channel_bundle(prior=(0.4, 0.3, 0.2, 0.1))
HOUR = Limit("per_hour", Fraction(600), timedelta(hours=1))


def test_the_rate_is_one_draw_for_each_hold():
    assert rate_of(BUNDLE) == Fraction(5) / Fraction(4, 10)


def test_what_is_left_lasts_as_long_as_the_rate_says():
    assert lasts(HOUR, Fraction(300), Fraction(1)) == timedelta(seconds=300)


def test_a_rate_that_a_rolling_limit_covers_never_runs_out():
    assert lasts(HOUR, Fraction(1), Fraction(600, 3600)) is None
    assert lasts(HOUR, Fraction(1), Fraction(601, 3600)) is not None
    assert lasts(HOUR, Fraction(1), Fraction(0)) is None


def test_a_limit_in_all_runs_out_at_any_rate():
    assert lasts(Limit("in_all", Fraction(10), None), Fraction(10), Fraction(1, 100)) == timedelta(seconds=1000)
