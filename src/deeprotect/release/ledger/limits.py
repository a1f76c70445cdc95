"""The price of a draw, limits on the total of a person's draws, and the refusal when one is reached."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, Self

from deeprotect.bundle import Bundle
from deeprotect.errors import Argument, BudgetError, printable
from deeprotect.policy.sections import Budget, WhenSpent
from deeprotect.privacy.events import Event
from deeprotect.privacy.mechanisms.mechanism import Mechanism

SPANS = {"per_hour": timedelta(hours=1), "per_day": timedelta(days=1), "in_all": None}
LONGEST = max(span for span in SPANS.values() if span is not None)
_SHOWN = 10**6  # ε is shown to six decimals
DECIMALS = 9  # of a computed epsilon
Epsilon = Fraction | float
"""An exact fraction, or infinity, the only float, if unbounded."""
UNBOUNDED = math.inf


def exact(stated: float) -> Fraction:
    """A number exactly as written: ten draws of 0.1 are 1, unlike ten binary fractions near 0.1."""
    return Fraction(repr(float(stated)))


@dataclass(frozen=True)
class Limit:
    """At most `epsilon` in any `span`, which rolls: an hour ends now, not on the clock. Without a span: ever."""

    name: str
    epsilon: Fraction
    span: timedelta | None

    def since(self, now: datetime) -> datetime | None:
        """The time after which charges count; charges dated after `now`, by a clock set back, count as well."""
        return None if self.span is None else now - self.span


@dataclass(frozen=True)
class Limits:
    """Limits of a policy or of a person; missing names have no limit."""

    epsilons: tuple[tuple[str, Fraction], ...] = ()
    when_spent: WhenSpent = "refuse"

    @classmethod
    def of(cls, budget: Budget) -> Self:
        """A policy's limits, each number exactly as written."""
        return cls(tuple((name, exact(epsilon)) for name, epsilon in budget.limits.items()), budget.when_spent)

    def __iter__(self) -> Iterator[Limit]:
        return (Limit(name, epsilon, SPANS[name]) for name, epsilon in self.epsilons)

    def within(self, other: "Limits") -> "Limits":
        """The tighter limit for each span."""
        both = dict(other.epsilons)
        both |= {name: min(epsilon, both.get(name, epsilon)) for name, epsilon in self.epsilons}
        return Limits(tuple((name, both[name]) for name in SPANS if name in both), self.when_spent)

    def to_json(self) -> dict[str, str]:
        return {name: str(epsilon) for name, epsilon in self.epsilons} | {"when_spent": self.when_spent}

    @classmethod
    def from_json(cls, body: Mapping[str, str | None]) -> Self:
        """Read limits; missing ones, or None, mean no limit."""
        stated = ((name, body.get(name)) for name in SPANS)
        when_spent: Any = body.get("when_spent", "refuse")
        return cls(tuple((name, Fraction(epsilon)) for name, epsilon in stated if epsilon is not None), when_spent)

    def columns(self) -> dict[str, str | None]:
        """One column for each span, as in the table."""
        return dict.fromkeys(SPANS) | {name: str(epsilon) for name, epsilon in self.epsilons}


class SpendingHistory(Protocol):
    """The cost so far of a person's releases, or of a run; `loosen` says how to raise a limit."""

    @property
    def person(self) -> str: ...
    @property
    def loosen(self) -> str: ...
    def spent(self, since: datetime | None) -> Epsilon: ...
    def charges(self, since: datetime) -> Sequence[tuple[datetime, Epsilon]]:
        """Charges, oldest first."""
        ...


def covered(limits: Limits, draws: int, price: "Price", *, now: datetime, history: SpendingHistory) -> int:
    """The number of draws that all limits allow; raises if the policy wants all or nothing.

    Limits allow no draw without an LDP bound, unless the operator explicitly allowed it; then limits do not count it.
    """
    if price.epsilon == UNBOUNDED:
        if limits.epsilons and not price.allowed:
            raise _unbounded(limits, person=history.person)
        return draws
    spent = {limit: history.spent(limit.since(now)) for limit in limits}
    left = {limit: max(limit.epsilon - each, Fraction(0)) for limit, each in spent.items()}
    room = min((math.floor(each / price.epsilon) for each in left.values()), default=draws)
    if room < draws and limits.when_spent == "refuse":
        asked = Fraction(draws * price.epsilon)
        short = {limit: spent[limit] for limit, each in left.items() if each < asked}
        raise BudgetError(_refusal(short, draws, asked, now=now, history=history))
    return min(room, draws)


def _unbounded(limits: Limits, *, person: str) -> BudgetError:
    stated = ", ".join(f"{limit.name} = {up(limit.epsilon)}" for limit in limits)
    return BudgetError(
        f"a draw of this protector has no LDP bound, so no limit can count it, and '{printable(person)}' has {stated}; "
        "use a protector with one, or let the operator allow it: ",
        Argument("allow_without_ldp", value=True),
    )


