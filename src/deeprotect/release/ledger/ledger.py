"""The face of a ledger, bound to one account and one price: one transaction charges draws and records them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import add, sub
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BudgetError
from deeprotect.privacy.accounting import Spending, totals
from deeprotect.privacy.names import check_names
from deeprotect.release.ledger.price import Price
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats
from deeprotect.signals.windows import Run

Clock = Callable[[], datetime]
Paid = NDArray[np.bool_]
"""One for each draw: whether it may look at the data. The others are placeholders."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    return datetime.now(UTC)


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
        self._price, self._clock, self.tally = price, clock, DrawCounts()

    @property
    def spending(self) -> Spending:
        """Per window and in all, of what went through this ledger; never only the small one."""
        return totals([(self._price.event, self.tally.paid)])

    @abstractmethod
    def of_table(self, table: Any, columns: Sequence[str]) -> "Ledger":
        """A ledger for the recordings of one table, read from these columns; other tables may use the same names."""

    @abstractmethod
    def open(self, bookings: Sequence["Booking"]) -> AbstractContextManager["Books"]:
        """One transaction for draws of this account, and of others that are kept in the same place.

        Charges are written before anything is drawn, and nothing may leave before the block has ended: by then it is
        on disk, or nothing of it is.
        """


class Booking(Protocol):
    """Draws of one account: their numbers, and how many windows each shows."""

    @property
    def ledger(self) -> Any: ...
    @property
    def runs(self) -> Sequence[Run]: ...
    @property
    def shown(self) -> Counts: ...


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
