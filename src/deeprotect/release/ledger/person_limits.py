"""The limits that hold for a person, whichever bundle asks: a bundle may tighten them, only the operator loosens them.

A row is what holds from then on; the newest one counts. docs/claims.md#the-ledger
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from fractions import Fraction

from sqlalchemy import Connection, func, insert, select

from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import limits
from deeprotect.release.ledger.history import microseconds
from deeprotect.release.ledger.ledger import Clock, utc_now
from deeprotect.release.ledger.limits import SPANS, Limits

_STATED = [limits.c[name] for name in SPANS]


def lock_of(person: str) -> str:
    """Under which a person's limits and charges are looked at and written, one after the other."""
    return f"deeprotect: person {person}"


def limits_in(connection: Connection, person: str) -> Limits:
    """Those that hold now."""
    return limits_of(connection, [person]).get(person, Limits())


def limits_of(connection: Connection, people: Collection[str] | None = None) -> dict[str, Limits]:
    """Of those people, or of all, who have any."""
    newest = select(func.max(limits.c.id)).group_by(limits.c.person)
    newest = newest if people is None else newest.where(limits.c.person.in_(people))
    rows = connection.execute(select(limits.c.person, *_STATED).where(limits.c.id.in_(newest)))
    return {person: _read(stated) for person, *stated in rows}


def is_entered(connection: Connection, person: str, price: int) -> bool:
    """Whether a bundle's limits have been taken into account: once, so that what the operator says after it stands."""
    found = select(limits.c.id).where(limits.c.person == person, limits.c.price == price).limit(1)
    return connection.execute(found).one_or_none() is not None


def enter_limits(connection: Connection, person: str, held: Limits, *, price: int | None, now: datetime) -> None:
    """What holds from now on; without a price it is the operator's word. The caller holds the person's lock."""
    connection.execute(insert(limits).values(person=person, price=price, at=microseconds(now), **_written(held)))


def set_limits(
    database: Database, person: str, changes: Mapping[str, Fraction | None], *, clock: Clock = utc_now
) -> Limits:
    """The operator's own: each as it is said, None for no limit; what holds for the person from now on."""
    with database.writing(lock_of(person)) as connection:
        held = dict(limits_in(connection, person).epsilons) | dict(changes)
        stated = Limits(tuple((name, epsilon) for name in SPANS if (epsilon := held.get(name)) is not None))
        enter_limits(connection, person, stated, price=None, now=clock())
    return stated


def _written(held: Limits) -> dict[str, str | None]:
    return dict.fromkeys(SPANS) | {name: str(epsilon) for name, epsilon in held.epsilons}


def _read(stated: list[str | None]) -> Limits:
    named = zip(SPANS, stated, strict=True)
    return Limits(tuple((name, Fraction(epsilon)) for name, epsilon in named if epsilon is not None))
