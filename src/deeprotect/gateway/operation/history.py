"""Per-minute counts of the last day, in the ledger's database: bounded, and surviving a restart.

Sums over all streams and people, without names. Each gateway writes its own rows; ε comes from the shared ledger.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from deeprotect.gateway.operation.health import Metrics
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges
from deeprotect.release.ledger.ledger import Clock, microseconds, utc_now
from deeprotect.release.ledger.limits import UNBOUNDED
from deeprotect.release.ledger.people import prices_in

MINUTE = 60 * 10**6  # microseconds
KEPT = 25 * 60  # minutes
MOST_UNWRITTEN = 120  # minutes kept while the database is unavailable
_LOCK = "deeprotect: history"
_STEP = 1024  # charges; the newest are searched in growing steps
_tables = sa.MetaData()
minutes = sa.Table(
    "deeprotect_history",
    _tables,
    sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),  # UTC minutes since 1970
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),  # of the gateway
    sa.Column("windows", sa.BigInteger, nullable=False),
    sa.Column("refused", sa.BigInteger, nullable=False),
    sa.Column("delay", sa.Float, nullable=False),  # seconds, the longest
)
spent = sa.Table(
    "deeprotect_history_spent",
    _tables,
    sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("epsilon", sa.Float, nullable=False),  # of all people's draws; for display only
)


@dataclass(frozen=True)
class Minute:
    """One minute of all gateways together."""

    number: int
    windows: int
    refused: int
    delay: float
    epsilon: float


class MinuteHistory:
    """History of one gateway; call `keep` about every second."""

    def __init__(self, database: Database, metrics: Metrics, *, place: int = 0, clock: Clock = utc_now) -> None:
        self._database, self._metrics, self._place, self._clock = database, metrics, place, clock
        self._minute, self._windows, self._refused = self._now(), metrics.released(), metrics.refused()
        self._unwritten: deque[dict[str, float]] = deque(maxlen=MOST_UNWRITTEN)
        with database.writing(_LOCK) as connection:
            if not sa.inspect(connection).has_table(minutes.name):
                _tables.create_all(connection)

    def keep(self, *, closing: bool = False) -> None:
        """Store the last complete minute; when closing, also the current one."""
        now = self._now()
        if now != self._minute or closing:
            self._unwritten.append(self._take())
            self._minute = now
        if self._unwritten:
            self._write(now)

    def _now(self) -> int:
        return microseconds(self._clock()) // MINUTE

    def _take(self) -> dict[str, float]:
        """Counts since the last call."""
        windows, refused = self._metrics.released(), self._metrics.refused()
        row = {"windows": windows - self._windows, "refused": refused - self._refused}
        self._windows, self._refused = windows, refused
        return {"minute": self._minute, "place": self._place, **row, "delay": self._metrics.take_longest()}

    def _write(self, now: int) -> None:
        """Add to the row of a gateway that ran in this place in the same minute."""
        with self._database.writing(_LOCK) as connection:
            for row in self._unwritten:
                named = sa.and_(minutes.c.minute == row["minute"], minutes.c.place == row["place"])
                before = connection.execute(sa.select(minutes).where(named)).one_or_none()
                if before is not None:
                    sums = {name: row[name] + getattr(before, name) for name in ("windows", "refused")}
                    row = row | sums | {"delay": max(row["delay"], before.delay)}
                    connection.execute(sa.delete(minutes).where(named))
                connection.execute(sa.insert(minutes).values(**row))
            # Charges of a minute may be committed a little later, so the last one is summed again.
            written = {int(row["minute"]) for row in self._unwritten}
            for minute in sorted(written | {each - 1 for each in written}):
                epsilon = _epsilon(connection, minute * MINUTE)
                connection.execute(sa.delete(spent).where(spent.c.minute == minute))
                connection.execute(sa.insert(spent).values(minute=minute, epsilon=epsilon))
            for table in (minutes, spent):
                old = sa.or_(table.c.minute < now - KEPT, table.c.minute > now + 1)
                connection.execute(sa.delete(table).where(old))
        self._unwritten.clear()


def read(database: Database, *, since: int) -> Sequence[Minute]:
    """Minutes in which a gateway ran, in order."""
    asked = (
        sa.select(
            minutes.c.minute,
            sa.func.sum(minutes.c.windows).label("windows"),
            sa.func.sum(minutes.c.refused).label("refused"),
            sa.func.max(minutes.c.delay).label("delay"),
            sa.func.coalesce(sa.func.max(spent.c.epsilon), 0.0).label("epsilon"),
        )
        .select_from(minutes.outerjoin(spent, spent.c.minute == minutes.c.minute))
        .where(minutes.c.minute >= since)
        .group_by(minutes.c.minute)
        .order_by(minutes.c.minute)
    )
    with database.reading() as connection:
        rows = connection.execute(asked).all()
    return [Minute(row.minute, int(row.windows), int(row.refused), row.delay, row.epsilon) for row in rows]


def _epsilon(connection: sa.Connection, start: int) -> float:
    """ε of all draws paid in a minute; those without an LDP bound add nothing.

    There is no index by time alone, but charges are numbered in order, so searching the newest is enough.
    """
    newest = connection.execute(sa.select(sa.func.max(charges.c.id))).scalar() or 0
    step, before = _STEP, newest
    while before > 0:
        before = max(0, newest - step)
        last = sa.select(charges.c.at).where(charges.c.id <= before).order_by(charges.c.id.desc()).limit(1)
        if (connection.execute(last).scalar() or 0) < start - MINUTE:
            break
        step *= 4
    asked = (
        sa.select(charges.c.price, sa.func.sum(charges.c.draws).label("draws"))
        .where(charges.c.id > before, charges.c.at >= start, charges.c.at < start + MINUTE, charges.c.paid == 1)
        .group_by(charges.c.price)
    )
    price_of = prices_in(connection)
    costs = (price_of(row.price).cost(int(row.draws)) for row in connection.execute(asked).all())
    return float(sum(cost for cost in costs if cost != UNBOUNDED))
