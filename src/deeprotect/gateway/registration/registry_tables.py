"""Database tables of the registry, in the ledger's database: devices, apps, links, halts, events."""

import sqlalchemy as sa

_tables = sa.MetaData()
_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")

devices = sa.Table(
    "deeprotect_devices",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("stream", sa.Text, nullable=False),  # the stream's name in the ledger
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("sensors", sa.Text, nullable=False),  # how to read its wire format; JSON
    sa.Column("created", sa.BigInteger, nullable=False),  # microseconds of UTC since 1970
    sa.Column("revoked", sa.BigInteger),
    sa.Column("until", sa.BigInteger),  # its end, after a rotation
)

apps = sa.Table(
    "deeprotect_apps",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("stream", sa.Text, nullable=False),
    sa.Column("bundle", sa.Text, nullable=False),  # by the name under which the gateway serves it
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("push", sa.Text),  # address for released messages
    sa.Column("epsilon", sa.Text),  # chosen per app in earlier versions; no valid row has them
    sa.Column("every", sa.Integer),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("revoked", sa.BigInteger),
    sa.Column("form", sa.Text),  # default form of its windows
    sa.Column("until", sa.BigInteger),
)

admins = sa.Table(
    "deeprotect_admins",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("created", sa.BigInteger, nullable=False),
)

links = sa.Table(
    "deeprotect_links",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),  # person: the page of one; metrics: what Prometheus reads
    sa.Column("name", sa.Text, nullable=False),  # the person's
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("revoked", sa.BigInteger),
)

halts = sa.Table(
    "deeprotect_halts",
    _tables,
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("stopped", sa.Integer, nullable=False),  # 1: for good; 0: a pause
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger),
)
"""People for whom nothing is drawn."""

served = sa.Table(
    "deeprotect_served",
    _tables,
    sa.Column("gateway", sa.Text, primary_key=True),  # its address; several gateways may share a database
    sa.Column("bundle", sa.Text, primary_key=True),
)

channels = sa.Table(
    "deeprotect_served_channels",
    _tables,
    sa.Column("gateway", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, primary_key=True),
)
"""Channels of all bundles that a gateway serves, for which a device may state places."""

events = sa.Table(
    "deeprotect_events",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("facts", sa.Text, nullable=False),  # JSON; never a sample or a token
)

registry = sa.Table("deeprotect_registry", _tables, sa.Column("changes", sa.BigInteger, nullable=False))
"""One row: the number of changes to the registry, so that readers know when to reread."""


def is_valid(table: sa.Table, now: int) -> sa.ColumnElement[bool]:
    """Condition: the token is valid at a moment; revoked ones never are."""
    ends = sa.or_(table.c.until.is_(None), table.c.until > now) if "until" in table.c else sa.true()
    return sa.and_(table.c.revoked.is_(None), ends)


def exists(connection: sa.Connection) -> bool:
    return sa.inspect(connection).has_table(registry.name)


def create(connection: sa.Connection, *, now: int) -> None:
    """Create the missing tables; the caller holds a lock."""
    if not exists(connection):
        _tables.create_all(connection, checkfirst=True)
        connection.execute(sa.insert(registry).values(changes=0))
    elif not sa.inspect(connection).has_table(links.name):
        _tables.create_all(connection, checkfirst=True)
        for table in (devices.name, apps.name):
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN until BIGINT")
        connection.exec_driver_sql(f"ALTER TABLE {apps.name} ADD COLUMN form TEXT")
        # Such an app received less than its bundle allows. Now it would receive more, so it receives nothing.
        chosen = sa.or_(apps.c.epsilon.is_not(None), apps.c.every.is_not(None))
        connection.execute(sa.update(apps).where(apps.c.revoked.is_(None), chosen).values(revoked=now))
    channels.create(connection, checkfirst=True)
