"""Outputs: where released tables and reports may go, and writing tables under a temporary name until complete."""

import csv
import gzip
import io
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import is_primitive

from deeprotect.errors import Argument, InputError, OutputExistsError
from deeprotect.tables.addresses import is_address, is_same, is_there, suffix_of, writing
from deeprotect.tables.atomic import refuse_homeless, refuse_irregular, whole_file
from deeprotect.tables.fields import is_text
from deeprotect.tables.sources import refuse_blank

STANDARD = "-"


@dataclass(frozen=True)
class Output:
    """A place to write to, checked before the work: a file, a folder, an address, or "-", standard output.

    Nothing that exists is overwritten unasked, and no input ever.
    """

    path: str

    @classmethod
    def at(cls, path: str | PathLike[str]) -> Self:
        return cls(str(path))

    def check(self, inputs: Iterable[str | Path] = (), *, force: bool) -> None:
        """Refuse to overwrite an existing file without `force`, or an input."""
        self.check_file()
        self.check_no_input(inputs)
        if not force:
            self.check_absent()

    def check_whole_folder(self, inputs: Iterable[str | Path] = (), *, force: bool) -> None:
        """Refuse to replace an existing folder without `force`, or an input."""
        self.check_no_input(inputs)
        if not force:
            self.check_absent()
        self.check_folder()

    def check_report(self, parts: Iterable[str], *, force: bool) -> None:
        """Refuse to overwrite existing files and folders of these names without `force`; others may stay."""
        self.check_folder()
        for part in () if force else parts:
            if os.path.lexists(Path(self.path) / part):
                raise OutputExistsError(self.path, part)

    def check_absent(self, *, replaceable: bool = True) -> None:
        """Refuse to overwrite an existing file or folder."""
        if self.path != STANDARD and (is_there(self.path) if is_address(self.path) else os.path.lexists(self.path)):
            raise OutputExistsError(self.path, replaceable=replaceable)

    def check_no_input(self, inputs: Iterable[str | Path]) -> None:
        """Refuse an output that is an input, under any name."""
        for each in inputs:
            if STANDARD not in (self.path, str(each)) and _same_file(self.path, each):
                raise InputError(
                    f"{self.path}: it is the input, and an output never replaces its input; choose another name"
                )

    def check_apart(self, inputs: Iterable[Path]) -> None:
        """Refuse an output folder in an input folder, or around an input: released files would be read as input."""
        place = Path(self.path).resolve()
        for each in inputs:
            if each.resolve().is_relative_to(place) or (each.is_dir() and place.is_relative_to(each.resolve())):
                raise InputError(
                    f"{self.path}: inputs lie in it, or it lies in a folder of inputs; choose another name"
                )

    def check_file(self) -> None:
        """Refuse an impossible file name, or a folder that is not writable."""
        if self.path == STANDARD or is_address(self.path):
            return
        place = Path(self.path)
        if not place.name or place.name == ".." or place.is_dir():
            raise InputError(f"{self.path}: it is a folder; give the name of a file in it")
        refuse_irregular(place)
        refuse_homeless(place)
        if not os.access(place.parent, os.W_OK | os.X_OK):
            raise InputError(f"{self.path}: the folder {place.parent} cannot be written to; choose another")

    def check_folder(self) -> None:
        """Refuse a path that is not a writable folder and cannot become one; nothing is created."""
        place = Path(self.path)
        if os.path.lexists(place) and not place.is_dir():
            raise InputError(f"{self.path}: it is not a folder; give another ", Argument("out"))
        nearest = next(each for each in (place.absolute(), *place.absolute().parents) if each.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            refused = f"{self.path}: cannot create this folder ({nearest} is not writable); give another "
            raise InputError(refused, Argument("out"))

    def check_kind(self) -> None:
        """Refuse a suffix that no format has."""
        if self.path != STANDARD:
            written_kind(self.path)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of tables: it exists as a folder, ends in a slash, or has no suffix."""
        refuse_blank(self.path)
        if is_address(self.path) and (self.path.endswith("/") or not Path(self.path).suffix):
            raise InputError(f"{self.path}: an output folder must be local; give the address of a file")
        if self.path == STANDARD:
            return False
        return Path(self.path).is_dir() or self.path.endswith("/") or not Path(self.path).suffix


def _same_file(one: str | Path, other: str | Path) -> bool:
    if is_address(one) or is_address(other):
        return is_same(str(one), str(other))
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


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
