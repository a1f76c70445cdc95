"""One file or standard input as a source: CSV, Parquet, Arrow; closed when reading ends, however it ends."""

import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from deeprotect.errors import TableError
from deeprotect.tables.csv_reader import CsvRequest, read_csv
from deeprotect.tables.source import Source

BATCH_ROWS, BATCH_CELLS = 65_536, 1 << 18
"""A batch has so many rows, fewer where a table is wide: enough to keep Python out of the way, in constant memory."""
COLUMN_BUFFER = 1 << 16
"""Bytes of each Parquet column that are read at a time, instead of the whole column of a row group."""
STANDARD_INPUT = "standard input"
CSV_SUFFIXES = (".csv", ".tsv", ".txt")


@contextmanager
def open_path(path: str, request: CsvRequest) -> Iterator[Source]:
    """One file, or standard input; whatever was opened is closed in the end."""
    if path == "-":
        if sys.stdin is None:
            raise TableError("standard input is closed; give a file, or a pipe to read from")
        with _csv(sys.stdin.buffer, request, STANDARD_INPUT, size=0) as source:
            yield source
        return
    kind = kind_of(path)
    if kind not in READERS:
        raise TableError(f"{path}: unknown kind of table '{kind}'; use {', '.join(READERS)}, or - for CSV")
    with _regular_file(path) as stream, READERS[kind](stream, request, path, size=_size(stream)) as source:
        yield source


def kind_of(path: str | Path) -> str:
    """The suffix that decides; `.csv.gz` is CSV."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return suffixes[-2] if suffixes[-1:] == [".gz"] and suffixes[-2:-1] else "".join(suffixes[-1:])


@contextmanager
def _regular_file(path: str) -> Iterator[BinaryIO]:
    """A file of known size. Pipes, devices and folders are refused: they have none, and opening one may never end."""
    try:
        stream = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
    except FileNotFoundError:
        raise TableError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise TableError(f"{path}: it cannot be opened as a file ({getattr(error, 'strerror', error)})") from None
    with stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise TableError(f"{path}: it is not a regular file; to read a pipe, give - and CSV on standard input")
        yield stream


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe that nobody writes to would wait forever


def _size(stream: BinaryIO) -> int:
    return os.fstat(stream.fileno()).st_size


@contextmanager
def _reading(where: str, kind: str) -> Iterator[None]:
    """Whatever goes wrong, in our words: Arrow's own may quote what stands in the file."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise TableError(f"{where}: it cannot be read as {kind}; is it whole, and of that kind?") from None


@contextmanager
def _csv(stream: BinaryIO, request: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    schema, batches = read_csv(stream, request, where)
    with closing(batches):
        yield Source(where, schema, batches, _share(stream, size))


@contextmanager
def _parquet(stream: BinaryIO, _: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    import pyarrow.parquet as pa_parquet

    with _reading(where, "Parquet"):
        file = pa_parquet.ParquetFile(stream, buffer_size=COLUMN_BUFFER, pre_buffer=False)
        schema = file.schema_arrow
        batches = file.iter_batches(batch_size=rows_at_a_time(schema), use_threads=False)
    with closing(_whole(batches, where, "Parquet")) as whole:
        yield Source(where, schema, whole, _share(stream, size))


@contextmanager
def _arrow(stream: BinaryIO, _: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    with _reading(where, "Arrow"):
        file = pa.ipc.open_file(stream)
        schema, batches = file.schema, (file.get_batch(index) for index in range(file.num_record_batches))
    with closing(_whole(batches, where, "Arrow")) as whole:
        yield Source(where, schema, whole, _share(stream, size))


def _whole(batches: Iterable[pa.RecordBatch], where: str, kind: str) -> Generator[pa.RecordBatch, None, None]:
    """Batches whose offsets and lengths lie inside their own buffers: a damaged file could point at other memory."""
    with _reading(where, kind):
        for batch in batches:
            batch.validate(full=True)
            size = rows_at_a_time(batch.schema)
            yield from (batch.slice(start, size) for start in range(0, batch.num_rows, size))


def rows_at_a_time(schema: pa.Schema) -> int:
    """Of a batch with these columns."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, len(schema))))


def _share(stream: BinaryIO, size: int) -> Callable[[], float]:
    return lambda: 0.0 if stream.closed or not size else min(1.0, stream.tell() / size)


READERS = dict.fromkeys(CSV_SUFFIXES, _csv) | {".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
