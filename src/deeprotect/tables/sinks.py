"""Where released tables go: written under a temporary name and renamed only when whole."""

import csv
import io
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import TableError

BLOCK_ROWS = 65_536  # of every row group, record batch and stretch of CSV, however the input was cut up


class Sink(Protocol):
    """Takes released rows; nothing is visible under the final name before the sink is closed without error."""

    def write(self, rows: pa.Table) -> None: ...


class Memory:
    """Keeps released rows, for tables that came from memory."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._tables: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        self._tables.append(rows)

    def table(self) -> pa.Table:
        return pa.concat_tables([self._schema.empty_table(), *self._tables]).combine_chunks()


class _Blocks:
    """Hands rows on in blocks of a fixed number, so that a layout tells nothing but the number of rows.

    Blocks of CSV are so many bytes, and how many rows those are follows the number of digits of the raw samples.
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
                self._sink.write(table.slice(start, BLOCK_ROWS).combine_chunks())
            self._held, self._rows = [table.slice(whole).combine_chunks()], self._rows - whole

    def finish(self) -> None:
        if self._rows:
            self._sink.write(pa.concat_tables(self._held).combine_chunks())


@contextmanager
def open_sink(path: str | Path, schema: pa.Schema) -> Iterator[Sink]:
    """A writer for a path by its suffix, or CSV on standard output for '-'."""
    with _writer(path, schema) as writer:
        blocks = _Blocks(writer)
        yield blocks
        blocks.finish()  # not after an error: what is held back then never leaves


@contextmanager
def _writer(path: str | Path, schema: pa.Schema) -> Iterator[Sink]:
    if str(path) == "-":
        yield _Csv(sys.stdout.buffer, schema)
        return
    kind = Path(path).suffix.lower()
    if kind not in WRITERS:
        raise TableError(f"{path}: unknown kind of table '{kind}'; use {', '.join(WRITERS)}, or - for CSV")
    with whole_file(Path(path)) as stream, WRITERS[kind](stream, schema) as writer:
        yield writer


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name complete, or not at all."""
    if not path.parent.is_dir():
        raise TableError(f"{path}: the folder {path.parent} does not exist; create it first")
    if path.exists() and not path.is_file():
        raise TableError(f"{path}: it is there and not a regular file; choose another name")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class _Csv:
    """CSV with bare cells wherever quoting is not needed, as apps write it."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self._stream = stream
        self._text = [field.name for field in schema if _is_text(field.type)]
        head = io.StringIO()
        csv.writer(head, lineterminator="\n").writerow(schema.names)
        stream.write(head.getvalue().encode())

    def __enter__(self) -> "_Csv":
        return self

    def __exit__(self, *_: object) -> None: ...

    def write(self, rows: pa.Table) -> None:
        import pyarrow.csv as pa_csv

        special = any(pc.any(pc.match_substring_regex(rows.column(name), '[",\r\n]')).as_py() for name in self._text)
        style = "needed" if special else "none"
        options = pa_csv.WriteOptions(include_header=False, quoting_style=style)
        pa_csv.write_csv(rows, self._stream, options)
        self._stream.flush()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _parquet(stream: BinaryIO, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pa_parquet

    return pa_parquet.ParquetWriter(stream, schema)


def _arrow(stream: BinaryIO, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(stream, schema)


WRITERS = {".csv": _Csv, ".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
