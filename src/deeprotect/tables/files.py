"""One file, a phone export or standard input as a source: CSV, Parquet, Arrow, Excel, zip; always closed at the end."""

import csv
import io
import os
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from deeprotect.errors import MOST_LISTED, InputError, TableError, printable
from deeprotect.tables.addresses import is_address, reading, size_of, suffix_of
from deeprotect.tables.csv_reader import TEXT, Batches, CsvRequest, read_csv
from deeprotect.tables.fields import LONGEST_CELL, is_text, refuse_long
from deeprotect.tables.phone_export import folder_files, is_export, joined, zipped_files
from deeprotect.tables.source import Scan, Source, rows_at_a_time

_IN_PIECES: Any = {"buffer_size": 1 << 16, "pre_buffer": False}
"""Bytes of each Parquet column that are read at a time, instead of a row group's entire column."""
STANDARD_INPUT = "standard input"
MOST_UNPACKED = 1 << 29  # bytes of a row group or a workbook with a suspicious compression ratio
MOST_TIMES = 100


@contextmanager
def open_path(path: str, request: CsvRequest) -> Iterator[Source]:
    """Open one file, or standard input, and close everything at the end."""
    if path == "-":
        if sys.stdin is None:
            raise TableError("standard input is closed; give a file, or a pipe to read from")
        with _csv(sys.stdin.buffer, request, STANDARD_INPUT, size=0) as source:
            yield source
        return
    if not is_address(path) and is_export(path):
        yield _of_phone(folder_files(path), path)
        return
    kind = kind_of(path)
    if kind not in READERS:
        raise TableError(f"{path}: unknown kind of table '{kind}'; use {', '.join(READERS)}, or - for CSV")
    with opened(path) as stream, READERS[kind](stream, request, path, size=_size(path, stream)) as source:
        yield source


def kind_of(path: str | Path) -> str:
    """The suffix that decides the format; `.csv.gz` is CSV."""
    suffix = suffix_of(path)
    return suffix.removesuffix(".gz") or suffix


