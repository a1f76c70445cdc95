"""The tables of a stored ledger: rows are added and read, never changed or removed, but for the version."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
)

from deeprotect.errors import LedgerError

VERSION = 2
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
