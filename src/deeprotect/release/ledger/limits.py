"""What one draw is counted as, limits on what a person's draws add up to, and what to say when one is reached."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, Self

from deeprotect.bundle import Bundle
from deeprotect.errors import BudgetError, printable, quoted_all
from deeprotect.policy.sections import Budget, WhenSpent
from deeprotect.privacy.events import Event, Guarantee
from deeprotect.privacy.mechanisms.mechanism import Mechanism

SPANS = {"per_hour": timedelta(hours=1), "per_day": timedelta(days=1), "in_all": None}
LONGEST = max(span for span in SPANS.values() if span is not None)
_SHOWN = 10**6  # parts of ε that are shown: six decimals
DECIMALS = 9  # of an epsilon that nobody stated but that was worked out


def exact(stated: float) -> Fraction:
    """A number as it is written: ten draws of 0.1 are 1, and not what ten binary fractions near 0.1 make."""
    return Fraction(repr(float(stated)))


@dataclass(frozen=True)
class Limit:
    """At most `epsilon` in any `span`, which rolls: an hour ends now and not on the clock. No span: ever."""

    name: str
    epsilon: Fraction
    span: timedelta | None

    def since(self, now: datetime) -> datetime | None:
        """What was charged later than this counts; a charge dated after `now`, by a clock set back, does, too."""
        return None if self.span is None else now - self.span


@dataclass(frozen=True)
class Limits:
    """Limits of a policy or of a person; a name that is not there has no limit."""

    epsilons: tuple[tuple[str, Fraction], ...] = ()
    when_spent: WhenSpent = "refuse"

    @classmethod
    def of(cls, budget: Budget) -> Self:
        """As a policy states them, each number as it is written."""
        return cls(tuple((name, exact(epsilon)) for name, epsilon in budget.limits.items()), budget.when_spent)

    def __iter__(self) -> Iterator[Limit]:
        return (Limit(name, epsilon, SPANS[name]) for name, epsilon in self.epsilons)

    def within(self, other: "Limits") -> "Limits":
        """These and those of the other: of each span the tighter one."""
        both = dict(other.epsilons)
        both |= {name: min(epsilon, both.get(name, epsilon)) for name, epsilon in self.epsilons}
        return Limits(tuple((name, both[name]) for name in SPANS if name in both), self.when_spent)

    def to_json(self) -> dict[str, str]:
        return {name: str(epsilon) for name, epsilon in self.epsilons} | {"when_spent": self.when_spent}

    @classmethod
    def from_json(cls, body: Mapping[str, str | None]) -> Self:
        """What is not said, or None, is no limit."""
        stated = ((name, body.get(name)) for name in SPANS)
        when_spent: Any = body.get("when_spent", "refuse")
        return cls(tuple((name, Fraction(epsilon)) for name, epsilon in stated if epsilon is not None), when_spent)

    def columns(self) -> dict[str, str | None]:
        """One for each span, as a table keeps them."""
        return dict.fromkeys(SPANS) | {name: str(epsilon) for name, epsilon in self.epsilons}


class History(Protocol):
    """What the releases of a person, or of a run, have cost so far; `loosen` says how a limit is raised."""

    @property
    def person(self) -> str: ...
    @property
    def loosen(self) -> str: ...
    def spent(self, since: datetime | None) -> Fraction: ...
    def charges(self, since: datetime) -> Sequence[tuple[datetime, Fraction]]:
        """Oldest first."""
        ...


def covered(limits: Limits, draws: int, epsilon: Fraction, *, now: datetime, history: History) -> int:
    """How many draws of so much ε all limits leave room for; a refusal where the policy wants all or nothing."""
    left = {limit: limit.epsilon - history.spent(limit.since(now)) for limit in limits}
    room = min((max(0, math.floor(each / epsilon)) for each in left.values()), default=draws)
    if room < draws and limits.when_spent == "refuse":
        short = {limit: each for limit, each in left.items() if each < draws * epsilon}
        raise BudgetError(_refusal(short, draws, draws * epsilon, now=now, history=history))
    return min(room, draws)


def _refusal(short: dict[Limit, Fraction], draws: int, asked: Fraction, *, now: datetime, history: History) -> str:
    """The limit that frees last is the one to tell about: what is never free is later than any time."""
    frees = {limit: _frees(limit, asked - left, now, history=history) for limit, left in short.items()}
    limit = max(frees, key=lambda each: (frees[each] is None, frees[each] or now))
    when, left, name = frees[limit], short[limit], printable(history.person)
    if when is not None:
        fix = f"it frees at {moment(when)}: wait, release less"
    else:
        fix = "it never frees: release less" if limit.span is None else "that is never left at once: release less"
    return (
        f"'{name}' has spent ε = {up(limit.epsilon - left)} of {limit.name} = {up(limit.epsilon)}; {draws} "
        f"draws ask for {up(asked)}, and {down(max(left, Fraction(0)))} is left; {fix}, or "
        f"{history.loosen.format(limit.name)}"
    )


def _frees(limit: Limit, missing: Fraction, now: datetime, *, history: History) -> datetime | None:
    """When enough old charges will have left the span; None for never."""
    since = limit.since(now)
    if limit.span is None or since is None:
        return None
    for at, epsilon in history.charges(since):
        missing -= epsilon
        if missing <= 0:
            return at + limit.span
    return None


def moment(at: datetime) -> str:
    """To the second, which has not begun before it is true."""
    return f"{(at + timedelta(microseconds=999_999)).replace(microsecond=0):%Y-%m-%d %H:%M:%S} UTC"


def up(value: Fraction) -> str:
    """For people: what is spent is never shown as less than it is."""
    return _text(math.ceil(value * _SHOWN))


def down(value: Fraction) -> str:
    """For people: what is left is never shown as more than it is."""
    return _text(math.floor(value * _SHOWN))


def _text(parts: int) -> str:
    whole, rest = divmod(parts, _SHOWN)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Price:
    """ε of one draw, the guarantee under which such draws add up, and the limits that the policy sets.

    Counted is the strongest bound that adds up over draws: LDP where there is one, whatever the event is about. A named
    promise without it bounds nothing beyond one draw: its ε is then added up all the same, as a count and not a bound.
    """

    event: Event
    epsilon: Fraction
    counted_as: Guarantee
    bundle: str = ""  # digest
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, mechanism: Mechanism, *, bundle: str = "", limits: Limits | None = None) -> Self:
        """The price of a mechanism's draws."""
        return cls(mechanism.event, *counted_as(mechanism), bundle, limits or Limits())

    @classmethod
    def of_bundle(cls, bundle: Bundle) -> Self:
        """Of one draw, within the policy's limits."""
        return cls.of(bundle.mechanism, bundle=bundle.digest, limits=Limits.of(bundle.policy.privacy.budget))

    @property
    def counted(self) -> str:
        """What is added up, in words: ldp is about everything, other promises about the inferences that they name."""
        return "ldp" if self.counted_as == "ldp" else f"{self.counted_as} for {quoted_all(self.event.inferences, ', ')}"

    def to_json(self) -> str:
        """One text for one price: the ledger stores each once."""
        body = {
            "bundle": self.bundle,
            "event": self.event.to_json(),
            "epsilon": str(self.epsilon),
            "counted_as": self.counted_as,
            "limits": self.limits.to_json(),
        }
        return json.dumps(body, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        body: dict[str, Any] = json.loads(text)
        event = Event(**body["event"] | {"inferences": tuple(body["event"]["inferences"])})
        limits = Limits.from_json(body["limits"])
        return cls(event, Fraction(body["epsilon"]), body["counted_as"], body["bundle"], limits)


@lru_cache(maxsize=256)
def counted_as(mechanism: Mechanism) -> tuple[Fraction, Guarantee]:
    """ε of one draw, and what it is counted as; kept, for every request asks whether its ledger charges just that."""
    bound = _ldp_bound(mechanism)
    return (exact(mechanism.event.epsilon), mechanism.event.guarantee) if bound is None else (bound, "ldp")


def _ldp_bound(mechanism: Mechanism) -> Fraction | None:
    """ε-LDP of one draw: stated, or worked out from the mechanism's numbers and rounded up; None where none holds."""
    if mechanism.event.guarantee == "ldp":
        return exact(mechanism.event.epsilon)
    certificate = mechanism.certificate()
    if certificate.get("ldp_ceiling") is not None:
        return exact(certificate["ldp_ceiling"])
    derived: float | None = certificate["ldp_epsilon"]
    return None if derived is None else Fraction(math.ceil(Fraction(derived) * 10**DECIMALS), 10**DECIMALS)
