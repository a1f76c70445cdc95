"""A statement of a ledger: each person's spending by promise, the remaining budget, and when more becomes free."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Any, Self

from sqlalchemy import ColumnElement, Connection, func, select, true

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import streams, totals
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now
from deeprotect.release.ledger.limits import SPANS, UNBOUNDED, Epsilon, Limit, Limits, Price
from deeprotect.release.ledger.people import later_than, limits_of, prices_in

SCHEMA = 3
_NAMES = {"per_hour": "hour", "per_day": "day", "in_all": "all"}


@dataclass(frozen=True)
class Spent:
    """Draws in one span of time and their ε, and when the oldest of them leaves that span; in the total none ever does.

    counted: the ε that limits count.
    """

    epsilon: Epsilon = Fraction(0)
    counted: Epsilon = Fraction(0)
    draws: int = 0
    oldest: datetime | None = None

    @classmethod
    def of(cls, price: Price, draws: int, oldest: datetime | None) -> Self:
        return cls(price.cost(draws), price.counted(draws), draws, oldest)

    def __add__(self, other: "Spent") -> "Spent":
        known = [each.oldest for each in (self, other) if each.oldest is not None]
        together = (self.epsilon + other.epsilon, self.counted + other.counted, self.draws + other.draws)
        return Spent(*together, min(known, default=None))

    def frees(self, span: timedelta | None) -> datetime | None:
        return None if span is None or self.oldest is None else self.oldest + span


@dataclass(frozen=True)
class Line:
    """Draws of one stream for one app at one price."""

    person: str
    stream: str
    app: str
    price: Price
    draws: int
    placeholders: int
    spent: dict[str, Spent]  # by the limit's name
    last: datetime


@dataclass(frozen=True)
class Person:
    """All releases about one person, to any app: what colluding apps know together."""

    name: str
    lines: tuple[Line, ...]
    shown: tuple[Line, ...]
    limits: Limits = field(default_factory=Limits)  # for all releases about them

    @property
    def draws(self) -> int:
        return sum(line.draws for line in self.lines)

    @property
    def counted_as(self) -> tuple[str, ...]:
        """The kinds of cost that were added up: LDP, or none."""
        return tuple(sorted({line.price.counted_as for line in self.lines if line.draws}))

    @property
    def unbounded(self) -> int:
        """Draws without an LDP bound: a single one makes the total unbounded."""
        return sum(line.draws for line in self.lines if line.price.epsilon == UNBOUNDED)

    def spent(self, name: str, *, app: str | None = None) -> Spent:
        """Spending by the limit's name, of all apps or of one."""
        return sum((line.spent[name] for line in self.lines if app in (None, line.app)), Spent())

    @property
    def apps(self) -> tuple[str, ...]:
        return tuple(sorted({line.app for line in self.lines}))

    def left(self, limit: Limit) -> Fraction:
        return Fraction(max(limit.epsilon - self.spent(limit.name).counted, Fraction(0)))


@dataclass(frozen=True)
class Statement:
    """The content of a ledger, by person."""

    where: str
    at: datetime
    people: tuple[Person, ...]

    def only(self, **wanted: str | None) -> "Statement":
        """Lines of one stream, person or app; totals still cover all releases about the person."""
        names = {name: value for name, value in wanted.items() if value is not None}
        people = (
            replace(person, shown=tuple(line for line in person.lines if _is(line, names))) for person in self.people
        )
        return replace(self, people=tuple(person for person in people if person.shown or _is_new(person, names)))

    def to_json(self) -> dict[str, Any]:
        people = [_person_json(person) for person in self.people]
        return {"schema": SCHEMA, "ledger": self.where, "at": self.at.isoformat(), "people": people}


def statement(database: Database, *, people: Sequence[str] | None = None, clock: Clock = utc_now) -> Statement:
    """The ledger's current state, of some people or of all, read at one moment."""
    with database.reading() as connection:
        now = clock()
        lines, limits = list(_lines(connection, people, now)), limits_of(connection, people)
    by_person: dict[str, list[Line]] = {name: [] for name in limits}
    for line in sorted(lines, key=lambda each: (each.person, each.stream, each.app, each.last)):
        by_person.setdefault(line.person, []).append(line)
    found = (
        Person(name, tuple(some), tuple(some), limits.get(name, Limits())) for name, some in sorted(by_person.items())
    )
    return Statement(database.where, now, tuple(found))


