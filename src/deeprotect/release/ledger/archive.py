"""Removing old entries from a ledger: charges move into a file, draws are deleted. A draw is never repeated.

docs/claims.md#what-a-ledger-forgets
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, Row, delete, func, insert, select

from deeprotect.errors import InputError
from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, draws, quarters, streams
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now
from deeprotect.release.ledger.limits import LONGEST, UNBOUNDED
from deeprotect.release.ledger.people import PriceOf, prices_in
from deeprotect.tables.outputs import open_sink

LEAST = 2 * LONGEST  # always kept, because limits per hour and day need these charges
AT_ONCE = 2000  # rows in one transaction, so that others do not wait long
_LOCK = "deeprotect: archive"
_EXPORTED = pa.schema(
    [
        ("charge", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("person", pa.string()),
        ("stream", pa.string()),
        ("app", pa.string()),
        ("bundle", pa.string()),
        ("counted_as", pa.string()),
        ("epsilon", pa.string()),  # LDP of one draw as an exact fraction; null if unbounded
        ("draws", pa.int64()),
        ("paid", pa.bool_()),
        ("key", pa.string()),  # with the first number, identifies a draw
        ("first", pa.int64()),
    ]
)


def export_charges(
    database: Database, out: str | Path, *, before: datetime | None = None, newest: int | None = None
) -> int:
    """Write charges as a table, in order; returns their number."""
    written = 0
    with database.reading() as connection, open_sink(out, _EXPORTED) as sink:
        price_of = prices_in(connection)
        for rows in _walk(connection, before, newest):
            columns = zip(*(_exported(row, price_of) for row in rows), strict=True)
            arrays = [pa.array(each, kind) for each, kind in zip(columns, _EXPORTED.types, strict=True)]
            sink.write(pa.table(arrays, schema=_EXPORTED))
            written += len(rows)
    return written


def archive_charges(database: Database, out: str | Path, *, older_than: timedelta, clock: Clock = utc_now) -> int:
    """Move old charges into a file and, once it is on disk, out of the ledger, with their draws; totals stay.

    Each of their keys is closed up to the last draw, in the transaction that removes the charge.
    """
    before = clock() - check_age(older_than)
    if str(out) == "-" or Path(out).exists():
        raise InputError(f"{out}: archived charges need a new file; choose another name")
    with database.reading() as connection:
        newest = connection.execute(select(func.max(charges.c.id))).scalar() or 0
    count = export_charges(database, out, before=before, newest=newest)
    horizon = microseconds(before)
    with database.writing(_LOCK) as connection:  # first: from now on, clocks too far behind are refused
        connection.execute(insert(schema.archives).values(before=horizon, charges=count, at=microseconds(clock())))
    done = 0
    while (last := _take_out(database, horizon, after=done, newest=newest)) is not None:
        done = last
    with database.writing(_LOCK) as connection:
        connection.execute(delete(quarters).where(quarters.c.quarter < horizon // schema.QUARTER))
    return count


def forget_draws(database: Database, *, older_than: timedelta, clock: Clock = utc_now) -> int:
    """Remove old draws and close their keys, together; charges stay. Returns the number of rows."""
    horizon, removed = microseconds(clock() - check_age(older_than)), 0
    while (some := _forget(database, horizon)) > 0:
        removed += some
    return removed


def check_age(older_than: timedelta) -> timedelta:
    """Refuse an age that limits per hour and day still need."""
    if older_than < LEAST:
        raise InputError(f"limits look at the last day: keep {LEAST.days} days or more")
    return older_than


def _walk(connection: Connection, before: datetime | None, newest: int | None) -> Iterator[Sequence[Row[Any]]]:
    """Charges with their streams and people, in blocks; excludes those of the test account."""
    asked = select(charges, streams.c.person, streams.c.name).select_from(charges.join(streams))
    asked = asked.where(streams.c.name != schema.NOBODY).order_by(charges.c.id).limit(AT_ONCE)
    asked = asked if before is None else asked.where(charges.c.at < microseconds(before))
    asked = asked if newest is None else asked.where(charges.c.id <= newest)
    last = 0
    while rows := connection.execute(asked.where(charges.c.id > last)).all():
        yield rows
        last = rows[-1].id


def _exported(row: Row[Any], price_of: PriceOf) -> tuple[Any, ...]:
    price = price_of(row.price)
    who = (row.id, moment_of(row.at), row.person, row.name, row.app)
    epsilon = None if price.epsilon == UNBOUNDED else str(price.epsilon)
    what = (price.bundle, price.counted_as, epsilon, row.draws, bool(row.paid))
    return (*who, *what, bytes(row.key).hex(), row.first)


def _take_out(database: Database, horizon: int, *, after: int, newest: int) -> int | None:
    """Remove a block of charges; returns the number of the last one examined, None at the end."""
    row = charges.c
    with database.writing(_LOCK) as connection:
        some = select(charges).where(row.id > after, row.id <= newest, row.at < horizon).order_by(row.id).limit(AT_ONCE)
        found = connection.execute(some).all()
        if not found:
            return None
        _close(connection, found)
        numbers = [each.id for each in found]
        for table, number in ((draws, draws.c.charge), (charges, row.id)):
            connection.execute(delete(table).where(number.in_(numbers)))
        return int(numbers[-1])


def _forget(database: Database, horizon: int) -> int:
    """Remove the oldest draws if they are too old; returns their number, 0 if all are younger."""
    with database.writing(_LOCK) as connection:
        first = select(draws.c.charge).order_by(draws.c.charge).limit(AT_ONCE)
        found = connection.execute(select(charges).where(charges.c.id.in_(first), charges.c.at < horizon)).all()
        if found:
            _close(connection, found)
            connection.execute(delete(draws).where(draws.c.charge.in_([each.id for each in found])))
        return len(found)


def _close(connection: Connection, found: Sequence[Row[Any]]) -> None:
    last: dict[tuple[Any, ...], int] = {}
    for row in found:
        key = row.stream, bytes(row.key)
        last[key] = max(last.get(key, 0), row.first + row.draws - 1)
    schema.close(connection, last)
