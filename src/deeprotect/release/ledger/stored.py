"""A ledger in a database: every charge is one transaction, and outlives the process. docs/claims.md#the-ledger"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert

from deeprotect.errors import BudgetError, LedgerError
from deeprotect.privacy.accounting import Spending, totals
from deeprotect.release.ledger.account import Account
from deeprotect.release.ledger.accounts import AccountEntry, enter, enter_all, prices_in
from deeprotect.release.ledger.charges import Charge, charges_of, in_order, paid_draws, uncharged
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges
from deeprotect.release.ledger.history import StoredHistory, microseconds
from deeprotect.release.ledger.kept import keep
from deeprotect.release.ledger.keys import source_of, spans_of
from deeprotect.release.ledger.ledger import Clock, DrawCounts, Paid, utc_now
from deeprotect.release.ledger.limits import Request, covered
from deeprotect.release.ledger.person_limits import enter_limits, is_entered, limits_in, lock_of
from deeprotect.release.ledger.price import Price
from deeprotect.release.ledger.spans import Span
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats
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

    def charge(self, runs: Sequence[Run], *, count: int) -> Paid:
        spans = self._spans(runs, count)
        with self._database.writing(self.lock) as connection:
            now = self._clock()  # under the lock: who waited is charged when the wait was over
            booked = charges_of(connection, self._entry.stream, spans)
            fresh = list(uncharged(spans, booked))
            room = self._room(connection, sum(map(len, fresh)), now)
            added = list(in_order(fresh, room))
            if added:
                connection.execute(insert(charges), [self._row(charge, now) for charge in added])
        for charge in added:
            booked[charge.span.key].append(charge)
        paid = paid_draws(spans, booked)
        in_all = int(np.count_nonzero(paid))
        self.tally += DrawCounts(charged=room, repeated=in_all - room, placeholders=count - in_all)
        return paid

    def record(self, runs: Sequence[Run], drawn: Floats, counts: Counts | None = None) -> Floats:
        windows = np.ones(len(drawn), dtype=np.int64) if counts is None else counts
        spans = self._spans(runs, len(windows))
        with self._database.writing(self.lock) as connection:
            booked = charges_of(connection, self._entry.stream, spans)
            if list(uncharged(spans, booked)):
                raise BudgetError("draws must be charged before they are recorded; nothing was released")
            return keep(connection, spans, booked, drawn=drawn, windows=windows)

    def key_of(self, run: Run) -> tuple[int, Span]:
        """The stream, and the one draw of a run."""
        (span,) = self._spans([run], 1)
        return self._entry.stream, span

    def new_charge(self, connection: Connection, span: Span) -> dict[str, Any]:
        """The row of a single draw that was not charged before; in a transaction that holds this ledger's lock."""
        now = self._clock()
        return self._row(Charge(span, self._room(connection, 1, now) == 1), now)

    @property
    def lock(self) -> str:
        """Limits are the person's, so one charge at a time is looked at for each person."""
        return lock_of(self._entry.person)

    def _spans(self, runs: Sequence[Run], count: int) -> list[Span]:
        spans = spans_of(runs, self._account.app, self._price.bundle, self._source)
        if sum(map(len, spans)) != count:
            raise BudgetError("a ledger that remembers needs the number of each draw; give the windows' runs")
        return spans

    def _room(self, connection: Connection, asked: int, now: datetime) -> int:
        """How many of the draws may look at the data; the bundle's own limits hold for the person from now on."""
        if not asked:
            return 0
        person, price = self._entry.person, self._price
        held, new = limits_in(connection, person), self._states_new_limits(connection)
        held = price.limits.within(held) if new else replace(held, when_spent=price.limits.when_spent)
        history = StoredHistory(connection, person, price_of=prices_in(connection))
        room = covered(held, Request(person, asked, price.epsilon, now, LOOSEN), history)
        if new and room:
            enter_limits(connection, person, held, price=self._entry.price, now=now)
        return room

    def _states_new_limits(self, connection: Connection) -> bool:
        """Whether the price has limits that the person's were never held against; what was found stays found."""
        if not self._entered:
            stated = bool(self._price.limits.epsilons)
            self._entered = not stated or is_entered(connection, self._entry.person, self._entry.price)
        return not self._entered

    def _row(self, charge: Charge, now: datetime) -> dict[str, Any]:
        return {
            "stream": self._entry.stream,
            "app": self._account.app,
            "price": self._entry.price,
            "key": charge.span.key,
            "first": charge.span.first,
            "draws": len(charge.span),
            "paid": int(charge.paid),
            "at": microseconds(now),
        }
