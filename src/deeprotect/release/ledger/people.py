"""What a ledger in a database knows of people: the limits that hold for each, and what was spent of them.

A bundle may tighten a person's limits, only the operator loosens them. A row of limits is what holds from then on; the
newest one counts. docs/claims.md#the-ledger
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

from sqlalchemy import Connection, Select, func, insert, select

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, limits, prices, streams, totals
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now
from deeprotect.release.ledger.limits import SPANS, Limits
from deeprotect.release.ledger.price import Price

PriceOf = Callable[[int], Price]


def lock_of(person: str) -> str:
    """Under which a person's limits and charges are looked at and written, one after the other."""
    return f"deeprotect: person {person}"


def prices_in(connection: Connection) -> PriceOf:
    """Prices by number, each read once."""

    @cache
    def price_of(number: int) -> Price:
        return Price.from_json(connection.execute(select(prices.c.body).where(prices.c.id == number)).scalar_one())

    return price_of


@dataclass(frozen=True)
class StoredHistory:
    """The paid draws of one person over all streams and apps; inside one transaction. Sums are by price, and exact."""

    connection: Connection
    person: str
    loosen: ClassVar = "let the operator loosen it: deeprotect budget LEDGER --person NAME --limit {}=EPSILON"

    def spent(self, since: datetime | None) -> Fraction:
        """Of all time by the running totals, however many charges there are."""
        row = totals.c if since is None else charges.c
        counted = self._own(select(row.price, func.sum(row.draws)).group_by(row.price), since)
        price_of = prices_in(self.connection)
        rows = self.connection.execute(counted)
        return sum((price_of(price).epsilon * int(draws) for price, draws in rows.all()), Fraction(0))

    def charges(self, since: datetime) -> list[tuple[datetime, Fraction]]:
        row, price_of = charges.c, prices_in(self.connection)
        dated = self._own(select(row.at, row.price, row.draws).order_by(row.at), since)
        return [(moment_of(at), price_of(price).epsilon * n) for at, price, n in self.connection.execute(dated).all()]

    def _own(self, asked: Select[Any], since: datetime | None) -> Select[Any]:
        asked = asked.where(streams.c.person == self.person)
        if since is None:
            return asked.select_from(totals.join(streams))
        recent = (charges.c.paid == 1, charges.c.at > microseconds(since))
        return asked.select_from(charges.join(streams)).where(*recent)


def limits_of(connection: Connection, people: Collection[str] | None = None) -> dict[str, Limits]:
    """Those that hold now, of those people, or of all, who have any."""
    newest = select(func.max(limits.c.id)).group_by(limits.c.person)
    newest = newest if people is None else newest.where(limits.c.person.in_(people))
    rows = connection.execute(select(limits).where(limits.c.id.in_(newest))).mappings()
    return {row["person"]: Limits.from_json({name: row[name] for name in SPANS}) for row in rows}


def is_entered(connection: Connection, person: str, price: int) -> bool:
    """Whether a bundle's limits have been taken into account: once, so that what the operator says after it stands."""
    found = select(limits.c.id).where(limits.c.person == person, limits.c.price == price).limit(1)
    return connection.execute(found).one_or_none() is not None


def enter_limits(connection: Connection, person: str, held: Limits, *, price: int | None, now: datetime) -> None:
    """What holds from now on; without a price it is the operator's word. The caller holds the person's lock."""
    connection.execute(insert(limits).values(person=person, price=price, at=microseconds(now), **held.columns()))


def set_limits(
    database: Database, person: str, changes: Mapping[str, Fraction | None], *, clock: Clock = utc_now
) -> Limits:
    """The operator's own: each as it is said, None for no limit; what holds for the person from now on."""
    with database.writing(lock_of(person)) as connection:
        held = dict(limits_of(connection, [person]).get(person, Limits()).epsilons) | dict(changes)
        stated = Limits(tuple((name, epsilon) for name in SPANS if (epsilon := held.get(name)) is not None))
        enter_limits(connection, person, stated, price=None, now=clock())
    return stated
