"""Releasing a table: the engine between a source and a sink, in constant memory, row for row."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pyarrow as pa

from deeprotect.bundle.network import one_thread
from deeprotect.errors import quoted_all
from deeprotect.privacy.accounting import Spending, totals
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, accompanied
from deeprotect.release.ledger import DrawCounts, Ledger
from deeprotect.signals import Windows
from deeprotect.signals.windowing import Cutter
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import fresh_field, saturated
from deeprotect.tables.passing import BesideCells, Passing
from deeprotect.tables.rows import Rows, read_rows
from deeprotect.tables.sinks import Sink
from deeprotect.tables.sources import open_source

Progress = Callable[[float], None]
OpenSink = Callable[[pa.Schema], AbstractContextManager[Sink]]

_SHOWN = 6  # columns that a line names


@dataclass(frozen=True)
class ReleaseSummary:
    """What was released, what it cost, and what was left out."""

    rows: int
    spending: Spending
    dropped: tuple[str, ...]
    unchanged: tuple[str, ...] = ()  # columns that left as they are: time, and names of recordings if asked for
    clipped: tuple[str, ...] = ()  # columns that lay largely outside their public range, as if in another unit
    renumbered: bool = False  # recordings left as 1, 2, … and not under their names
    files: int = 1
    kept: int = 0  # files of a data set that an earlier run had finished: not released, nor paid for, again
    draws: DrawCounts = field(default_factory=DrawCounts)

    @property
    def warning(self) -> str | None:
        """One line for the operator, without a figure; None where there is nothing to say."""
        if not self.clipped:
            return None
        more = f" and {len(self.clipped) - _SHOWN} more" if len(self.clipped) > _SHOWN else ""
        names = quoted_all(self.clipped[:_SHOWN], ", ")
        return f"largely outside the public range, and clipped to it: {names}{more}; is it in another unit?"

    def to_json(self) -> dict[str, Any]:
        """All but the rows themselves."""
        stated = {each.name: getattr(self, each.name) for each in fields(ReleaseSummary)}
        return asdict(ReleaseSummary(**stated))


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
    names: Sequence[str] | None = None,
    passing: Passing | None = None,
    live: bool = False,
    workers: int = 1,
    progress: Progress = lambda _: None,
) -> ReleaseSummary:
    """Release every row of a table: a path, several, '-' or a frame; on any error nothing more is written.

    `mapping` gives the column of a channel where the names differ, `names` the columns of a text file that has none,
    `passing` what becomes of names of recordings and of time stamps. Rows of a `live` table are not held back until
    they are many. Samples outside the public range are clipped and never refused: the policy comes with the bundle, and
    whoever wrote it could otherwise read from the mere existence of an output where the samples lie.
    """
    numbers = [mapping.get(name, name) for name in bundle.schema.names]
    passing = passing or Passing()
    with open_source(table, numbers=numbers, columns=names, mapping=mapping) as source:
        columns = Columns.of(source.schema, bundle.schema, mapping=mapping, where=source.where)
        schema = passing.schema(output_schema(source.schema, columns), columns)
        beside_fields = pa.schema([field for field in schema if field.name not in columns.channels])
        cells = BesideCells(columns, passing, beside_fields)
        book = ledger.of_table(table, (*source.schema.names, *columns.channels, columns.recording_name or ""))
        clipped, released_rows, before = dict[str, None](), 0, book.tally
        needed = source.only(columns.kept)
        needed = needed if live else needed.by_rows()
        rows = read_rows(needed, columns, bundle.schema, outside=lambda channel, _: clipped.setdefault(channel.name))
        batches = _batches(rows, cells, bundle)
        with open_sink(schema) as sink, one_thread():
            at_once = 1 if live else workers
            for released, beside in accompanied(batches, bundle, ledger=book, entropy=entropy, workers=at_once):
                sink.write(_assemble(released, beside, columns, schema))
                released_rows += int(released.frame.lengths.sum())
                progress(source.position())
    draws = book.tally - before
    renumbered = passing.recording == "numbered" and columns.recording_name is not None
    spending = totals([(bundle.mechanism.event, draws.paid)])
    unchanged = passing.unchanged(columns)
    return ReleaseSummary(released_rows, spending, columns.dropped, unchanged, tuple(clipped), renumbered, draws=draws)


def _batches(rows: Iterable[Rows], cells: BesideCells, bundle: Pipeline) -> Iterator[tuple[Windows, pa.Table]]:
    """Whole episodes as they fill, each with the cells that pass beside the engine, of the rows of its batch."""
    schema, held = bundle.schema, pa.Table.from_batches([], cells.schema)
    cutter = Cutter(schema.window, len(schema.channels), hold=bundle.hold.windows)
    for each in rows:
        held = pa.concat_tables([held, cells.of(each)])
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
