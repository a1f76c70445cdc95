"""A table to read: its columns, and its rows batch by batch, for the requested columns."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from deeprotect.errors import MissingColumnError, TableError, printable
from deeprotect.tables.fields import LONGEST_CELL, plain_column, plain_field, refuse_long

Scan = Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]]
BATCH_ROWS, BATCH_CELLS = 1 << 16, 1 << 18
"""Rows of a batch, fewer for a wide table: enough to amortise Python overhead, in constant memory."""


@dataclass(frozen=True)
class Source:
    """A table that is read once; `scan` yields batches of the given columns, or all; `where` names it in messages."""

    where: str
    schema: pa.Schema
    scan: Scan
    position: Callable[[], float] = lambda: 0.0  # share read so far, for a progress bar
    note: str | None = None  # what the file holds that is not read

    @cached_property
    def batches(self) -> Iterator[pa.RecordBatch]:
        return _of_types(self.scan(None), self.schema)

    def only(self, names: Collection[str]) -> "Source":
        """Restrict to these columns, never decompressing others; dictionaries become values, and long cells are
        refused."""
        fields = [plain_field(field) for field in self.schema if field.name in names]
        schema = pa.schema(fields)
        return replace(self, schema=schema, scan=lambda _: self._bounded(schema.names))

    def renamed(self, names: Mapping[str, str]) -> "Source":
        """Rename some columns."""
        if not names:
            return self
        for column, name in names.items():
            if column not in self.schema.names:
                raise MissingColumnError(self.where, column, self.schema.names)
            if name in self.schema.names:
                raise TableError(f"{self.where}: it has a column '{printable(name)}' already; map another name")
        back = {new: old for old, new in names.items()}
        schema = pa.schema([field.with_name(names.get(field.name, field.name)) for field in self.schema])

        def scan(chosen: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
            asked = None if chosen is None else [back.get(name, name) for name in chosen]
            for batch in self.scan(asked):
                yield batch.rename_columns([names.get(name, name) for name in batch.schema.names])

        return replace(self, schema=schema, scan=scan)

    def by_rows(self) -> "Source":
        """Batches of a fixed number of rows: the ends of blocks of text depend on the digits of raw samples."""
        size = rows_at_a_time(self.schema.names)
        return replace(self, scan=lambda _: cut_by_rows(self.batches, size))

    def _bounded(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in self.scan(names):
            for name in names:
                refuse_long(batch.column(name), LONGEST_CELL, name=name, where=self.where)
            yield batch.select(names)


def _of_types(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [plain_column(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def cut_by_rows(batches: Iterator[pa.RecordBatch], size: int) -> Generator[pa.RecordBatch, None, None]:
    """The same rows, `size` at a time; the last batch may be shorter."""
    held: list[pa.RecordBatch] = []
    room = size
    for batch in batches:
        while batch.num_rows >= room:
            yield _joined([*held, batch.slice(0, room)])
            batch, held, room = batch.slice(room), [], size
        if batch.num_rows:
            held.append(batch)
            room -= batch.num_rows
    if held:
        yield _joined(held)


def rows_at_a_time(columns: Sequence[str]) -> int:
    """Rows of a batch with these columns: a power of two, like the blocks that are written."""
    fitting = max(1, BATCH_CELLS // max(1, len(columns)))
    return min(BATCH_ROWS, 1 << (fitting.bit_length() - 1))


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
