"""The whole pipe behind two verbs, for Python: fit a protector, protect a table."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.card import card
from deeprotect.policy import Policy
from deeprotect.policy.usual_names import RECORDING, TIME
from deeprotect.privacy.accounting import totals
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.data_set import release_data_set
from deeprotect.release.in_order import cores
from deeprotect.release.ledger import Ledger
from deeprotect.release.releasing import OpenSink, ReleaseSummary, release_table
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.data_set import parts_of
from deeprotect.tables.output_checks import refuse_among_inputs
from deeprotect.tables.passing import AS_IT_STANDS, Passing, TableReading
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
        from deeprotect.training.fitting.fit import fit

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

    def protect(self, table: Any, *, passing: Passing | None = None, workers: int | None = None) -> Any:
        """Release a pyarrow, pandas or polars table; the same kind comes back. Uses all cores, or so many workers.

        Recordings leave as 1, 2, … unless training showed that their names tell nothing sensitive, or `passing` says
        otherwise.
        """
        memory = Memory()
        summary = self._release(table, memory.open, reading=TableReading(passing=passing), workers=workers)
        if summary.warning:
            warnings.warn(summary.warning, stacklevel=2)
        return _like(table, memory.table())

    def protect_file(
        self,
        source_path: str | Path | Sequence[str | Path],
        sink_path: str | Path,
        *,
        reading: TableReading = AS_IT_STANDS,
        workers: int | None = None,
        progress: Progress = lambda _: None,
    ) -> ReleaseSummary:
        """Release a file of any size, or several as one table, in constant memory; it appears whole or not at all."""
        source = str(source_path) if isinstance(source_path, str | Path) else [str(each) for each in source_path]
        sink = partial(open_sink, sink_path)
        return self._release(source, sink, reading=reading, workers=workers, progress=progress)

    def protect_files(
        self,
        sources: Sequence[str | Path],
        folder: str | Path,
        *,
        reading: TableReading = AS_IT_STANDS,
        workers: int | None = None,
        progress: Progress = lambda _: None,
    ) -> ReleaseSummary:
        """Release files, folders and patterns file by file into a folder of the same structure.

        A run that was broken off goes on when it is called again: files that were finished stay as they are.
        """
        mapping, ledger = ColumnMap.of(self.bundle.policy, reading.mapped), Ledger()
        beside = {mapping.get(name, name) for name in (TIME, RECORDING)}
        parts = parts_of([str(each) for each in sources], passing=beside)
        refuse_among_inputs(Path(folder), [*map(Path, sources), *(part.source for part in parts)])

        def release_one(source: Path, target: Path, share: Progress) -> ReleaseSummary:
            charged: Any = {"ledger": ledger, "stream": str(folder)}
            sink = partial(open_sink, target)
            return self._release(str(source), sink, reading=reading, workers=workers, progress=share, **charged)

        digest = sha256(self.bundle.manifest.to_json()).hexdigest()
        run = release_data_set(parts, Path(folder), release_one, bundle=digest, progress=progress)
        spent = ledger.spending(str(folder)) if run.released else totals([(self.bundle.mechanism.event, 0)])
        return run.summary(spent)

    def _release(
        self,
        table: Any,
        sink: OpenSink,
        *,
        reading: TableReading,
        ledger: Ledger | None = None,
        stream: str | None = None,
        workers: int | None,
        progress: Progress = lambda _: None,
    ) -> ReleaseSummary:
        safe = Passing("numbered" if self.bundle.manifest.training.names_may_tell else "named")
        return release_table(
            table,
            sink,
            self.bundle,
            mapping=ColumnMap.of(self.bundle.policy, reading.mapped),
            names=reading.columns,
            passing=reading.passing or safe,
            ledger=ledger or Ledger(),
            stream=stream,
            entropy=SystemEntropy(),
            workers=workers or cores(),
            progress=progress,
        )


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
