"""Tables of the registry, beside the ledger's in one database: who sends, who gets what, who looks, what happened."""

import sqlalchemy as sa

_tables = sa.MetaData()
_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")

devices = sa.Table(
    "deeprotect_devices",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("stream", sa.Text, nullable=False),  # the ledger's name for what it sends
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("sensors", sa.Text, nullable=False),  # how its wire format is read; JSON
    sa.Column("created", sa.BigInteger, nullable=False),  # microseconds of UTC since 1970
    sa.Column("revoked", sa.BigInteger),
    sa.Column("until", sa.BigInteger),  # its end, where it was rotated and another took its place
)

apps = sa.Table(
    "deeprotect_apps",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("stream", sa.Text, nullable=False),
    sa.Column("bundle", sa.Text, nullable=False),  # by the name under which the gateway serves it
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("push", sa.Text),  # where released messages are posted to
    sa.Column("epsilon", sa.Text),  # earlier versions let these two be chosen for an app; no row that is valid has them
    sa.Column("every", sa.Integer),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("revoked", sa.BigInteger),
    sa.Column("form", sa.Text),  # in which it gets its windows, if it does not ask for another
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
    sa.Column("gateway", sa.Text, primary_key=True),  # where it listens: several may share a database
    sa.Column("bundle", sa.Text, primary_key=True),
)

channels = sa.Table(
    "deeprotect_served_channels",
    _tables,
    sa.Column("gateway", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, primary_key=True),
)
"""Of all bundles that a gateway serves: the names for which a device may say where it has them."""

events = sa.Table(
    "deeprotect_events",
    _tables,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("what", sa.Text, nullable=False),
    sa.Column("facts", sa.Text, nullable=False),  # JSON; never a sample or a token
)

registry = sa.Table("deeprotect_registry", _tables, sa.Column("changes", sa.BigInteger, nullable=False))
"""One row: how often devices and apps were changed, so that who has read them can tell whether to read again."""


def is_valid(table: sa.Table, now: int) -> sa.ColumnElement[bool]:
    """Rows whose token is good at a moment; what is revoked is so by every clock."""
    ends = sa.or_(table.c.until.is_(None), table.c.until > now) if "until" in table.c else sa.true()
    return sa.and_(table.c.revoked.is_(None), ends)


def exists(connection: sa.Connection) -> bool:
    return sa.inspect(connection).has_table(registry.name)


def create(connection: sa.Connection, *, now: int) -> None:
    """Make the tables that are missing; the caller holds a lock."""
    if not exists(connection):
        _tables.create_all(connection, checkfirst=True)
        connection.execute(sa.insert(registry).values(changes=0))
    elif not sa.inspect(connection).has_table(links.name):
        _tables.create_all(connection, checkfirst=True)
        for table in (devices.name, apps.name):
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN until BIGINT")
        connection.exec_driver_sql(f"ALTER TABLE {apps.name} ADD COLUMN form TEXT")
        # Such an app was given less than its bundle allows. Now it would be given more, so it is given nothing.
        chosen = sa.or_(apps.c.epsilon.is_not(None), apps.c.every.is_not(None))
        connection.execute(sa.update(apps).where(apps.c.revoked.is_(None), chosen).values(revoked=now))
    channels.create(connection, checkfirst=True)
