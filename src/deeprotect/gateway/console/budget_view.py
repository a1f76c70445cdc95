"""What a person has spent over all apps, what is left of each limit, and how long that lasts at this rate."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from deeprotect.bundle.bundle import Bundle
from deeprotect.gateway.console.words import lasting
from deeprotect.gateway.offers.consequences import lasts, limits_of, rate_of
from deeprotect.gateway.registration.device_registry import App
from deeprotect.release.ledger.limits import Limit, Limits, down, moment, up
from deeprotect.release.ledger.statement import Person

BundleOf = Callable[[App], Bundle | None]
_SPANS = {"per_hour": "in any hour", "per_day": "in any day", "in_all": "in all"}


@dataclass(frozen=True)
class Gauge:
    """One limit of a person."""

    name: str
    span: str
    limit: str
    spent: str
    left: str
    share: float
    text: str

    @property
    def level(self) -> str:
        return "spent" if self.share >= 1 else "low" if self.share > 0.8 else "fine"


@dataclass(frozen=True)
class PersonView:
    """Everything that left about one person; apps may compare what they got, so their ε adds up."""

    name: str
    spent: dict[str, str]  # by the span
    apps: tuple[tuple[str, str], ...]  # name, ε in all
    gauges: tuple[Gauge, ...]
    kind: str
    rate: str


def person_view(name: str, found: Person | None, apps: Sequence[App], *, live: bool, bundle_of: BundleOf) -> PersonView:
    """`apps` are those that get streams of this person now; `live` whether those are heard from."""
    bundles = [bundle for bundle in map(bundle_of, apps) if bundle is not None]
    rate = sum((rate_of(bundle).per_second for bundle in bundles), Fraction(0))
    spent = {span: up(_spent(found, key)) for key, span in _SPANS.items()}
    parts = (
        []
        if found is None
        else [(app or "no app named", up(found.spent("in_all", app=app).epsilon)) for app in found.apps]
    )
    return PersonView(
        name,
        spent,
        tuple(parts),
        tuple(_gauges(found, bundles, rate, live=live)),
        _kind(found),
        up(Fraction(round(rate * 3600 * 1000), 1000)),
    )


def _gauges(found: Person | None, bundles: Sequence[Bundle], rate: Fraction, *, live: bool) -> Iterator[Gauge]:
    """Those that hold for the person; before anything was charged, the tightest that the bundles ask for."""
    held = Limits() if found is None else found.limits
    if found is None or not found.draws:
        held = reduce(Limits.within, map(limits_of, bundles), held)
    return (_gauge(limit, found, rate, live=live) for limit in held)


def _gauge(limit: Limit, found: Person | None, rate: Fraction, *, live: bool) -> Gauge:
    spent = _spent(found, limit.name)
    left = max(limit.epsilon - spent, Fraction(0))
    return Gauge(
        limit.name,
        _SPANS[limit.name],
        up(limit.epsilon),
        up(spent),
        down(left),
        float(min(spent / limit.epsilon, Fraction(1))),
        _text(limit, left, rate, found=found, live=live),
    )


def _text(limit: Limit, left: Fraction, rate: Fraction, *, found: Person | None, live: bool) -> str:
    frees = None if found is None else found.spent(limit.name).frees(limit.span)
    if not left:
        return "spent; it never frees" if frees is None else f"spent; more from {moment(frees)}"
    time = lasts(limit, left, rate)
    if time is None:
        return "no app gets anything" if rate <= 0 else "lasts: this rate never reaches it"
    return f"{lasting(time)} at this rate" if live else f"{lasting(time)} of streaming"


def _spent(found: Person | None, name: str) -> Fraction:
    return Fraction(0) if found is None else found.spent(name).epsilon


def _kind(found: Person | None) -> str:
    """What the sum is: a bound, or a count."""
    if found is None or not found.draws:
        return "nothing was released yet"
    draws = f"{found.draws:,} draws"
    if found.bound is not None:
        return f"{draws}; the sum is a bound ({found.bound}), also for apps that compare what they got"
    return f"{draws}; the sum is a count of {' and '.join(found.counted_as)}: nothing bounds them together"
