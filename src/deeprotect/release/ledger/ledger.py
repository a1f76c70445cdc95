"""The face of a ledger, bound to one account and one price: charge draws, then record what was drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deeprotect.privacy.accounting import Spending
from deeprotect.signals.episodes import Counts
from deeprotect.signals.schema import Floats
from deeprotect.signals.windows import Run

Clock = Callable[[], datetime]
Paid = NDArray[np.bool_]
"""One for each draw: whether it may look at the data. The others are placeholders."""


def utc_now() -> datetime:
    return datetime.now(UTC)


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
        return DrawCounts(
            self.charged - before.charged, self.repeated - before.repeated, self.placeholders - before.placeholders
        )

    def __add__(self, other: "DrawCounts") -> "DrawCounts":
        return DrawCounts(
            self.charged + other.charged, self.repeated + other.repeated, self.placeholders + other.placeholders
        )


class Ledger(Protocol):
    """Charges draws before they are made; a charge is never refunded, and only what is recorded leaves."""

    @property
    def tally(self) -> DrawCounts: ...

    @property
    def spending(self) -> Spending:
        """Per window and in all, of what went through this ledger; never only the small one."""
        ...

    def of_table(self, table: Any, columns: Sequence[str]) -> "Ledger":
        """A ledger for the recordings of one table, read from these columns; other tables may use the same names."""
        ...

    def charge(self, runs: Sequence[Run], *, count: int) -> Paid:
        """Book draws under their keys, each once; or refuse them all, when a limit would be passed."""
        ...

    def record(self, runs: Sequence[Run], drawn: Floats, counts: Counts | None = None) -> Floats:
        """Keep what was drawn for charged keys; what comes back is what was kept first, and that is what leaves.

        `drawn` is (window, value), so many windows for each draw in `counts`; without them, one.
        """
        ...
