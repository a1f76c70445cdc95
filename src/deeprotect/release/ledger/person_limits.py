"""The limits that hold for a person, whichever bundle asks: a bundle may tighten them, only the operator loosens them.

A row is what holds from then on; the newest one counts. docs/claims.md#the-ledger
"""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select

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
    newest = select(*_STATED).where(limits.c.person == person).order_by(limits.c.id.desc()).limit(1)
    return _read(connection.execute(newest).one_or_none())


def limits_of_everybody(connection: Connection) -> dict[str, Limits]:
    newest = select(func.max(limits.c.id)).group_by(limits.c.person)
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


def _read(stated: Row[Any] | list[str | None] | None) -> Limits:
    named = zip(SPANS, stated or (), strict=stated is not None)
    return Limits(tuple((name, Fraction(epsilon)) for name, epsilon in named if epsilon is not None))
