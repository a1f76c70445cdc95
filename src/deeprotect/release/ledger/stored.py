"""A ledger in a database: every charge is one transaction, and outlives the process. docs/claims.md#the-ledger"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from deeprotect.errors import BudgetError, LedgerError
from deeprotect.privacy.accounting import Spending, totals
from deeprotect.release.ledger.account import Account
from deeprotect.release.ledger.accounts import AccountEntry, enter, enter_all, prices_in
from deeprotect.release.ledger.books import StoredBooks
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.history import StoredHistory, microseconds
from deeprotect.release.ledger.keys import source_of, spans_of
from deeprotect.release.ledger.ledger import Booking, Clock, DrawCounts, utc_now
from deeprotect.release.ledger.limits import Limits, Request, covered
from deeprotect.release.ledger.person_limits import enter_limits, is_entered, lock_of
from deeprotect.release.ledger.price import Price
from deeprotect.release.ledger.spans import Span
from deeprotect.signals.windows import Run

LOOSEN = "let the operator loosen it: deeprotect budget LEDGER --person NAME --limit {}=EPSILON"


class StoredLedger:
    """One account at one price. Many processes may hold the same one at once, and any of them may die at any point."""

    def __init__(
        self,
        database: Database,
        account: Account,
        price: Price,
        *,
        clock: Clock = utc_now,
        entry: AccountEntry | None = None,
    ) -> None:
        self._database, self._account, self._price, self._clock = database, account, price, clock
        self._source, self._entered = "", False
        self._entry = entry or enter(database, account, price)
        self.tally = DrawCounts()

    @classmethod
    def several(cls, database: Database, asked: Sequence[tuple[Account, Price]]) -> "list[StoredLedger | LedgerError]":
        """Many at once; an account that is refused leaves the others alone."""
        return [
            entry if isinstance(entry, LedgerError) else cls(database, account, price, entry=entry)
            for (account, price), entry in zip(asked, enter_all(database, asked), strict=True)
        ]

    @property
    def spending(self) -> Spending:
        return totals([(self._price.event, self.tally.paid)])

    def of_table(self, table: Any, columns: Sequence[str]) -> "StoredLedger":
        other = copy(self)
        other._source, other.tally = "\n".join((source_of(table), *columns)), DrawCounts()
        return other

    def of_session(self, session: str) -> "StoredLedger":
        """A ledger for a live session, under a name that lasts: its draws are known again after a restart."""
        other = copy(self)
        other._source, other.tally = f"session\n{session}", DrawCounts()
        return other

    @contextmanager
    def open(self, bookings: Sequence[Booking]) -> Iterator[StoredBooks]:
        """One transaction for draws of accounts in the same database; it is on disk when the block ends."""
        with self._database.writing(*(booking.ledger.lock for booking in bookings)) as connection:
            books = StoredBooks(connection, bookings)
            yield books
        for ledger, counts in books.tallies():
            ledger.tally += counts
            ledger._entered |= counts.charged > 0  # only now: what a failed transaction found is not there

    @property
    def person(self) -> str:
        return self._entry.person

    @property
    def lock(self) -> str:
        """Limits are the person's, so one charge at a time is looked at for each person."""
        return lock_of(self._entry.person)

    def spans(self, runs: Sequence[Run], count: int) -> list[Span]:
        """The keys of so many draws."""
        spans = spans_of(runs, self._entry.stream, self._account.app, self._price.bundle, self._source)
        if sum(map(len, spans)) != count:
            raise BudgetError("a ledger that remembers needs the number of each draw; give the windows' runs")
        return spans

    def room(self, connection: Connection, asked: int, held: Limits) -> tuple[int, datetime]:
        """How many of the draws may look at the data, and when that was looked up: under the lock, so that who waited
        is charged when the wait was over. The bundle's own limits hold for the person from now on."""
        now = self._clock()
        if not asked:
            return 0, now
        person, price, new = self._entry.person, self._price, self._states_new_limits(connection)
        held = price.limits.within(held) if new else replace(held, when_spent=price.limits.when_spent)
        history = StoredHistory(connection, person, price_of=prices_in(connection))
        room = covered(held, Request(person, asked, price.epsilon, now, LOOSEN), history)
        if new and room:
            enter_limits(connection, person, held, price=self._entry.price, now=now)
        return room, now

    def _states_new_limits(self, connection: Connection) -> bool:
        """Whether the price has limits that the person's were never held against."""
        if self._entered or not self._price.limits.epsilons:
            return False
        return not is_entered(connection, self._entry.person, self._entry.price)

    def row(self, span: Span, *, paid: bool, now: datetime) -> dict[str, Any]:
        """A charge as the database keeps it."""
        return {
            "stream": span.stream,
            "app": self._account.app,
            "price": self._entry.price,
            "key": span.key,
            "first": span.first,
            "draws": len(span),
            "paid": int(paid),
            "at": microseconds(now),
        }
