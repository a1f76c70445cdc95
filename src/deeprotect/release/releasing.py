"""Releasing a table: the pipe between a source and a sink, in constant memory, row for row."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.errors import printable
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import Ledger
from deeprotect.release.pipe import Protects, release
from deeprotect.signals import Windows, cut
from deeprotect.signals.schema import Floats
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import fresh_field, saturated
from deeprotect.tables.rows import Rows, read_rows
from deeprotect.tables.sinks import Sink
from deeprotect.tables.sources import Source

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Summary:
    """What was released, what it cost, and what was left out."""

    rows: int
    spending: Spending
    dropped: tuple[str, ...]
    clipped: tuple[str, ...] = ()  # columns that lay largely outside their public range, as if in another unit

    @property
    def warning(self) -> str | None:
        """One line for the operator, without a figure; None where there is nothing to say."""
        if not self.clipped:
            return None
        names = printable(", ".join(self.clipped), 300)
        return f"largely outside the public range, and clipped to it: {names}; is it in another unit?"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class _Queue:
    """Columns that pass beside the pipe, held until the rows they belong to are released."""

    table: pa.Table

    def put(self, columns: list[pa.Array]) -> None:
        self.table = pa.concat_tables([self.table, pa.table(columns, schema=self.table.schema)])

    def take(self, rows: int) -> pa.Table:
        taken, self.table = self.table.slice(0, rows), self.table.slice(rows).combine_chunks()
        return taken


def output_schema(source: pa.Schema, columns: Columns) -> pa.Schema:
    """The fields that may leave, in order, made anew; metadata stays behind, for it may name what was dropped."""
    return pa.schema([fresh_field(source.field(name), columns.where) for name in columns.kept])


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
    """Release every row of a source; on any error nothing more is written.

    Samples outside the public range are clipped and never refused: the policy comes with the bundle, and whoever wrote
    it could otherwise read from the mere existence of an output where the samples lie.
    """
    schema, clipped = output_schema(source.schema, columns), dict[str, None]()
    queue = _Queue(pa.schema([field for field in schema if field.name not in columns.channels]).empty_table())
    rows = read_rows(source, columns, bundle.schema, outside=lambda channel, _: clipped.setdefault(channel.name))
    samples = _samples(rows, queue, columns)
    private = cut(samples, window=bundle.schema.window, channels=len(bundle.schema.channels))
    released_rows = 0
    for released in release(private, bundle, ledger=ledger, stream=source.where, entropy=entropy):
        sink.write(_assemble(released, queue, columns, schema))
        released_rows += int(released.frame.lengths.sum())
        progress(source.position())
    return Summary(released_rows, ledger.spending(source.where), columns.dropped, tuple(clipped))


def _samples(
    rows: Iterable[Rows], queue: _Queue, columns: Columns
) -> Iterator[tuple[Floats, NDArray[np.generic] | None]]:
    for each in rows:
        queue.put(columns.beside(each.batch))
        yield each.samples, each.recording


def _assemble(released: Windows, queue: _Queue, columns: Columns, schema: pa.Schema) -> pa.Table:
    rows = released.rows()
    beside = queue.take(len(rows))
    channel = {name: index for index, name in enumerate(columns.channels)}
    arrays = [
        saturated(rows[:, channel[field.name]], field.type) if field.name in channel else beside.column(field.name)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
