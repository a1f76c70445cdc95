"""Releasing a table: the pipe between a source and a sink, in constant memory, row for row."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.columns import Columns
from deeprotect.release.ledger import Ledger
from deeprotect.release.pipe import Protects, release
from deeprotect.release.rows import Rows, read_rows
from deeprotect.release.sinks import Sink
from deeprotect.release.sources import Source
from deeprotect.signals import Windows, cut
from deeprotect.signals.schema import Floats

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Summary:
    """What was released, what it cost, and what was left out."""

    rows: int
    spending: Spending
    dropped: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Queue:
    """Columns that pass beside the pipe, held until the rows they belong to are released."""

    table: pa.Table

    def put(self, batch: pa.RecordBatch) -> None:
        self.table = pa.concat_tables([self.table, pa.Table.from_batches([batch])])

    def take(self, rows: int) -> pa.Table:
        taken, self.table = self.table.slice(0, rows), self.table.slice(rows).combine_chunks()
        return taken


def output_schema(source: pa.Schema, columns: Columns) -> pa.Schema:
    """The input's fields that may leave, in order; file metadata stays behind, for it may name what was dropped."""
    return pa.schema([source.field(name) for name in columns.kept])


def release_table(
    source: Source,
    sink: Sink,
    bundle: Protects,
    *,
    columns: Columns,
    ledger: Ledger,
    entropy: SystemEntropy,
    progress: Progress = lambda _: None,
) -> Summary:
    """Release every row of a source; on any error nothing more is written."""
    schema = output_schema(source.schema, columns)
    beside = [name for name in columns.kept if name not in columns.channels]
    queue = _Queue(pa.schema([source.schema.field(name) for name in beside]).empty_table())
    samples = _samples(read_rows(source, columns, bundle.schema), queue)
    private = cut(samples, window=bundle.schema.window, channels=len(bundle.schema.channels))
    released_rows = 0
    for released in release(private, bundle, ledger=ledger, stream=source.where, entropy=entropy):
        sink.write(_assemble(released, queue, columns, schema))
        released_rows += int(released.frame.lengths.sum())
        progress(source.position())
    return Summary(released_rows, ledger.spending(source.where), columns.dropped)


def _samples(rows: Iterable[Rows], queue: _Queue) -> Iterator[tuple[Floats, NDArray[np.generic] | None]]:
    for each in rows:
        queue.put(each.batch.select(queue.table.schema.names))
        yield each.samples, each.recording


def _assemble(released: Windows, queue: _Queue, columns: Columns, schema: pa.Schema) -> pa.Table:
    rows = released.rows()
    beside = queue.take(len(rows))
    channel = {name: index for index, name in enumerate(columns.channels)}
    arrays = [
        _like(rows[:, channel[field.name]], field.type) if field.name in channel else beside.column(field.name)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _like(values: Floats, kind: pa.DataType) -> pa.Array:
    """Released values in the type of the input column."""
    whole = np.rint(values) if pa.types.is_integer(kind) else values
    return pa.array(whole).cast(kind, safe=False)
