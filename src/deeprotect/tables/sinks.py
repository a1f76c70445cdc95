"""Writing released tables, under a temporary name until they are complete."""

import csv
import gzip
import io
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import is_primitive

from deeprotect.errors import InputError
from deeprotect.tables.addresses import is_address, suffix_of, writing
from deeprotect.tables.atomic import whole_file
from deeprotect.tables.fields import is_text

_SPECIAL = '[",\r\n]'  # cells with one of these need quotes
BLOCK_ROWS = 65_536  # rows of every row group, record batch and block of CSV, whatever the input


class Sink(Protocol):
    """Takes released rows; nothing is visible under the final name until the sink is closed without error."""

    def write(self, rows: pa.Table) -> None: ...


class _Blocks:
    """Passes rows on in blocks of a fixed number, so that the layout reveals only the number of rows.

    Input blocks of CSV have a fixed number of bytes, so their number of rows depends on the digits of raw samples.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held: list[pa.Table] = []
        self._rows = 0

    def write(self, rows: pa.Table) -> None:
        self._held.append(rows)
        self._rows += rows.num_rows
        if self._rows >= BLOCK_ROWS:
            table, whole = pa.concat_tables(self._held), self._rows - self._rows % BLOCK_ROWS
            for start in range(0, whole, BLOCK_ROWS):
                self._sink.write(table.slice(start, BLOCK_ROWS))
            self._held, self._rows = [table.slice(whole)], self._rows - whole

    def finish(self) -> None:
        if self._rows:
            self._sink.write(pa.concat_tables(self._held))


class _Behind:
    """Writes in another thread: Arrow encodes one block while the next is made. A failure is raised one block later."""

    def __init__(self, sink: Sink, thread: Executor) -> None:
        self._sink, self._thread = sink, thread
        self._last: Future[None] | None = None

    def write(self, rows: pa.Table) -> None:
        self.finish()
        self._last = self._thread.submit(self._sink.write, rows)

    def finish(self) -> None:
        """Wait until everything is written."""
        if self._last is not None:
            self._last.result()


@contextmanager
def open_sink(path: str | Path, schema: pa.Schema) -> Iterator[Sink]:
    """A writer for a path by its suffix, or CSV on standard output for '-'."""
    with _writer(path, schema) as writer, ThreadPoolExecutor(1, thread_name_prefix="write") as thread:
        behind = _Behind(writer, thread)
        blocks = _Blocks(behind)
        yield blocks
        blocks.finish()  # not after an error: waiting rows are then dropped
        behind.finish()


@contextmanager
def open_pipe(schema: pa.Schema) -> Iterator[Sink]:
    """Write CSV to standard output row by row, without waiting for complete blocks, for live rows."""
    yield _Lines(sys.stdout.buffer, schema)


@contextmanager
def _writer(path: str | Path, schema: pa.Schema) -> Iterator[Sink]:
    if str(path) == "-":
        yield _Csv(sys.stdout.buffer, schema)
        return
    kind, place = written_kind(path), str(path)
    whole = writing(place) if is_address(place) else whole_file(Path(path))
    with whole as stream, WRITERS[kind](stream, schema) as writer:
        yield writer


def written_kind(path: str | Path) -> str:
    """The suffix that decides the output format."""
    kind = suffix_of(path)
    if kind not in WRITERS:
        raise InputError(f"{path}: unknown kind of table '{kind}'; use {', '.join(WRITERS)}, or - for CSV")
    return kind


class _Csv:
    """CSV with quotes only where needed, as apps write it."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self._stream = stream
        self._text = [field.name for field in schema if is_text(field.type)]
        head = io.StringIO()
        csv.writer(head, lineterminator="\n").writerow(schema.names)
        stream.write(head.getvalue().encode())
        stream.flush()

    def __enter__(self) -> "_Csv":
        return self

    def __exit__(self, *_: object) -> None: ...

    def write(self, rows: pa.Table) -> None:
        self._stream.write(self._lines(rows))
        self._stream.flush()

    def _lines(self, rows: pa.Table) -> pa.Buffer:
        import pyarrow.csv as pa_csv

        if not rows.num_rows:
            return pa.py_buffer(b"")
        if any(pc.any(pc.match_substring_regex(rows.column(name), _SPECIAL)).as_py() for name in self._text):
            return _with_quotes(rows)
        lines = pa.BufferOutputStream()
        rows = rows.combine_chunks()  # for an empty chunk Arrow writes uninitialised memory
        pa_csv.write_csv(rows, lines, pa_csv.WriteOptions(include_header=False, quoting_style="none"))
        return lines.getvalue()


class _Lines(_Csv):
    """Writes each row separately: the size of a batch depends on where a block of raw text ended."""

    def write(self, rows: pa.Table) -> None:
        for line in self._lines(rows).to_pybytes().splitlines(keepends=True):
            self._stream.write(line)
            self._stream.flush()


def _with_quotes(rows: pa.Table) -> pa.Buffer:
    """Quote only the cells that need it: Arrow would quote all cells of a block, or none."""
    cells = [_quoted(column.cast(pa.string())) for column in rows.columns]
    lines = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
    return pa.py_buffer("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def _quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(
        pc.match_substring_regex(column, _SPECIAL), pc.binary_join_element_wise('"', doubled, '"', ""), column
    )


@contextmanager
def _packed(stream: BinaryIO, schema: pa.Schema) -> Iterator[Sink]:
    """CSV in gzip, whose header contains neither a file name nor a time."""
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        yield _Csv(cast("BinaryIO", packed), schema)


class _Parquet:
    """Parquet with dictionaries for the columns that repeat values: for others, such as time stamps, they only cost.

    Arrow would write one for every column, and gives none up within a block. The first block decides.
    """

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self._stream, self._schema = stream, schema
        self._writer: Any = None

    def __enter__(self) -> "_Parquet":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is None:
            self._writer = self._begun(self._schema.empty_table())
        self._writer.close()

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = self._begun(rows)
        self._writer.write_table(rows)

    def _begun(self, rows: pa.Table) -> Any:
        import pyarrow.parquet as pa_parquet

        repeated = [name for name in rows.column_names if _repeats(rows.column(name))]
        return pa_parquet.ParquetWriter(self._stream, self._schema, use_dictionary=repeated)


def _repeats(column: pa.ChunkedArray) -> bool:
    return not is_primitive(column.type) or 2 * pc.count_distinct(column).as_py() <= len(column)


@contextmanager
def _arrow(stream: BinaryIO, schema: pa.Schema) -> Iterator[Sink]:
    with pa.ipc.new_file(stream, schema) as writer:
        yield _WholeBatches(writer)


class _WholeBatches:
    """One Arrow record batch for each block: its writer would make one of every chunk."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter) -> None:
        self._writer = writer

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows.combine_chunks())


WRITERS: dict[str, Any] = {".csv": _Csv, ".csv.gz": _packed, ".parquet": _Parquet, ".arrow": _arrow, ".feather": _arrow}
