"""A ledger in a database: every charge is one transaction, and outlives the process. docs/claims.md#the-ledger"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Table, delete, func, insert, select

from deeprotect.errors import LedgerError, printable
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger.books import DrawPage, Places, StoredBooks
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import NOBODY, charges, draws, prices, streams
from deeprotect.release.ledger.ledger import Account, Booking, Clock, DrawCounts, Ledger, microseconds, utc_now
from deeprotect.release.ledger.limits import Limits, Price, covered
from deeprotect.release.ledger.people import StoredHistory, enter_limits, is_entered, lock_of
from deeprotect.signals import RecordingName
from deeprotect.tables.files import opened
from deeprotect.tables.sources import is_of_paths, paths_of

KEY_BYTES = 16
_ENTERING, _PROBING = "deeprotect: names", "deeprotect: probe"
_PROBE_BYTES = 8192  # two SQLite pages


@dataclass(frozen=True)
class Entry:
    """The numbers of a stream and a price, each stored once, and the person whose limits count."""

    stream: int
    person: str
    price: int


class StoredLedger(Ledger):
    """One account at one price. Many processes may use it at once, and any of them may die at any point."""

    def __init__(
        self, database: Database, account: Account, price: Price, *, clock: Clock = utc_now, entry: Entry | None = None
    ) -> None:
        super().__init__(price, clock)
        self._database, self._account, self._source, self._entered = database, account, "", False
        found = entry or _entries(database, [(account, price)])[0]
        if isinstance(found, LedgerError):
            raise found
        self._entry = found

    @classmethod
    def several(
        cls, database: Database, asked: Sequence[tuple[Account, Price]], *, clock: Clock = utc_now
    ) -> "list[StoredLedger | LedgerError]":
        """Open many accounts at once; a refused account does not affect the others."""
        entries = zip(asked, _entries(database, asked), strict=True)
        return [
            each if isinstance(each, LedgerError) else cls(database, *who, clock=clock, entry=each)
            for who, each in entries
        ]

    def of_table(self, table: Any, columns: Sequence[str]) -> "StoredLedger":
        return self._of("\n".join((_source_of(table), *columns)))

    @property
    def is_by_person(self) -> bool:
        """Whether people are charged separately: unless everything was declared to be one person's."""
        return self._account.person is None

    def of_person(self, person: str) -> "StoredLedger":
        """A person's part is a stream of its own, `walks/ann`, and counts among all that is theirs."""
        account = Account(f"{self._account.stream}/{person}", person, self._account.app)
        other = StoredLedger(self._database, account, self.price, clock=self._clock)
        other._source = self._source
        return other

    def of_session(self, session: str) -> "StoredLedger":
        """A ledger for a live session, under a lasting name, so that its draws are found after a restart."""
        return self._of(f"session\n{session}")

    def _of(self, source: str) -> "StoredLedger":
        other = copy(self)
        other._source, other.tally = source, DrawCounts()
        return other

    @contextmanager
    def open(self, bookings: Sequence[Booking]) -> Iterator[StoredBooks]:
        """One transaction for draws of accounts in the same database; it is on disk when the block ends."""
        if any(booking.ledger._database.engine.url != self._database.engine.url for booking in bookings):
            raise LedgerError("accounts of two ledgers cannot be charged at once; release for each ledger separately")
        with self._database.writing(*(booking.ledger.lock for booking in bookings)) as connection:
            # Read the clock under the lock, so that a charge is dated after any wait.
            books = StoredBooks(connection, bookings, now=self._clock())
            yield books
        for ledger, counts in books.tallies():
            ledger.tally += counts
            ledger._entered |= counts.charged > 0  # only now: a failed transaction stores nothing

    @property
    def person(self) -> str:
        return self._entry.person

    @property
    def lock(self) -> str:
        """Limits are the person's, so charges of each person are serialised."""
        return lock_of(self._entry.person)

    def key(self, recording: str | RecordingName) -> tuple[int, bytes]:
        """An idempotency key: repeated requests for one draw of a recording and source return the same draw."""
        return self._entry.stream, key_of(self._account.app, self.price.bundle, self._source, str(recording))

    def room(self, asked: int, held: Limits, *, now: datetime, history: StoredHistory) -> int:
        """How many of the draws may look at the data. The bundle's limits apply to the person from now on."""
        if not asked:
            return 0
        price, new = self.price, self._states_new_limits(history.connection)
        held = price.limits.within(held) if new else replace(held, when_spent=price.limits.when_spent)
        room = covered(held, asked, price, now=now, history=history)
        if new and room:
            enter_limits(history.connection, self.person, held, price=self._entry.price, now=now)
        return room

    def _states_new_limits(self, connection: Connection) -> bool:
        """Whether the price has limits that were not yet applied to the person."""
        if self._entered or not self.price.limits.epsilons:
            return False
        return not is_entered(connection, self._entry.person, self._entry.price)

    def row(self, page: DrawPage, places: Places, *, now: datetime) -> dict[str, Any]:
        """A database row for a charge of consecutive draws."""
        return {
            "stream": page.stream,
            "app": self._account.app,
            "price": self._entry.price,
            "key": page.key,
            "first": int(page.numbers[places[0]]),
            "draws": len(places),
            "paid": int(page.paid[places[0]]),
            "at": microseconds(now),
        }


