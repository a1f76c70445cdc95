"""Prices for tests of the ledger, which never looks at a mechanism."""

from fractions import Fraction

from deeprotect.policy.sections import Budget
from deeprotect.privacy.events import Event
from deeprotect.release.ledger import Price
from deeprotect.release.ledger.limits import Limits


def price(epsilon=5.0, **limits):
    return Price(Event("ldp", epsilon), Fraction(repr(epsilon)), bundle="bundle", limits=Limits.of(Budget(**limits)))
