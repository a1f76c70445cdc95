"""What a release gives back: the table, what it cost, and what stayed behind."""

from dataclasses import dataclass, field, fields
from typing import Generic, Self, TypeVar

from deeprotect.errors import printable
from deeprotect.release.releasing import ReleaseSummary

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Release(ReleaseSummary, Generic[T]):
    """A released table of the kind that came in, None where it was written; with what it cost. `print` shows no sample.

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

    table: T = field(kw_only=True)

    @classmethod
    def of(cls, table: T, summary: ReleaseSummary) -> Self:
        return cls(**{each.name: getattr(summary, each.name) for each in fields(summary)}, table=table)

    def __repr__(self) -> str:
        behind = printable(", ".join(self.dropped), 200) or "nothing"
        return f"<{self.rows} released rows; {self.spending}; left out: {behind}>"