_Account = tuple[int, str, int]
"""Number of a stream, name of an app, number of a price."""


def _lines(connection: Connection, people: Sequence[str] | None, now: datetime) -> Iterator[Line]:
    """Lines from running totals and the few recent charges."""
    price_of, wanted = prices_in(connection), true() if people is None else streams.c.person.in_(people)
    recent = {name: _since(connection, wanted, now - span) for name, span in SPANS.items() if span is not None}
    sums = select(totals, streams.c.person, streams.c.name).select_from(totals.join(streams)).where(wanted)
    for each in connection.execute(sums).all():
        account, price = (each.stream, each.app, each.price), price_of(each.price)
        counts = {name: found.get(account, (0, None)) for name, found in recent.items()} | {
            "in_all": (each.draws, None)
        }
        spent = {name: Spent.of(price, draws, oldest) for name, (draws, oldest) in counts.items()}
        yield Line(each.person, each.name, each.app, price, each.draws, each.placeholders, spent, moment_of(each.last))


def _since(
    connection: Connection, wanted: ColumnElement[bool], moment: datetime
) -> dict[_Account, tuple[int, datetime]]:
    """Number of draws paid after a time, and the time of the first."""
    found: dict[_Account, tuple[int, datetime]] = {}
    live = select(totals.c.stream).join(streams).where(wanted, totals.c.last > microseconds(moment))
    for table, counts in later_than(microseconds(moment)):
        row = table.c
        asked = select(row.stream, row.app, row.price, func.sum(row.draws), func.min(row.at))
        asked = asked.where(row.stream.in_(live), counts).group_by(row.stream, row.app, row.price)
        for *who, draws, first in connection.execute(asked):
            known, oldest = found.get(tuple(who), (0, moment_of(first)))
            found[tuple(who)] = known + int(draws), min(oldest, moment_of(first))
    return found


def _is(line: Line, wanted: dict[str, str]) -> bool:
    return all(getattr(line, name) == value for name, value in wanted.items())


def _is_new(person: Person, wanted: dict[str, str]) -> bool:
    """Whether the person has limits but no charges yet."""
    return not person.lines and wanted in ({}, {"person": person.name})


def _person_json(person: Person) -> dict[str, Any]:
    return {
        "person": person.name,
        "draws": person.draws,
        "counted_as": list(person.counted_as),
        "draws_without_ldp": person.unbounded,
        "spent": _spent_json(person.spent),
        "limits": [_limit_json(limit, person) for limit in person.limits],
        "apps": [{"app": app, "spent": _spent_json(partial(person.spent, app=app))} for app in person.apps],
        "streams": [_line_json(line) for line in person.shown],
    }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "stream": line.stream,
        "app": line.app,
        "bundle": line.price.bundle,
        "event": line.price.event.to_json(),
        "epsilon": _number(line.price.epsilon),
        "counted_as": line.price.counted_as,
        "draws": line.draws,
        "placeholders": line.placeholders,
        "last": line.last.isoformat(),
        "spent": _spent_json(line.spent.__getitem__),
        "when_spent": line.price.limits.when_spent,
    }


def _limit_json(limit: Limit, person: Person) -> dict[str, Any]:
    frees = person.spent(limit.name).frees(limit.span)
    return {
        "limit": limit.name,
        "epsilon": float(limit.epsilon),
        "spent": _number(person.spent(limit.name).counted),
        "left": float(person.left(limit)),
        "frees_at": None if frees is None else frees.isoformat(),
    }


def _spent_json(spent: Callable[[str], Spent]) -> dict[str, float | None]:
    return {short: _number(spent(name).epsilon) for name, short in _NAMES.items()}


def _number(epsilon: Epsilon) -> float | None:
    return None if epsilon == UNBOUNDED else float(epsilon)
