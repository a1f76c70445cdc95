"""Sources for users' tables: CSV, Parquet and Arrow files, several of them, standard input, and frames in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from deeprotect.errors import TableError
from deeprotect.tables.addresses import is_address
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.csv_reader import CsvRequest, Ragged
from deeprotect.tables.files import open_path
from deeprotect.tables.several import open_several, paths_of
from deeprotect.tables.source import Source, rows_at_a_time

__all__ = ["Source", "as_arrow", "is_address", "is_of_paths", "open_source"]


@contextmanager
def open_source(
    table: Any,
    *,
    numbers: Iterable[str] | None = None,
    columns: Sequence[str] | None = None,
    mapping: Mapping[str, str] | None = None,
    ragged: Ragged | None = None,
) -> Iterator[Source]:
    """Open a path, '-', an in-memory table, or several paths (a list, a folder, a pattern) that hold one table.

    Text files: columns named in `numbers` are numeric and the rest is text; without `numbers` types are guessed.
    `columns` names the columns of a text file without a header; lines with a wrong number of cells are passed to
    `ragged`. `mapping` names the recording column if several files are read as one.
    """
    renamed = mapping.renamed if isinstance(mapping, ColumnMap) else {}
    chosen = None if numbers is None else frozenset(numbers)
    if chosen and mapping:  # if a mapped column is missing, the channel may be under its own name
        chosen |= {name for name, column in mapping.items() if column in chosen}
    request = CsvRequest(chosen, None if columns is None else tuple(columns), ragged)
    if is_of_paths(table):
        paths = paths_of(table)
        opened = open_path(paths[0], request) if len(paths) == 1 else open_several(paths, request, mapping or {})
        with opened as source:
            yield source.renamed(renamed)
    elif isinstance(table, pa.RecordBatchReader):  # read once, as a stream
        yield Source("the table", table.schema, partial(_selected, table)).renamed(renamed)
    else:
        frame = as_arrow(table)
        yield Source("the table", frame.schema, partial(_batches, frame)).renamed(renamed)


def _batches(frame: pa.Table, names: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    chosen = frame if names is None else frame.select(list(names))
    return iter(chosen.to_batches(max_chunksize=rows_at_a_time(chosen.column_names)))


def _selected(reader: pa.RecordBatchReader, names: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    return (batch if names is None else batch.select(list(names)) for batch in reader)


def is_of_paths(table: Any) -> bool:
    """Whether the argument names files, as opposed to being a table."""
    several = isinstance(table, list | tuple) and all(isinstance(each, str | Path) for each in table)
    return several or isinstance(table, str | Path)


def as_arrow(table: Any) -> pa.Table:
    """An Arrow table from pyarrow, pandas, polars or anything with the Arrow stream interface."""
    if type(table).__name__ == "LazyFrame":  # from polars, which is not imported for this
        table = table.collect()
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return table
    if type(table).__name__ == "Series":  # from pandas or polars: one column
        raise TableError("a Series is one column; give the whole table, or make one of it: series.to_frame()")
    if hasattr(table, "__arrow_c_stream__"):
        try:
            return pa.table(table)
        except (pa.ArrowException, TypeError, ValueError):  # its message would quote a cell
            raise TableError("the table: a column mixes several types; convert it to one") from None
    raise TableError(
        f"cannot read a table from {type(table).__name__}; give a path, or a pyarrow, pandas or polars table"
    )
