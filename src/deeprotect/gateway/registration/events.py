"""Events for operators, newest first, in the database: the newest few thousand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select

from deeprotect.gateway.registration.registry_tables import events
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import microseconds, moment_of

MOST_KEPT = 10_000
CLOCK_CONFIRMED = "the clock was confirmed by the operator"
_LOCK = "deeprotect: events"


@dataclass(frozen=True)
class OperatorEvent:
    """An event; `facts` name streams, people and apps, never samples or tokens."""

    at: datetime
    what: str
    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"time": self.at.isoformat(timespec="milliseconds"), "event": self.what, **self.facts}


def record(connection: Connection, what: str, *, at: int, **facts: Any) -> None:
    """Record an event in the transaction that causes it; `at` in microseconds of UTC since 1970."""
    told = {name: value for name, value in facts.items() if value is not None}
    connection.execute(insert(events).values(at=at, what=what, facts=json.dumps(told, ensure_ascii=False)))


def keep(database: Database, happened: Sequence[OperatorEvent]) -> None:
    """Store events in one transaction, and remove the oldest."""
    if not happened:
        return
    with database.writing(_LOCK) as connection:
        for each in happened:
            record(connection, each.what, at=microseconds(each.at), **each.facts)
        newest = connection.execute(select(func.max(events.c.id))).scalar() or 0
        connection.execute(delete(events).where(events.c.id <= newest - MOST_KEPT))


def read(database: Database, *, most: int, skip: int = 0, about: str = "") -> Sequence[OperatorEvent]:
    """The newest events that contain a text."""
    asked = select(events).order_by(events.c.at.desc(), events.c.id.desc()).limit(most).offset(skip)
    if about:
        asked = asked.where(
            or_(*(column.icontains(about, autoescape=True) for column in (events.c.what, events.c.facts)))
        )
    with database.reading() as connection:
        return [OperatorEvent(moment_of(row.at), row.what, json.loads(row.facts)) for row in connection.execute(asked)]


def last(database: Database, what: str) -> int:
    """The number of the newest event of this kind; 0 if there is none."""
    with database.reading() as connection:
        return connection.execute(select(func.max(events.c.id)).where(events.c.what == what)).scalar() or 0