def _refusal(
    short: dict[Limit, Epsilon], draws: int, asked: Fraction, *, now: datetime, history: SpendingHistory
) -> str:
    """A message about the limit that frees last; one that never frees comes last of all."""
    frees = {limit: _frees(limit, asked, now, history=history) for limit in short}
    limit = max(frees, key=lambda each: (frees[each] is None, frees[each] or now))
    when, spent, name = frees[limit], short[limit], printable(history.person)
    wanted = "1 draw" if draws == 1 else f"{draws} draws"
    if when is not None:
        fix = f"it frees at {moment(when)}: wait, release less"
    else:
        fix = "it never frees: release less" if limit.span is None else "that is never left at once: release less"
    return (
        f"'{name}' has spent ε = {up(spent)} of {limit.name} = {up(limit.epsilon)}; {wanted} "
        f"would cost ε = {up(asked)}; ε = {down(max(limit.epsilon - spent, Fraction(0)))} remains; {fix}, or "
        f"{history.loosen.format(limit.name)}"
    )


def _frees(limit: Limit, asked: Fraction, now: datetime, *, history: SpendingHistory) -> datetime | None:
    """When enough charges will have left the span; None if never."""
    since = limit.since(now)
    together: Epsilon = asked
    if limit.span is None or since is None or asked > limit.epsilon:
        return None
    for at, epsilon in reversed(history.charges(since)):
        together += epsilon
        if together > limit.epsilon:
            return at + limit.span
    return None


def moment(at: datetime) -> str:
    """UTC, rounded up to the second."""
    return f"{(at + timedelta(microseconds=999_999)).replace(microsecond=0):%Y-%m-%d %H:%M:%S} UTC"


def up(value: Epsilon) -> str:
    """For display, rounded up: spending is never understated."""
    return "∞" if value == UNBOUNDED else _text(math.ceil(value * _SHOWN))


def down(value: Epsilon) -> str:
    """For display, rounded down: the remainder is never overstated."""
    return _text(math.floor(value * _SHOWN))


def _text(parts: int) -> str:
    whole, rest = divmod(parts, _SHOWN)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Price:
    """The LDP ε of one draw, infinite without one, and the policy's limits.

    Only LDP adds up over draws of any bundles, whatever the event. `allowed`: the operator explicitly allowed draws
    without an LDP bound despite limits, which do not count them.
    """

    event: Event
    epsilon: Epsilon
    bundle: str = ""  # digest
    limits: Limits = field(default_factory=Limits)
    allowed: bool = False

    @classmethod
    def of(
        cls, mechanism: Mechanism, *, bundle: str = "", limits: Limits | None = None, allow_without_ldp: bool = False
    ) -> Self:
        """The price of a mechanism's draws."""
        epsilon = ldp_epsilon(mechanism)
        return cls(
            mechanism.event, epsilon, bundle, limits or Limits(), allowed=allow_without_ldp and epsilon == UNBOUNDED
        )

    @classmethod
    def of_bundle(cls, bundle: Bundle, *, allow_without_ldp: bool = False) -> Self:
        """The price of a bundle's draws, with its policy's limits."""
        stated = Limits.of(bundle.policy.privacy.budget)
        return cls.of(bundle.mechanism, bundle=bundle.digest, limits=stated, allow_without_ldp=allow_without_ldp)

    def cost(self, draws: int) -> Epsilon:
        """The cost of several draws together."""
        return self.epsilon * draws if draws else Fraction(0)

    def counted(self, draws: int) -> Epsilon:
        """The part of their cost that limits count."""
        return Fraction(0) if self.allowed else self.cost(draws)

    @property
    def counted_as(self) -> str:
        """What is added up, in words."""
        if self.epsilon != UNBOUNDED:
            return "ldp"
        return "no LDP bound, allowed" if self.allowed else "no LDP bound"

    def to_json(self) -> str:
        """A canonical text: the ledger stores each price once."""
        body = {
            "bundle": self.bundle,
            "event": self.event.to_json(),
            "epsilon": None if self.epsilon == UNBOUNDED else str(self.epsilon),
            "counted_as": self.counted_as,
            "limits": self.limits.to_json(),
        }
        return json.dumps(body, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse a price. Earlier versions counted draws without an LDP bound at another ε, which bounds nothing."""
        body: dict[str, Any] = json.loads(text)
        limits, counted = Limits.from_json(body["limits"]), body["counted_as"]
        epsilon = Fraction(body["epsilon"]) if counted == "ldp" else UNBOUNDED
        return cls(_event(body["event"], epsilon), epsilon, body["bundle"], limits, allowed=counted.endswith("allowed"))


def _event(stored: Mapping[str, Any], epsilon: Epsilon) -> Event:
    """Parse an event; for those of earlier versions, a "named" guarantee becomes the one that counts."""
    if stored["guarantee"] != "named":
        return Event(
            stored["guarantee"], stored["epsilon"], stored["per"], tuple(stored["inferences"]), stored["delta"]
        )
    if epsilon == UNBOUNDED:
        raise BudgetError(
            'the ledger has draws of an earlier version with guarantee = "named" and no LDP bound; keep it as a '
            "record, and begin a new ledger"
        )
    return Event("ldp", float(epsilon), stored["per"])


@lru_cache(maxsize=256)
def ldp_epsilon(mechanism: Mechanism) -> Epsilon:
    """LDP ε of one draw: stated, or derived from the mechanism's numbers and rounded up; infinite if there is none.

    Cached, because every request checks its ledger's price.
    """
    derived: float | None = mechanism.certificate()["ldp_epsilon"]
    if derived is None or not math.isfinite(derived):
        return UNBOUNDED
    if mechanism.event.guarantee == "ldp":
        return exact(mechanism.event.epsilon)
    return Fraction(math.ceil(Fraction(derived) * 10**DECIMALS), 10**DECIMALS)
