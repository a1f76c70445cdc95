"""A ledger that forgets with the process: limits hold for one run, and every draw is a new one."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from typing import Any, Self

import numpy as np

from deeprotect.errors import BudgetError
from deeprotect.release.ledger.ledger import Booking, Clock, DrawCounts, Ledger, Paid, utc_now
from deeprotect.release.ledger.limits import SPANS, covered
from deeprotect.release.ledger.price import Price
from deeprotect.signals.schema import Floats

LONGEST = max(span for span in SPANS.values() if span is not None)


class MemoryLedger(Ledger):
    """Counts draws, in constant memory but for limits that roll; keys are not looked at."""

    person, loosen = "this run", "raise [privacy.budget] {}"

    def __init__(self, price: Price, *, clock: Clock = utc_now) -> None:
        super().__init__(price, clock)
        self._rolls = any(limit.span is not None for limit in price.limits)
        self._recent: deque[tuple[datetime, Fraction]] = deque()

    def of_table(self, table: Any, columns: Sequence[str]) -> Self:
        del table, columns
        return self

    @contextmanager
    def open(self, bookings: Sequence[Booking]) -> Iterator["MemoryBooks"]:
        """Nothing is taken back when the block fails."""
        yield MemoryBooks(bookings)

    def charge(self, count: int) -> Paid | BudgetError:
        """Whether each of so many new draws may look at the data; or why none may."""
        now, epsilon = self._clock(), self._price.epsilon
        try:
            room = covered(self._price.limits, count, epsilon, now=now, history=self)
        except BudgetError as refusal:
            return refusal
        if self._rolls:
            self._remember(now, room * epsilon)
        self.tally += DrawCounts(charged=room, placeholders=count - room)
        return np.arange(count) < room

    def _remember(self, now: datetime, epsilon: Fraction) -> None:
        """For limits that roll, and no longer than the longest of them."""
        while self._recent and self._recent[0][0] <= now - LONGEST:
            self._recent.popleft()
        self._recent.append((now, epsilon))

    def spent(self, since: datetime | None) -> Fraction:
        if since is None:
            return self.tally.charged * self._price.epsilon
        return sum((epsilon for _, epsilon in self.charges(since)), Fraction(0))

    def charges(self, since: datetime) -> list[tuple[datetime, Fraction]]:
        """Oldest first, whatever the clock did."""
        return sorted(each for each in self._recent if each[0] > since)


class MemoryBooks:
    """Every draw is a new one, and nobody will ask for it again."""

    def __init__(self, bookings: Sequence[Booking]) -> None:
        self._bookings = bookings

    def charge(self) -> list[Paid | BudgetError]:
        return [booking.ledger.charge(len(booking.shown)) for booking in self._bookings]

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        return list(drawn)
