"""Streams and prices that a ledger knows, each written down once."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

from sqlalchemy import Connection, insert, select

from deeprotect.errors import LedgerError, printable
from deeprotect.release.ledger.account import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import prices, streams
from deeprotect.release.ledger.history import PriceOf
from deeprotect.release.ledger.price import Price

_ENTERING = "deeprotect: names"


@dataclass(frozen=True)
class AccountEntry:
    """The numbers of a stream and a price, and the person whose limits count."""

    stream: int
    person: str
    price: int


def enter(database: Database, account: Account, price: Price) -> AccountEntry:
    """Look both up, or write them down; a stream stays with the person that it began with."""
    (entry,) = enter_all(database, [(account, price)])
    if isinstance(entry, LedgerError):
        raise entry
    return entry


def enter_all(database: Database, asked: Sequence[tuple[Account, Price]]) -> list[AccountEntry | LedgerError]:
    """The same for many in one transaction; an account that is refused leaves the others alone."""
    with database.writing(_ENTERING) as connection:
        price_number = cache(partial(_price, connection))
        return [_entry(database, connection, account, price=price_number(price)) for account, price in asked]


def _entry(database: Database, connection: Connection, account: Account, *, price: int) -> AccountEntry | LedgerError:
    stream, person = _stream(connection, account)
    if account.person in (None, person):
        return AccountEntry(stream, person, price)
    return LedgerError(
        f"{database.where}: stream '{printable(account.stream)}' belongs to '{printable(person)}' there; "
        "name the same person, or the stream otherwise"
    )


def prices_in(connection: Connection) -> PriceOf:
    """Prices by number, each read once."""
    known: dict[int, Price] = {}

    def price_of(number: int) -> Price:
        if number not in known:
            body = connection.execute(select(prices.c.body).where(prices.c.id == number)).scalar_one()
            known[number] = Price.from_json(body)
        return known[number]

    return price_of


def _stream(connection: Connection, account: Account) -> tuple[int, str]:
    asked = select(streams.c.id, streams.c.person).where(streams.c.name == account.stream)
    found = connection.execute(asked).one_or_none()
    if found is None:
        person = account.stream if account.person is None else account.person
        connection.execute(insert(streams).values(name=account.stream, person=person))
        found = connection.execute(asked).one()
    return found.id, found.person


def _price(connection: Connection, price: Price) -> int:
    body = price.to_json()
    digest = hashlib.sha256(body.encode("utf-8", "surrogatepass")).digest()
    asked = select(prices.c.id).where(prices.c.digest == digest)
    if connection.execute(asked).scalar() is None:
        connection.execute(insert(prices).values(digest=digest, body=body))
    return int(connection.execute(asked).scalar_one())
