"""What a release gives back: the table, what it cost, and what stayed behind."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from deeprotect.errors import printable
from deeprotect.privacy.accounting import Spending
from deeprotect.release.ledger import DrawCounts
from deeprotect.release.releasing import ReleaseSummary

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Release(Generic[T]):
    """A released table of the kind that came in, with what it cost; `print` shows no sample.

    Examples:
        >>> import pyarrow as pa
        >>> from deeprotect import Protector
        >>> table = pa.table({"acc_x": [0.1] * 8, "acc_y": [0.2] * 8, "name": ["Ann"] * 8})
        >>> release = Protector.load("protector").protect(table)
        >>> release
        <8 released rows; ldp: ε = 5 per window, ε = 10 for the whole stream (2 windows); left out: name>
        >>> release.spending.per_stream, release.dropped
        (10.0, ('name',))
        >>> release.table.column_names
        ['acc_x', 'acc_y']
    """

    table: T
    """None where it was written to a file or a folder."""
    summary: ReleaseSummary

    @property
    def rows(self) -> int:
        return self.summary.rows

    @property
    def spending(self) -> Spending:
        """Per draw and for all of it, never only the small one."""
        return self.summary.spending

    @property
    def dropped(self) -> tuple[str, ...]:
        """Columns that stayed behind: neither channels nor `recording` nor `time`."""
        return self.summary.dropped

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Columns that left as they are: time, and names of recordings where they were asked for."""
        return self.summary.unchanged

    @property
    def clipped(self) -> tuple[str, ...]:
        """Columns that lay largely outside their public range, as if in another unit."""
        return self.summary.clipped

    @property
    def draws(self) -> DrawCounts:
        """How many were made, and what the ledger had of them already."""
        return self.summary.draws

    def __repr__(self) -> str:
        behind = printable(", ".join(self.dropped), 200) or "nothing"
        return f"<{self.rows} released rows; {self.spending}; left out: {behind}>"
