"""People in a database ledger: each person's limits and spending.

A bundle may tighten a person's limits, only the operator loosens them. Limits are stored as rows, of which the newest
holds. docs/claims.md#the-ledger
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import ClassVar, TypeVar

from sqlalchemy import ColumnElement, Connection, FromClause, func, insert, select, true

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import QUARTER, charges, limits, prices, quarters, streams, totals
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now
from deeprotect.release.ledger.limits import SPANS, Epsilon, Limits, Price

PriceOf = Callable[[int], Price]
Some = TypeVar("Some")
AT_ONCE = 500  # keys, charges or people in one query


def parts(items: Sequence[Some]) -> Iterator[Sequence[Some]]:
    """Split into parts of the size of one query."""
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))


def lock_of(person: str) -> str:
    """The lock for reading and writing a person's limits and charges."""
    return f"deeprotect: person {person}"


def prices_in(connection: Connection) -> PriceOf:
    """Prices by number, each read once."""

    @cache
    def price_of(number: int) -> Price:
        return Price.from_json(connection.execute(select(prices.c.body).where(prices.c.id == number)).scalar_one())

    return price_of


def later_than(at: int) -> tuple[tuple[FromClause, ColumnElement[bool]], ...]:
    """Payments after a time: complete quarter-hours, and single charges of the quarter that contains it."""
    quarter, row = at // QUARTER, charges.c
    own = (row.paid == 1) & (row.at > at) & (row.at < (quarter + 1) * QUARTER)
    return (quarters, quarters.c.quarter > quarter), (charges, own)


def spent_by(connection: Connection, people: Collection[str], since: datetime | None) -> dict[str, Epsilon]:
    """The counted cost of each person's draws over all streams and apps, in one query for many; sums are exact.

    It comes from running totals, however many charges there are.
    """
    spent, price_of = defaultdict[str, Epsilon](Fraction), prices_in(connection)
    for table, counts in ((totals, true()),) if since is None else later_than(microseconds(since)):
        who = (streams.c.person, table.c.price)
        asked = select(*who, func.sum(table.c.draws)).select_from(table.join(streams)).where(counts).group_by(*who)
        for part in parts(list(people)):
            for person, price, draws in connection.execute(asked.where(streams.c.person.in_(part))).all():
                spent[person] += price_of(price).counted(int(draws))
    return spent


@dataclass(frozen=True)
class StoredHistory:
    """The cost of one person's releases; within one transaction, in which `spent_by_all` is queried once per limit."""

    connection: Connection
    person: str
    spent_by_all: Callable[[datetime | None], Mapping[str, Epsilon]]
    loosen: ClassVar = "let the operator loosen it: deeprotect budget limit LEDGER PERSON {}=EPSILON"

    def spent(self, since: datetime | None) -> Epsilon:
        return self.spent_by_all(since).get(self.person, Fraction(0))

    def charges(self, since: datetime) -> list[tuple[datetime, Epsilon]]:
        row, price_of = charges.c, prices_in(self.connection)
        own = (streams.c.person == self.person, row.paid == 1, row.at > microseconds(since))
        dated = select(row.at, row.price, row.draws).select_from(charges.join(streams)).where(*own).order_by(row.at)
        return [(moment_of(at), price_of(price).counted(n)) for at, price, n in self.connection.execute(dated).all()]


def limits_of(connection: Connection, people: Collection[str] | None = None) -> dict[str, Limits]:
    """Current limits of these people, or of all people who have any."""
    newest = select(func.max(limits.c.id)).group_by(limits.c.person)
    some = [newest] if people is None else [newest.where(limits.c.person.in_(part)) for part in parts(list(people))]
    asked = (select(limits).where(limits.c.id.in_(each)) for each in some)
    rows = (row for each in asked for row in connection.execute(each).mappings())
    return {row["person"]: Limits.from_json({name: row[name] for name in SPANS}) for row in rows}


def is_entered(connection: Connection, person: str, price: int) -> bool:
    """Whether a bundle's limits were applied: only once, so that the operator's later decision stands."""
    found = select(limits.c.id).where(limits.c.person == person, limits.c.price == price).limit(1)
    return connection.execute(found).one_or_none() is not None


def enter_limits(connection: Connection, person: str, held: Limits, *, price: int | None, now: datetime) -> None:
    """Store new limits; without a price they are the operator's. The caller holds the person's lock."""
    connection.execute(insert(limits).values(person=person, price=price, at=microseconds(now), **held.columns()))


def set_limits(
    database: Database, person: str, changes: Mapping[str, Fraction | None], *, clock: Clock = utc_now
) -> Limits:
    """Set the operator's limits, None for no limit; returns the person's limits."""
    with database.writing(lock_of(person)) as connection:
        held = dict(limits_of(connection, [person]).get(person, Limits()).epsilons) | dict(changes)
        stated = Limits(tuple((name, epsilon) for name in SPANS if (epsilon := held.get(name)) is not None))
        enter_limits(connection, person, stated, price=None, now=clock())
    return stated
