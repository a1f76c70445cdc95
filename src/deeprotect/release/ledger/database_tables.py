"""The tables of a stored ledger, and the upgrade from the previous version.

Releases only insert and read rows, and add to sums. Old rows may be removed (`archive.py`); their keys are then closed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from deeprotect.errors import LedgerError

VERSION, OLDEST = 4, 3  # written version, oldest readable version
QUARTER = 15 * 60 * 10**6  # microseconds; draws of the last hour and day are summed by quarter-hours
NOBODY = ""  # name of the test account; no stream or person can have it
LONGEST_RUN = 4096
"""Most draws in one row, so that the rows that may touch a key lie in a bounded part of an index."""

_tables = sa.MetaData()
_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite assigns numbers only in columns of this type

ledger = sa.Table("deeprotect_ledger", _tables, sa.Column("version", sa.Integer, nullable=False))

streams = sa.Table(
    "deeprotect_streams",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("person", sa.Text, nullable=False, index=True),
)

prices = sa.Table(
    "deeprotect_prices",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("body", sa.Text, nullable=False),  # event, ε counted for one draw, bundle, limits; JSON
)

charges = sa.Table(
    "deeprotect_charges",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("stream", _Id, sa.ForeignKey(streams.c.id), nullable=False),
    sa.Column("app", sa.Text, nullable=False),
    sa.Column("price", _Id, sa.ForeignKey(prices.c.id), nullable=False),
    sa.Column("key", sa.LargeBinary, nullable=False),  # hash of app, bundle, source and recording
    sa.Column("first", sa.BigInteger, nullable=False),  # first draw of that recording; `count` follow
    sa.Column("draws", sa.Integer, nullable=False),
    sa.Column("paid", sa.SmallInteger, nullable=False),  # 1: looks at the data; 0: a placeholder, which costs nothing
    sa.Column("at", sa.BigInteger, nullable=False),  # microseconds of UTC since 1970
    sa.UniqueConstraint("stream", "key", "first"),
)
sa.Index("deeprotect_spent", charges.c.stream, charges.c.at, charges.c.paid, charges.c.price, charges.c.draws)

totals = sa.Table(
    "deeprotect_totals",
    _tables,
    sa.Column("stream", _Id, sa.ForeignKey(streams.c.id), primary_key=True),
    sa.Column("app", sa.Text, primary_key=True),
    sa.Column("price", _Id, sa.ForeignKey(prices.c.id), primary_key=True),
    sa.Column("draws", sa.BigInteger, nullable=False),  # paid draws of all charges so far
    sa.Column("placeholders", sa.BigInteger, nullable=False),  # unpaid draws
    sa.Column("last", sa.BigInteger, nullable=False),  # time of the newest of these charges
)

quarters = sa.Table(
    "deeprotect_quarters",
    _tables,
    sa.Column("stream", _Id, sa.ForeignKey(streams.c.id), primary_key=True),
    sa.Column("quarter", sa.BigInteger, primary_key=True),  # quarter-hour since 1970
    sa.Column("app", sa.Text, primary_key=True),
    sa.Column("price", _Id, sa.ForeignKey(prices.c.id), primary_key=True),
    sa.Column("draws", sa.BigInteger, nullable=False),  # paid in it
    sa.Column("at", sa.BigInteger, nullable=False),  # time of the oldest of these charges
)

closed = sa.Table(
    "deeprotect_closed",
    _tables,
    sa.Column("stream", _Id, sa.ForeignKey(streams.c.id), primary_key=True),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("last", sa.BigInteger, nullable=False),  # no draw up to this number is made again
)

archives = sa.Table(
    "deeprotect_archives",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("before", sa.BigInteger, nullable=False),  # earlier charges were archived
    sa.Column("charges", sa.BigInteger, nullable=False),  # number of archived charges
    sa.Column("at", sa.BigInteger, nullable=False),
)

draws = sa.Table(
    "deeprotect_draws",
    _tables,
    sa.Column("charge", _Id, sa.ForeignKey(charges.c.id), primary_key=True),  # no draw is stored or released without it
    sa.Column("first", sa.BigInteger, primary_key=True),
    sa.Column("draws", sa.Integer, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

limits = sa.Table(
    "deeprotect_limits",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("price", _Id, sa.ForeignKey(prices.c.id)),  # of the bundle that tightened them; none: set by the operator
    sa.Column("per_hour", sa.Text),  # ε as a fraction; none: no limit
    sa.Column("per_day", sa.Text),
    sa.Column("in_all", sa.Text),
    sa.Column("at", sa.BigInteger, nullable=False),
)
sa.Index("deeprotect_held", limits.c.person, limits.c.id)


def create(connection: sa.Connection) -> None:
    """Create missing tables; the caller holds a lock, so that one of many processes does it."""
    if not sa.inspect(connection).has_table(ledger.name):
        _tables.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(ledger).values(version=VERSION))


def version_of(connection: sa.Connection) -> int | None:
    return connection.execute(sa.select(ledger.c.version)).scalar()


def check(connection: sa.Connection, where: str) -> None:
    """Refuse other databases, and versions that are too new or too old."""
    if not sa.inspect(connection).has_table(ledger.name):
        raise LedgerError(f"{where}: not a ledger of DEEProtect; give one that `deeprotect protect --ledger` made")
    version = version_of(connection)
    if version is not None and 1 <= version < OLDEST:
        raise LedgerError(
            f"{where}: its format {version} was never part of a release and is not read; begin a new ledger, or open "
            "it with the version that made it"
        )
    if version is None or not OLDEST <= version <= VERSION:
        raise LedgerError(f"{where}: its version {version} is not the one this program knows ({VERSION}); upgrade")


def add_up(connection: sa.Connection, charged: Iterable[Mapping[str, Any]]) -> None:
    """Add rows of charges to the totals and quarter-hours, in the same transaction."""
    sums: dict[tuple[Any, ...], dict[str, int]] = {}
    recent: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in charged:
        who = row["stream"], row["app"], row["price"]
        all_of = sums.setdefault(who, {"draws": 0, "placeholders": 0, "last": 0})
        all_of["draws" if row["paid"] else "placeholders"] += row["draws"]
        all_of["last"] = max(all_of["last"], row["at"])
        if row["paid"]:
            now = recent.setdefault((*who, row["at"] // QUARTER), {"draws": 0, "at": row["at"]})
            now |= {"draws": now["draws"] + row["draws"], "at": min(now["at"], row["at"])}
    _merge(connection, totals, ("stream", "app", "price"), sums)
    _merge(connection, quarters, ("stream", "app", "price", "quarter"), recent)


def close(connection: sa.Connection, last: Mapping[tuple[Any, ...], int]) -> None:
    """Close keys: no draw up to the given number is made for a stream and key again."""
    _merge(connection, closed, ("stream", "key"), {who: {"last": number} for who, number in last.items()})


def _merge(
    connection: sa.Connection, table: sa.Table, names: tuple[str, ...], rows: Mapping[tuple[Any, ...], dict[str, int]]
) -> None:
    """Upsert: counts are added, times and numbers become the last, or the first."""
    if not rows:
        return
    upsert: Any = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)
    both = {}
    for name in next(iter(rows.values())):
        old, new = table.c[name], upsert.excluded[name]
        either = {"last": old > new, "at": old < new}.get(name)
        both[name] = old + new if either is None else sa.case((either, old), else_=new)
    upsert = upsert.on_conflict_do_update(index_elements=table.primary_key.columns, set_=both)
    connection.execute(upsert, [dict(zip(names, who, strict=True)) | values for who, values in rows.items()])


def upgrade(connection: sa.Connection) -> None:
    """Upgrade to this version; the caller holds a lock, so that one of many processes does it."""
    if version_of(connection) == VERSION:
        return
    for table in (quarters, closed, archives):
        table.create(connection)
    names = [column.name for column in quarters.columns]
    connection.execute(sa.insert(quarters).from_select(names, _by_quarter()))
    connection.execute(sa.update(ledger).values(version=VERSION))


def _by_quarter() -> sa.Select[Any]:
    """Payments by quarter-hour, which version 4 stores and version 3 did not."""
    row, quarter = charges.c, (charges.c.at - charges.c.at % QUARTER) / QUARTER
    by = (row.stream, sa.cast(quarter, sa.BigInteger), row.app, row.price)
    return sa.select(*by, sa.func.sum(row.draws), sa.func.min(row.at)).where(row.paid == 1).group_by(*by)
