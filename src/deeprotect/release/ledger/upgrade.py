"""A ledger that an earlier version wrote, brought up to date where it is opened: version by version."""

from collections import defaultdict

from sqlalchemy import Connection, func, insert, select, update

from deeprotect.release.ledger import database_tables as schema
from deeprotect.release.ledger.limits import SPANS, Limits
from deeprotect.release.ledger.price import Price


def upgrade(connection: Connection) -> None:
    """Add what this version keeps; the caller holds a lock, so that one of many does it."""
    if schema.version_of(connection) == 1:
        schema.limits.create(connection)
        _enter_limits(connection)
        connection.execute(update(schema.ledger).values(version=2))


def _enter_limits(connection: Connection) -> None:
    """Version 2 keeps the limits of people: the tightest that was charged for each of them."""
    charge = schema.charges.c
    charged = (
        select(schema.streams.c.person, charge.price, schema.prices.c.body, func.max(charge.at).label("at"))
        .select_from(schema.charges.join(schema.streams).join(schema.prices))
        .group_by(schema.streams.c.person, charge.price, schema.prices.c.body)
        .order_by(func.min(charge.id))
    )
    held: defaultdict[str, Limits] = defaultdict(Limits)
    for person, price, body, at in connection.execute(charged).all():
        stated = Price.from_json(body).limits
        if stated.epsilons:
            held[person] = stated.within(held[person])
            named = {name: str(epsilon) for name, epsilon in held[person].epsilons}
            row = dict.fromkeys(SPANS) | named | {"person": person, "price": price, "at": at}
            connection.execute(insert(schema.limits).values(**row))
