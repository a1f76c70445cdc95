"""The ledger interface, for one account and one price: one transaction charges draws and records them.

Also the ledger in memory: its limits hold for one run, and every draw is new.
"""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from operator import add, sub
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import Argument, BudgetError, InputError, NotDrawnError, Placeholder
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.size_limits import check_names
from deeprotect.release.ledger.limits import LONGEST, Epsilon, Price, covered
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts, Run

Clock = Callable[[], datetime]
Paid = NDArray[np.bool_]
"""For each draw, whether it may look at the data; the others are placeholders."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


def steady_clock() -> Clock:
    """A clock that starts at the current time and follows elapsed time, unaffected by changes of the machine's
    clock."""
    began, passed = utc_now(), time.monotonic
    start = passed()
    return lambda: began + timedelta(seconds=passed() - start)


def microseconds(at: datetime) -> int:
    """Whole microseconds since 1970, which every database stores exactly."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def moment_of(stored: int) -> datetime:
    return _EPOCH + timedelta(microseconds=stored)


@dataclass(frozen=True)
class Account:
    """The account to charge: one app's part of a stream. Limits are the person's: all releases about them add up.

    Without a person, the stream counts as one; in a ledger a stream always belongs to its first person.
    """

    stream: str
    person: str | None = None
    app: str = ""  # a person's apps may collude, so they are always counted together

    @classmethod
    def at(cls, address: object, stream: str | None, *, person: str | None, app: str | None) -> "Account | None":
        """The account at a ledger's address; None without a ledger. Raises if address and stream are not given
        together."""
        given = [name for name, value in (("stream", stream), ("person", person), ("app", app)) if value is not None]
        if address is None and given:
            file = Argument("ledger", Placeholder("FILE"))
            raise InputError(Argument(given[0]), " names an entry of a ledger; add ", file, ", or leave it out")
        if address is not None and stream is None:
            raise InputError("a ledger needs to know whose data it is; add ", Argument("stream", Placeholder("NAME")))
        return None if address is None else cls(stream or "", person, app or "")

    def __post_init__(self) -> None:
        check_names([self.stream], "the name of a stream")
        check_names([] if self.person is None else [self.person], "the name of a person")
        check_names([self.app] if self.app else [], "the name of an app")


@dataclass(frozen=True)
class DrawCounts:
    """Draws of one release: newly charged, charged before under the same key, and placeholders."""

    charged: int = 0
    repeated: int = 0
    placeholders: int = 0

    @property
    def paid(self) -> int:
        return self.charged + self.repeated

    def __sub__(self, before: "DrawCounts") -> "DrawCounts":
        return DrawCounts(*map(sub, vars(self).values(), vars(before).values()))

    def __add__(self, other: "DrawCounts") -> "DrawCounts":
        return DrawCounts(*map(add, vars(self).values(), vars(other).values()))


class Ledger(ABC):
    """Charges draws before they are made; a charge is never refunded, and only recorded draws are released."""

    def __init__(self, price: Price, clock: Clock) -> None:
        self.price, self._clock, self.tally = price, clock, DrawCounts()

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self  # copies would each count only a part

    @property
    def spending(self) -> Spending:
        """The cost per window and in all of everything charged through this ledger; always both."""
        return Spending.of(self.price.event, self.tally.paid)

    @abstractmethod
    def of_table(self, table: Any, columns: Sequence[str]) -> "Ledger":
        """A ledger for the recordings of one table, read from these columns; other tables may use the same names."""

    @property
    def is_by_person(self) -> bool:
        """Whether each person of a table is charged on their own account."""
        return False

    def of_person(self, person: str) -> "Ledger":
        """The account of one of several people in a table."""
        del person
        return self

    @abstractmethod
    def open(self, bookings: Sequence["Booking"]) -> AbstractContextManager["Books"]:
        """One transaction for draws of this account, and of others in the same database.

        Charges are written before anything is drawn, and nothing may be released before the block has ended: by then it
        is on disk, or rolled back entirely.
        """


class Booking(Protocol):
    """Draws of one account: their numbers, the windows per draw, and whether new draws are forbidden."""

    @property
    def ledger(self) -> Any: ...
    @property
    def runs(self) -> Sequence[Run]: ...
    @property
    def shown(self) -> Counts: ...
    @property
    def only_kept(self) -> bool: ...


def not_drawn() -> NotDrawnError:
    return NotDrawnError("there is no earlier draw for this, and too few windows to make one")


class Books(Protocol):
    """Charges draws, then records those that were not refused."""

    def charge(self) -> list[Paid | BudgetError]:
        """Charge draws under their keys, each once; refuse a booking that would exceed a limit."""
        ...

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        """Record charged draws; returns the first recorded ones, which are released.

        Each is (window, value), the windows of each draw after the other's; None for a refused booking.
        """
        ...


class MemoryLedger(Ledger):
    """Counts draws, in constant memory except for rolling limits; ignores keys.

    Charges too old to count are dropped, so it uses its own steady clock.
    """

    person, loosen = "this run", "raise [privacy.budget] {}"

    def __init__(self, price: Price, *, clock: Clock | None = None) -> None:
        super().__init__(price, clock or steady_clock())
        self._rolls = any(limit.span is not None for limit in price.limits)
        self._recent: deque[tuple[datetime, Epsilon]] = deque()

    def of_table(self, table: Any, columns: Sequence[str]) -> Self:
        del table, columns
        return self

    @contextmanager
    def open(self, bookings: Sequence[Booking]) -> Iterator["MemoryBooks"]:
        """Charges stay even if the block fails."""
        yield MemoryBooks(bookings)

    def charge(self, count: int) -> Paid | BudgetError:
        """Whether each of `count` new draws may look at the data, or why none may."""
        now = self._clock()
        try:
            room = covered(self.price.limits, count, self.price, now=now, history=self)
        except BudgetError as refusal:
            return refusal
        if self._rolls:
            self._remember(now, self.price.counted(room))
        self.tally += DrawCounts(charged=room, placeholders=count - room)
        return np.arange(count) < room

    def _remember(self, now: datetime, epsilon: Epsilon) -> None:
        """Store a charge for rolling limits, as long as the longest of them needs it."""
        while self._recent and self._recent[0][0] <= now - LONGEST:
            self._recent.popleft()
        self._recent.append((now, epsilon))

    def spent(self, since: datetime | None) -> Epsilon:
        if since is None:
            return self.price.counted(self.tally.charged)
        return sum((epsilon for _, epsilon in self.charges(since)), Fraction(0))

    def charges(self, since: datetime) -> list[tuple[datetime, Epsilon]]:
        """Charges, oldest first, whatever the clock did."""
        return sorted(each for each in self._recent if each[0] > since)


class MemoryBooks:
    """Bookings of a memory ledger: every draw is new and never requested again."""

    def __init__(self, bookings: Sequence[Booking]) -> None:
        self._bookings = bookings

    def charge(self) -> list[Paid | BudgetError]:
        return [
            not_drawn() if booking.only_kept else booking.ledger.charge(len(booking.shown))
            for booking in self._bookings
        ]

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        return list(drawn)
