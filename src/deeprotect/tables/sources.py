"""Tables that users bring: CSV, Parquet and Arrow files, standard input, and frames held in memory."""

import csv
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from deeprotect.errors import TableError, printable

BATCH_ROWS = 65_536
BLOCK_BYTES = 4 << 20
HEAD_BYTES = 1 << 20  # a line of column names that is longer than this is none


@dataclass(frozen=True)
class Source:
    """A table that is read once, batch by batch; `where` names it in messages."""

    where: str
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    position: Callable[[], float] = lambda: 0.0  # share that has been read, for a progress bar


@contextmanager
def open_source(table: Any, *, numbers: Iterable[str] | None = None) -> Iterator[Source]:
    """Open a path, '-' or an in-memory table.

    Text files: columns named in `numbers` are numbers and the rest is text; without `numbers` types are guessed.
    """
    if isinstance(table, str | Path):
        with _open_path(str(table), None if numbers is None else set(numbers)) as source:
            yield source
    else:
        frame = as_arrow(table)
        yield Source("the table", frame.schema, iter(frame.to_batches(max_chunksize=BATCH_ROWS)))


def as_arrow(table: Any) -> pa.Table:
    """An Arrow table from pyarrow, pandas, polars or anything with the Arrow stream interface."""
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    raise TableError(
        f"cannot read a table from {type(table).__name__}; give a path, or a pyarrow, pandas or polars table"
    )


@contextmanager
def _open_path(path: str, numbers: set[str] | None) -> Iterator[Source]:
    if path == "-":
        yield _csv(sys.stdin.buffer, numbers, "standard input", size=0)
        return
    kind = Path(path).suffix.lower()
    if kind not in READERS:
        raise TableError(f"{path}: unknown kind of table '{kind}'; use {', '.join(READERS)}, or - for CSV")
    with _regular_file(path) as stream:
        yield READERS[kind](stream, numbers, path, size=os.fstat(stream.fileno()).st_size)


@contextmanager
def _regular_file(path: str) -> Iterator[BinaryIO]:
    """A file of known size. Pipes, devices and folders are refused: they have none, and opening one may never end."""
    try:
        stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
    except FileNotFoundError:
        raise TableError(f"{path}: no such file") from None
    except OSError as error:
        raise TableError(f"{path}: it cannot be opened as a file ({error.strerror})") from None
    with stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise TableError(f"{path}: it is not a regular file; to read a pipe, give - and CSV on standard input")
        yield stream


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe that nobody writes to would wait forever


@contextmanager
def _reading(where: str, kind: str) -> Iterator[None]:
    """Whatever goes wrong, in our words: Arrow's own may quote what stands in the file."""
    try:
        yield
    except (pa.ArrowException, csv.Error, OSError, UnicodeDecodeError):
        raise TableError(f"{where}: it cannot be read as {kind}; is it whole, and of that kind?") from None


def _csv(stream: BinaryIO, numbers: set[str] | None, where: str, *, size: int) -> Source:
    """Where numbers are named, other cells stay text: time stamps come out as they went in, to the letter."""
    import pyarrow.csv as pa_csv

    names = _head(stream, where)
    kinds = {name: pa.float64() if name in numbers else pa.string() for name in names} if numbers is not None else {}
    try:
        reader = pa_csv.open_csv(
            stream,
            read_options=pa_csv.ReadOptions(block_size=BLOCK_BYTES, column_names=names),
            convert_options=pa_csv.ConvertOptions(column_types=kinds, strings_can_be_null=True),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return Source(where, pa.schema([(name, kinds.get(name, pa.string())) for name in names]), iter([]))
        raise TableError(_csv_line(error, names, where)) from None
    return Source(where, reader.schema, _csv_batches(reader, names, where), _share(stream, size))


def _head(stream: BinaryIO, where: str) -> list[str]:
    with _reading(where, "CSV"):
        head = stream.readline(HEAD_BYTES)
        names = next(csv.reader([head.decode("utf-8-sig")]), []) if len(head) < HEAD_BYTES else []
    if not head.strip():
        raise TableError(f"{where}: it is empty; a table starts with a line of column names")
    if not names:
        raise TableError(f"{where}: its first line is too long to hold column names; is it CSV?")
    return names


def _csv_batches(reader: Any, names: list[str], where: str) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except pa.ArrowInvalid as error:
        raise TableError(_csv_line(error, names, where)) from None


def _csv_line(error: Exception, names: list[str], where: str) -> str:
    """Arrow's message without the cell's content: it may be private."""
    text = str(error)
    column = re.match(r"In CSV column #(\d+)", text)  # only at the beginning: further on it quotes what stands there
    row = re.match(r"(?:In CSV column #\d+: |CSV parse error: )?Row #(\d+)", text)
    place = f", row {row[1]}" if row else ""
    if column:
        name = printable(names[int(column[1])])
        return f"{where}: column '{name}'{place} holds text where a number is needed; correct it"
    expected = re.search(r"Expected (\d+) columns, got (\d+)", text)
    if expected:
        return f"{where}{place}: {expected[2]} values under {expected[1]} column names; correct the line"
    return f"{where}: it is not CSV with one value per column in each line{place}"


def _parquet(stream: BinaryIO, _: set[str] | None, where: str, *, size: int) -> Source:
    import pyarrow.parquet as pa_parquet

    with _reading(where, "Parquet"):
        file = pa_parquet.ParquetFile(stream)
        batches = file.iter_batches(batch_size=BATCH_ROWS)
        return Source(where, file.schema_arrow, _whole(batches, where, "Parquet"), _share(stream, size))


def _arrow(stream: BinaryIO, _: set[str] | None, where: str, *, size: int) -> Source:
    with _reading(where, "Arrow"):
        file = pa.ipc.open_file(stream)
        batches = (file.get_batch(index) for index in range(file.num_record_batches))
        return Source(where, file.schema, _whole(batches, where, "Arrow"), _share(stream, size))


def _whole(batches: Iterable[pa.RecordBatch], where: str, kind: str) -> Iterator[pa.RecordBatch]:
    """Batches whose offsets and lengths lie inside their own buffers: a damaged file could point at other memory."""
    with _reading(where, kind):
        for batch in batches:
            batch.validate(full=True)
            yield batch


def _share(stream: BinaryIO, size: int) -> Callable[[], float]:
    return lambda: 0.0 if stream.closed or not size else min(1.0, stream.tell() / size)


READERS = {".csv": _csv, ".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