def opened(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a local or remote file."""
    return reading(path) if is_address(path) else _regular_file(path)


@contextmanager
def _regular_file(path: str) -> Iterator[BinaryIO]:
    """Open a file of known size. Pipes, devices and folders have none, and opening one may block, so they are
    refused."""
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
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe without a writer would block


def _size(path: str, stream: BinaryIO) -> int:
    return size_of(path) if is_address(path) else os.fstat(stream.fileno()).st_size


@contextmanager
def _reading(where: str, kind: str) -> Iterator[None]:
    """Translate all errors, because Arrow's may quote the file's content."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise TableError(f"{where}: it cannot be read as {kind}; it may be truncated or in another format") from None


@contextmanager
def _csv(stream: BinaryIO, request: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    schema, scan = read_csv(stream, request, where)
    with closed_in_the_end(scan) as closed:
        yield Source(where, schema, closed, _share(stream, size))


@contextmanager
def _parquet(stream: BinaryIO, _: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    import pyarrow.parquet as pa_parquet

    with _reading(where, "Parquet"):
        file = pa_parquet.ParquetFile(stream, **_IN_PIECES)
        schema = file.schema_arrow

    def scan(names: Sequence[str] | None) -> Batches:
        with _reading(where, "Parquet"):
            _check_row_groups(file.metadata, names, where=where)
            chosen = schema.names if names is None else names
            # Dictionaries store repeated text once.
            texts = [name for name in chosen if is_text(schema.field(name).type)]
            again = pa_parquet.ParquetFile(stream, metadata=file.metadata, read_dictionary=texts, **_IN_PIECES)
            batches = again.iter_batches(rows_at_a_time(chosen), columns=names, use_threads=False)
            yield from _whole(batches, where, longest=None if names is None else LONGEST_CELL)

    with closed_in_the_end(scan) as closed:
        yield Source(where, schema, closed, _share(stream, size))


@contextmanager
def _arrow(stream: BinaryIO, _: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    with _reading(where, "Arrow"):
        schema = pa.ipc.open_file(stream).schema

    def scan(names: Sequence[str] | None) -> Batches:
        with _reading(where, "Arrow"):
            fields = [place for place, name in enumerate(schema.names) if names is None or name in names]
            file = pa.ipc.open_file(stream, options=pa.ipc.IpcReadOptions(included_fields=fields))
            batches = map(file.get_batch, range(file.num_record_batches))
            yield from _whole(batches, where, longest=None if names is None else LONGEST_CELL)

    with closed_in_the_end(scan) as closed:
        yield Source(where, schema, closed, _share(stream, size))


@contextmanager
def _excel(stream: BinaryIO, request: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    """Read the first sheet of a workbook, as if it had been exported as CSV."""
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            f"{where}: Excel files need openpyxl: pip install 'deeprotect[prepare]', or export the sheet as CSV"
        ) from None
    with tempfile.TemporaryFile() as text:
        try:
            parts = zipfile.ZipFile(stream).infolist()
            _refuse_far(sum(each.file_size for each in parts), size, what=f"{where}: the workbook")
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            sheet, *others = book.worksheets
            _write_sheet(sheet.iter_rows(values_only=True), text)
        except (zipfile.BadZipFile, KeyError, IndexError, ValueError, OSError, SyntaxError):  # SyntaxError: of XML
            raise TableError(f"{where}: it cannot be read as Excel; it may be truncated or in another format") from None
        text.seek(0)
        read, unread = printable(sheet.title), printable(", ".join(each.title for each in others), MOST_LISTED)
        named = f"{where}, sheet '{read}'" + (f" (not read: {unread})" if unread else "")
        with _csv(text, request, named, size=0) as source:
            note = f"only the first sheet, '{read}', is read; there are also: {unread}" if unread else None
            yield replace(source, where=f"{where}, sheet '{read}'", note=note)


def _write_sheet(rows: Iterable[tuple[Any, ...]], text: BinaryIO) -> None:
    """Write cells as text; empty rows and trailing empty cells are formatting, not data."""
    lines = io.TextIOWrapper(text, encoding="utf-8", newline="", write_through=True)
    writer, width = csv.writer(lines, lineterminator="\n"), 0
    for row in rows:
        filled = 1 + max((place for place, cell in enumerate(row) if cell is not None), default=-1)
        width = width or filled
        if filled:
            cells = [*row, *[None] * width][: max(width, filled)]
            writer.writerow(["" if cell is None else getattr(cell, "isoformat", lambda c=cell: c)() for cell in cells])
    lines.detach()


@contextmanager
def _zip(stream: BinaryIO, _: CsvRequest, where: str, *, size: int) -> Iterator[Source]:
    del size  # the files inside are bounded instead
    yield _of_phone(zipped_files(stream, where), where)


def _of_phone(files: dict[str, bytes], where: str) -> Source:
    table, note = joined(files, where)

    def scan(names: Sequence[str] | None) -> Batches:
        chosen = table if names is None else table.select(list(names))
        yield from chosen.to_batches(max_chunksize=rows_at_a_time(chosen.column_names))

    return Source(where, table.schema, scan, note=note)


@contextmanager
def closed_in_the_end(scan: Callable[[Sequence[str] | None], Batches]) -> Iterator[Scan]:
    """Close everything that was read with the source, even half-way."""
    with ExitStack() as opened:
        yield lambda names: opened.enter_context(closing(scan(names)))


def _whole(batches: Iterable[pa.RecordBatch], where: str, *, longest: int | None) -> Batches:
    """Check that offsets and lengths lie inside each batch's buffers: a damaged file could point at other memory.

    Cells have at most `longest` bytes, or few enough for a batch to fit into memory, because many rows may share one
    text.
    """
    for batch in batches:
        batch.validate()
        size = rows_at_a_time(batch.schema.names)
        for piece in (batch.slice(start, size) for start in range(0, batch.num_rows, size)):
            for name, column in zip(piece.schema.names, piece.columns, strict=True):
                refuse_long(column, longest or MOST_UNPACKED // piece.num_rows, name=name, where=where)
            piece.validate(full=True)
            yield piece


def _check_row_groups(file: Any, names: Collection[str] | None, *, where: str) -> None:
    """Check the sizes of these columns of a Parquet file, or of all: a page is always decompressed entirely."""
    places = [place for place in range(file.num_columns) if names is None or file.schema.column(place).path in names]
    for group in map(file.row_group, range(file.num_row_groups)):
        if group.total_byte_size <= MOST_UNPACKED:  # do not inspect columns of a damaged file: Arrow would abort
            continue
        columns = [group.column(place) for place in places]
        unpacked = sum(each.total_uncompressed_size for each in columns)
        packed = sum(each.total_compressed_size for each in columns)
        _refuse_far(unpacked, packed, what=f"{where}: a row group")


def _refuse_far(unpacked: int, packed: int, *, what: str) -> None:
    """Refuse data that expands beyond memory at a ratio that only an attack has."""
    if unpacked > MOST_UNPACKED and unpacked > MOST_TIMES * packed:
        raise TableError(
            f"{what} unpacks to more than {MOST_UNPACKED >> 20} MB; write smaller ones, or leave out "
            "the columns that expand so much"
        )


def _share(stream: BinaryIO, size: int) -> Callable[[], float]:
    return lambda: 0.0 if stream.closed or not size else min(1.0, stream.tell() / size)


READERS = dict.fromkeys(TEXT, _csv) | {
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".xlsx": _excel,
    ".zip": _zip,
}
