"""The tables of a stored ledger, and those of earlier versions brought up to date.

Rows are added and read, never changed or removed; the version is, and totals are added to.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    case,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from deeprotect.errors import LedgerError
from deeprotect.release.ledger.limits import Limits
from deeprotect.release.ledger.price import Price

VERSION = 3
LONGEST_RUN = 4096
"""Draws in one row at most, so that rows that may touch a key are found in a bounded part of an index."""

_tables = MetaData()
_Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself in a column of this type only

ledger = Table("deeprotect_ledger", _tables, Column("version", Integer, nullable=False))

streams = Table(
    "deeprotect_streams",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("person", Text, nullable=False, index=True),
)

prices = Table(
    "deeprotect_prices",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("body", Text, nullable=False),  # event, ε counted for one draw, bundle, limits; JSON
)

charges = Table(
    "deeprotect_charges",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("stream", _Id, ForeignKey(streams.c.id), nullable=False),
    Column("app", Text, nullable=False),
    Column("price", _Id, ForeignKey(prices.c.id), nullable=False),
    Column("key", LargeBinary, nullable=False),  # of app, bundle, source and recording
    Column("first", BigInteger, nullable=False),  # draw of that recording, and how many from it on
    Column("draws", Integer, nullable=False),
    Column("paid", SmallInteger, nullable=False),  # 1: looks at the data; 0: a placeholder, which costs nothing
    Column("at", BigInteger, nullable=False),  # microseconds of UTC since 1970
    UniqueConstraint("stream", "key", "first"),
)
Index("deeprotect_spent", charges.c.stream, charges.c.at, charges.c.paid, charges.c.price, charges.c.draws)

totals = Table(
    "deeprotect_totals",
    _tables,
    Column("stream", _Id, ForeignKey(streams.c.id), primary_key=True),
    Column("app", Text, primary_key=True),
    Column("price", _Id, ForeignKey(prices.c.id), primary_key=True),
    Column("draws", BigInteger, nullable=False),  # that were paid, of all charges so far,
    Column("placeholders", BigInteger, nullable=False),  # and those that were not
    Column("last", BigInteger, nullable=False),  # when the newest of these charges was made
)

draws = Table(
    "deeprotect_draws",
    _tables,
    Column("charge", _Id, ForeignKey(charges.c.id), primary_key=True),  # nothing is kept, or leaves, without its charge
    Column("first", BigInteger, primary_key=True),
    Column("draws", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

limits = Table(
    "deeprotect_limits",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("person", Text, nullable=False),
    Column("price", _Id, ForeignKey(prices.c.id)),  # of the bundle that tightened them; none: the operator's word
    Column("per_hour", Text),  # ε as a fraction, from then on; none: no limit
    Column("per_day", Text),
    Column("in_all", Text),
    Column("at", BigInteger, nullable=False),
)
Index("deeprotect_held", limits.c.person, limits.c.id)


def create(connection: Connection) -> None:
    """Make the tables where there are none; the caller holds a lock, so that one of many does it."""
    if not inspect(connection).has_table(ledger.name):
        _tables.create_all(connection, checkfirst=False)
        connection.execute(insert(ledger).values(version=VERSION))


def version_of(connection: Connection) -> int | None:
    return connection.execute(select(ledger.c.version)).scalar()


def check(connection: Connection, where: str) -> None:
    """Refuse what is no ledger, or one that a later version wrote."""
    if not inspect(connection).has_table(ledger.name):
        raise LedgerError(f"{where}: not a ledger of DEEProtect; give one that `deeprotect protect --ledger` made")
    version = version_of(connection)
    if version is None or not 1 <= version <= VERSION:
        raise LedgerError(f"{where}: its version {version} is not the one this program knows ({VERSION}); upgrade")


def add_up(connection: Connection, charged: Iterable[Mapping[str, Any]]) -> None:
    """What rows of charges add to the totals, in the transaction that adds them."""
    added: dict[tuple[int, str, int], dict[str, int]] = {}
    for row in charged:
        sums = added.setdefault((row["stream"], row["app"], row["price"]), {"draws": 0, "placeholders": 0, "last": 0})
        sums["draws" if row["paid"] else "placeholders"] += row["draws"]
        sums["last"] = max(sums["last"], row["at"])
    upsert: Any = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(totals)
    both = {name: totals.c[name] + upsert.excluded[name] for name in ("draws", "placeholders")}
    newest = case((totals.c.last > upsert.excluded.last, totals.c.last), else_=upsert.excluded.last)
    upsert = upsert.on_conflict_do_update(index_elements=totals.primary_key.columns, set_={**both, "last": newest})
    rows = [dict(zip(("stream", "app", "price"), who, strict=True)) | sums for who, sums in added.items()]
    connection.execute(upsert, rows)


def upgrade(connection: Connection) -> None:
    """Add what this version keeps, version by version; the caller holds a lock, so that one of many does it."""
    version = version_of(connection)
    if version == 1:
        limits.create(connection)
        _enter_limits(connection)
    if version != VERSION:
        totals.create(connection)
        connection.execute(insert(totals).from_select([column.name for column in totals.columns], _summed()))
        connection.execute(update(ledger).values(version=VERSION))


def _enter_limits(connection: Connection) -> None:
    """Version 2 keeps the limits of people: the tightest that was charged for each of them."""
    charged = (
        select(streams.c.person, charges.c.price, prices.c.body, func.max(charges.c.at).label("at"))
        .select_from(charges.join(streams).join(prices))
        .group_by(streams.c.person, charges.c.price, prices.c.body)
        .order_by(func.min(charges.c.id))
    )
    held: defaultdict[str, Limits] = defaultdict(Limits)
    for person, price, body, at in connection.execute(charged).all():
        stated = Price.from_json(body).limits
        if stated.epsilons:
            held[person] = stated.within(held[person])
            connection.execute(insert(limits).values(person=person, price=price, at=at, **held[person].columns()))


def _summed() -> Select[Any]:
    """Version 3 keeps running totals: what all charges add up to."""
    who, row = (charges.c.stream, charges.c.app, charges.c.price), charges.c
    paid = func.sum(row.draws * row.paid)
    return select(*who, paid, func.sum(row.draws) - paid, func.max(row.at)).group_by(*who)
