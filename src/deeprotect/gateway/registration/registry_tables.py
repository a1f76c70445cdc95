"""Tables of the registry, beside the ledger's in one database: who may send, who may have what, who administers."""

from sqlalchemy import BigInteger, Column, Connection, Integer, LargeBinary, MetaData, Table, Text, insert, inspect

_tables = MetaData()
_Id = BigInteger().with_variant(Integer, "sqlite")

devices = Table(
    "deeprotect_devices",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("stream", Text, nullable=False),  # the ledger's name for what it sends
    Column("person", Text, nullable=False),
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("sensors", Text, nullable=False),  # how its wire format is read; JSON
    Column("created", BigInteger, nullable=False),  # microseconds of UTC since 1970
    Column("revoked", BigInteger),
)

apps = Table(
    "deeprotect_apps",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("stream", Text, nullable=False),
    Column("bundle", Text, nullable=False),  # by the name under which the gateway serves it
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("push", Text),  # where released messages are posted to
    Column("epsilon", Text),  # chosen below the bundle's; as it is written
    Column("every", Integer),  # windows that a draw is held for, chosen above the bundle's
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)

admins = Table(
    "deeprotect_admins",
    _tables,
    Column("id", _Id, primary_key=True),
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
)

registry = Table("deeprotect_registry", _tables, Column("changes", BigInteger, nullable=False))
"""One row: how often devices and apps were changed, so that who has read them can tell whether to read again."""


def create(connection: Connection) -> None:
    """Make the tables where there are none; the caller holds a lock."""
    if not inspect(connection).has_table(registry.name):
        _tables.create_all(connection, checkfirst=True)
        connection.execute(insert(registry).values(changes=0))