class LaterLedger(Ledger):
    """A ledger in a file that is created by the first draw, so that a refused run leaves none behind."""

    def __init__(self, address: str, account: Account, price: Price) -> None:
        super().__init__(price, utc_now)
        self._address, self._account = address, account
        if not Path(address).absolute().parent.is_dir() and "://" not in address:
            raise LedgerError(f"{printable(address, 200)}: its folder does not exist; create it")

    @property
    def is_by_person(self) -> bool:
        return self._account.person is None

    @cached_property
    def made(self) -> StoredLedger:
        return StoredLedger(Database.existing_or_new(self._address), self._account, self.price)

    def of_table(self, table: Any, columns: Sequence[str]) -> StoredLedger:
        return self.made.of_table(table, columns)

    def open(self, bookings: Sequence[Booking]) -> AbstractContextManager[StoredBooks]:
        return self.made.open(bookings)


def key_of(*parts: str) -> bytes:
    """Hash parts with their lengths, so that different lists of parts never collide."""
    content = (part.encode("utf-8", "surrogatepass") for part in parts)
    joined = b"".join(len(part).to_bytes(8, "big") + part for part in content)
    return hashlib.sha256(joined).digest()[:KEY_BYTES]


def _source_of(table: Any) -> str:
    """A name for a table: a hash of its content for files; a new name each time for anything else.

    Not the file's name: tomorrow's data under today's name would get today's draws.
    """
    paths = paths_of(table) if is_of_paths(table) else ["-"]
    if "-" in paths:
        return SystemEntropy().words(2).tobytes().hex()
    return hashlib.sha256(b"".join(map(_content, paths))).hexdigest()


def _content(path: str) -> bytes:
    with opened(path) as stream:
        return hashlib.file_digest(cast("Any", stream), "sha256").digest()


def _entries(database: Database, asked: Sequence[tuple[Account, Price]]) -> list[Entry | LedgerError]:
    """Look up accounts and prices, or store them; a stream always belongs to its first person."""
    with database.writing(_ENTERING) as connection:
        price_number = cache(partial(_price, connection))
        return [_entry(database, connection, account, price=price_number(price)) for account, price in asked]


def _entry(database: Database, connection: Connection, account: Account, *, price: int) -> Entry | LedgerError:
    asked = select(streams.c.id, streams.c.person).where(streams.c.name == account.stream)
    if (found := connection.execute(asked).one_or_none()) is None:
        person = account.stream if account.person is None else account.person
        connection.execute(insert(streams).values(name=account.stream, person=person))
        found = connection.execute(asked).one()
    if account.person in (None, found.person):
        return Entry(found.id, found.person, price)
    return LedgerError(
        f"{database.where}: stream '{printable(account.stream)}' belongs to '{printable(found.person)}' there; "
        "name the same person, or the stream otherwise"
    )


def _price(connection: Connection, price: Price) -> int:
    body = price.to_json()
    digest = hashlib.sha256(body.encode("utf-8", "surrogatepass")).digest()
    return _number(connection, prices, digest=digest, body=body)


def pay(database: Database, *, clock: Clock = utc_now) -> None:
    """Pay for a draw of the test account and store it like any other, to check that the ledger works.

    It is on disk when this returns, and replaces the previous one, which is removed last; no total counts it. A draw
    fills pages of its own, so if there is no page left for others, there is none for it.
    """
    with database.writing(_PROBING) as connection:
        stream = _number(connection, streams, name=NOBODY, person=NOBODY)
        price = _number(connection, prices, digest=b"probe", body="{}")
        own, at = charges.c.stream == stream, microseconds(clock())
        before = connection.execute(select(charges.c.id).where(own)).scalars().all()
        number = connection.execute(select(func.coalesce(func.max(charges.c.first), 0) + 1).where(own)).scalar_one()
        row = {"stream": stream, "app": "", "price": price, "key": b"", "first": number, "draws": 1, "paid": 0}
        charge = connection.execute(insert(charges).values(**row, at=at).returning(charges.c.id)).scalar_one()
        connection.execute(insert(draws).values(charge=charge, first=number, draws=1, content=bytes(_PROBE_BYTES)))
        for table, one in ((draws, draws.c.charge), (charges, charges.c.id)):
            connection.execute(delete(table).where(one.in_(before)))


def _number(connection: Connection, table: Table, **row: object) -> int:
    """The number of a row that is stored once."""
    name, value = next(iter(row.items()))
    asked = select(table.c.id).where(table.c[name] == value)
    if (found := connection.execute(asked).scalar()) is None:
        connection.execute(insert(table).values(**row))
        found = connection.execute(asked).scalar_one()
    return int(found)
