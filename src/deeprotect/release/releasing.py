"""Releasing a table: the pipe between a source and a sink, in constant memory, row for row."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from deeprotect.errors import printable
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.ledger import Ledger, Tally
from deeprotect.release.pipe import Pipeline, release_batch
from deeprotect.signals import Schema, Windows
from deeprotect.signals.windowing import Cutter
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import fresh_field, saturated
from deeprotect.tables.rows import Rows, read_rows
from deeprotect.tables.sinks import Sink
from deeprotect.tables.sources import open_source

Progress = Callable[[float], None]
OpenSink = Callable[[pa.Schema], AbstractContextManager[Sink]]


@dataclass(frozen=True)
class ReleaseSummary:
    """What was released, what it cost, and what was left out."""

    rows: int
    spending: Spending
    dropped: tuple[str, ...]
    clipped: tuple[str, ...] = ()  # columns that lay largely outside their public range, as if in another unit
    draws: Tally = field(default_factory=Tally)

    @property
    def warning(self) -> str | None:
        """One line for the operator, without a figure; None where there is nothing to say."""
        if not self.clipped:
            return None
        names = printable(", ".join(self.clipped), 300)
        return f"largely outside the public range, and clipped to it: {names}; is it in another unit?"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def output_schema(source: pa.Schema, columns: Columns) -> pa.Schema:
    """The fields that may leave, in order, made anew; metadata stays behind, for it may name what was dropped."""
    return pa.schema([fresh_field(source.field(name), columns.where) for name in columns.kept])


def release_table(
    table: Any,
    open_sink: OpenSink,
    bundle: Pipeline,
    *,
    mapping: Mapping[str, str],
    ledger: Ledger,
    entropy: SystemEntropy,
    progress: Progress = lambda _: None,
) -> ReleaseSummary:
    """Release every row of a table: a path, '-' or a frame; on any error nothing more is written.

    `mapping` gives the column of a channel where the names differ. Samples outside the public range are clipped and
    never refused: the policy comes with the bundle, and whoever wrote it could otherwise read from the mere existence
    of an output where the samples lie.
    """
    numbers = [mapping.get(name, name) for name in bundle.schema.names]
    with open_source(table, numbers=numbers, mapping=mapping) as source:
        columns = Columns.of(source.schema, bundle.schema, mapping=mapping, where=source.where)
        schema = output_schema(source.schema, columns)
        ledger = ledger.of_table(table, (*columns.channels, columns.recording_name or ""))
        clipped, released_rows = dict[str, None](), 0
        rows = read_rows(source, columns, bundle.schema, outside=lambda channel, _: clipped.setdefault(channel.name))
        with open_sink(schema) as sink:
            for private, beside in _windows(rows, columns, schema, bundle.schema):
                released = release_batch(private, bundle, ledger=ledger, entropy=entropy)
                sink.write(_assemble(released, beside, columns, schema))
                released_rows += int(released.frame.lengths.sum())
                progress(source.position())
    return ReleaseSummary(released_rows, ledger.spending, columns.dropped, tuple(clipped), ledger.tally)


def _windows(
    rows: Iterable[Rows], columns: Columns, output: pa.Schema, schema: Schema
) -> Iterator[tuple[Windows, pa.Table]]:
    """Windows as they fill, each batch with the cells that pass beside the pipe: those of its own rows."""
    cutter, held = (
        Cutter(schema.window, len(schema.channels)),
        output.empty_table().drop_columns(list(columns.channels)),
    )
    for each in rows:
        held = pa.concat_tables([held, pa.table(columns.beside(each.batch), schema=held.schema)])
        windows = cutter.push(each.samples, each.recording)
        if len(windows):
            count = int(windows.frame.lengths.sum())
            yield windows, held.slice(0, count)
            held = held.slice(count).combine_chunks()
    windows = cutter.finish()
    if len(windows):
        yield windows, held


def _assemble(released: Windows, beside: pa.Table, columns: Columns, schema: pa.Schema) -> pa.Table:
    rows = released.rows()
    channel = {name: index for index, name in enumerate(columns.channels)}
    arrays = [
        saturated(rows[:, channel[field.name]], field.type) if field.name in channel else beside.column(field.name)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
