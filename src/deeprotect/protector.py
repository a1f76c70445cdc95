"""The whole pipe behind two verbs, for Python: fit a protector, protect a table."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import Account, Ledger, MemoryLedger, Price
from deeprotect.release.ledger.limits import Limits
from deeprotect.release.releasing import OpenSink, ReleaseSummary, release_table
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.sinks import Memory, open_sink

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Protector:
    """Stands between a recording and an app; every release draws fresh randomness from the operating system.

    Examples:
        >>> import pyarrow as pa
        >>> from deeprotect import Policy, Protector
        >>> policy = Policy.from_tables({
        ...     "version": 1,
        ...     "stream": {"rate_hz": 10, "window": 4, "channels": {"acc_x": {"unit": "g", "range": [-4.0, 4.0]}}},
        ...     "inferences": {"useful": ["activity"]},
        ...     "privacy": {"epsilon": 5.0, "mechanism": "laplace"},
        ...     "training": {"minimiser": "pca", "features": 2},
        ... })
        >>> table = pa.table({
        ...     "acc_x": [0.1, 0.2] * 40 + [0.1, 0.9] * 40,
        ...     "activity": ["rest"] * 80 + ["walk"] * 80,
        ... })
        >>> protector = Protector.fit(policy, table)
        >>> print(protector.bundle.mechanism.event)
        ε = 5 ldp per window
        >>> released = protector.protect(table)
        >>> released.num_rows, released.column_names  # labels stay behind
        (160, ['acc_x'])
    """

    bundle: Bundle

    @classmethod
    def fit(cls, policy: Policy, table: Any, *, progress: Progress = lambda _: None) -> Self:
        """Learn from a labelled table (a path, or a pyarrow, pandas or polars table); needs the `train` extra."""
        from deeprotect.training.fit import fit

        return cls(fit(policy, table, progress=progress))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A protector that was saved, or trained on the command line."""
        return cls(Bundle.load(path))

    def save(self, path: str | Path) -> None:
        """As a folder, or as a zip file when the name ends in .zip."""
        self.bundle.save(path)

    def describe(self) -> str:
        """The model card: what may be inferred, what is promised, what is not."""
        return card(self.bundle)

    def ledger(self, address: str | Path, *, stream: str, person: str | None = None, app: str = "") -> Ledger:
        """A ledger that outlives the process: a file, made where there is none, or postgresql+psycopg://…

        Charges are of the person, the stream's own name where none is given, and kept within the policy's budget.
        """
        from deeprotect.release.ledger.database import Database
        from deeprotect.release.ledger.stored import StoredLedger

        return StoredLedger(Database.existing_or_new(str(address)), Account(stream, person, app), self._price)

    def protect(self, table: Any, *, ledger: Ledger | None = None) -> Any:
        """Release a pyarrow, pandas or polars table; the same kind comes back. Nothing is remembered without ledger."""
        memory = Memory()
        summary = self._release(table, memory.open, ledger=ledger)
        if summary.warning:
            warnings.warn(summary.warning, stacklevel=2)
        return _like(table, memory.table())

    def protect_file(
        self,
        source_path: str | Path,
        sink_path: str | Path,
        *,
        ledger: Ledger | None = None,
        progress: Progress = lambda _: None,
    ) -> ReleaseSummary:
        """Release a file of any size in constant memory; the output appears whole or not at all."""
        return self._release(str(source_path), partial(open_sink, sink_path), ledger=ledger, progress=progress)

    def _release(
        self, table: Any, sink: OpenSink, *, ledger: Ledger | None, progress: Progress = lambda _: None
    ) -> ReleaseSummary:
        mapping, ledger = ColumnMap.of(self.bundle.policy), ledger or MemoryLedger(self._price)
        return release_table(
            table, sink, self.bundle, mapping=mapping, ledger=ledger, entropy=SystemEntropy(), progress=progress
        )

    @property
    def _price(self) -> Price:
        limits = Limits.of(self.bundle.policy.privacy.budget)
        return Price.of(self.bundle.mechanism, bundle=self.bundle.digest, limits=limits)


def _like(table: Any, released: pa.Table) -> Any:
    """Arrow back to the kind of table that came in; an index is made anew, for it may hold anything."""
    library = type(table).__module__.partition(".")[0]
    if library == "polars":
        import polars

        return polars.from_arrow(released)
    if library == "pandas":
        return released.to_pandas()
    if isinstance(table, pa.RecordBatch):
        return pa.record_batch([column.combine_chunks() for column in released.columns], schema=released.schema)
    return released
