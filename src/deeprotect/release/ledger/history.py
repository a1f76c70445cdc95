"""What the ledger remembers of a person, as SQL: sums of draws by price, so that every total is exact."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from sqlalchemy import ColumnElement, Connection, func, select

from deeprotect.release.ledger.database_tables import charges, streams
from deeprotect.release.ledger.price import Price

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PriceOf = Callable[[int], Price]


def microseconds(at: datetime) -> int:
    """Whole ones since 1970, which every database keeps exactly."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def moment_of(stored: int) -> datetime:
    return _EPOCH + timedelta(microseconds=stored)


class StoredHistory:
    """The paid draws of one person over all streams and apps; inside one transaction."""

    def __init__(self, connection: Connection, person: str, *, price_of: PriceOf) -> None:
        self._connection, self._person, self._price_of = connection, person, price_of

    def spent(self, since: datetime | None) -> Fraction:
        counted = (
            select(charges.c.price, func.sum(charges.c.draws))
            .select_from(charges.join(streams))
            .where(self._counts, *self._later(since))
            .group_by(charges.c.price)
        )
        rows = self._connection.execute(counted).all()
        return sum((self._price_of(price).epsilon * int(draws) for price, draws in rows), Fraction(0))

    def charges(self, since: datetime) -> list[tuple[datetime, Fraction]]:
        dated = (
            select(charges.c.at, charges.c.price, charges.c.draws)
            .select_from(charges.join(streams))
            .where(self._counts, *self._later(since))
            .order_by(charges.c.at)
        )
        rows = self._connection.execute(dated).all()
        return [(moment_of(at), self._price_of(price).epsilon * draws) for at, price, draws in rows]

    @property
    def _counts(self) -> ColumnElement[bool]:
        return (streams.c.person == self._person) & (charges.c.paid == 1)

    @staticmethod
    def _later(since: datetime | None) -> list[ColumnElement[bool]]:
        return [] if since is None else [charges.c.at > microseconds(since)]
