"""The face of a ledger, bound to one account and one price: one transaction charges draws and records them.

And the ledger that forgets with the process: limits hold for one run, and every draw is a new one.
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
"""One for each draw: whether it may look at the data. The others are placeholders."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


def steady_clock() -> Clock:
    """A clock that begins now and goes on as time passes, whatever is done to the machine's own meanwhile."""
    began, passed = utc_now(), time.monotonic
    start = passed()
    return lambda: began + timedelta(seconds=passed() - start)


def microseconds(at: datetime) -> int:
    """Whole ones since 1970, which every database keeps exactly."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def moment_of(stored: int) -> datetime:
    return _EPOCH + timedelta(microseconds=stored)


@dataclass(frozen=True)
class Account:
    """Who is charged: one app's part of a stream. Limits are the person's: whatever leaves about them adds up.

    Without a person, the stream is one of its own; in a ledger a stream belongs to the person that it began with.
    """

    stream: str
    person: str | None = None
    app: str = ""  # the apps of one person may compare what they got, so they are never counted apart

    @classmethod
    def at(cls, address: object, stream: str | None, *, person: str | None, app: str | None) -> "Account | None":
        """Who is charged in the ledger at an address; None where there is none. Half of a ledger is refused."""
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
    """Draws of one release: charged by it, charged before under the same key, and those that looked at no data."""

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
    """Charges draws before they are made; a charge is never refunded, and only what is recorded leaves."""

    def __init__(self, price: Price, clock: Clock) -> None:
        self.price, self._clock, self.tally = price, clock, DrawCounts()

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self  # two copies would each count a part

    @property
    def spending(self) -> Spending:
        """Per window and in all, of what went through this ledger; never only the small one."""
        return Spending.of(self.price.event, self.tally.paid)

    @abstractmethod
    def of_table(self, table: Any, columns: Sequence[str]) -> "Ledger":
        """A ledger for the recordings of one table, read from these columns; other tables may use the same names."""

    @property
    def is_by_person(self) -> bool:
        """Whether the people of one table are charged each to their own account."""
        return False

    def of_person(self, person: str) -> "Ledger":
        """The account of one of several people in a table."""
        del person
        return self

    @abstractmethod
    def open(self, bookings: Sequence["Booking"]) -> AbstractContextManager["Books"]:
        """One transaction for draws of this account, and of others that are kept in the same place.

        Charges are written before anything is drawn, and nothing may leave before the block has ended: by then it is
        on disk, or nothing of it is.
        """


class Booking(Protocol):
    """Draws of one account: their numbers, how many windows each shows, and whether none of them may be a new one."""

    @property
    def ledger(self) -> Any: ...
    @property
    def runs(self) -> Sequence[Run]: ...
    @property
    def shown(self) -> Counts: ...
    @property
    def only_kept(self) -> bool: ...


def not_drawn() -> NotDrawnError:
    return NotDrawnError("nothing was drawn for this before, and what came of it is too little to draw from")


class Books(Protocol):
    """Charge first, then record what was drawn for those that are not refused."""

    def charge(self) -> list[Paid | BudgetError]:
        """Book draws under their keys, each once; or refuse those of one booking, when a limit would be passed."""
        ...

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        """Keep what was drawn for charged keys; what comes back is what was kept first, and that is what leaves.

        Each is (window, value), one draw's windows after the other's; None where a booking was refused.
        """
        ...


class MemoryLedger(Ledger):
    """Counts draws, in constant memory but for limits that roll; keys are not looked at.

    Charges that are too old to count are dropped, so its own clock never jumps.
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
        """Nothing is taken back when the block fails."""
        yield MemoryBooks(bookings)

    def charge(self, count: int) -> Paid | BudgetError:
        """Whether each of so many new draws may look at the data; or why none may."""
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
        """For limits that roll, and no longer than the longest of them."""
        while self._recent and self._recent[0][0] <= now - LONGEST:
            self._recent.popleft()
        self._recent.append((now, epsilon))

    def spent(self, since: datetime | None) -> Epsilon:
        if since is None:
            return self.price.counted(self.tally.charged)
        return sum((epsilon for _, epsilon in self.charges(since)), Fraction(0))

    def charges(self, since: datetime) -> list[tuple[datetime, Epsilon]]:
        """Oldest first, whatever the clock did."""
        return sorted(each for each in self._recent if each[0] > since)


class MemoryBooks:
    """Every draw is a new one, and nobody will ask for it again."""

    def __init__(self, bookings: Sequence[Booking]) -> None:
        self._bookings = bookings

    def charge(self) -> list[Paid | BudgetError]:
        return [
            not_drawn() if booking.only_kept else booking.ledger.charge(len(booking.shown))
            for booking in self._bookings
        ]

    def record(self, drawn: Sequence[Floats | None]) -> list[Floats | None]:
        return list(drawn)
