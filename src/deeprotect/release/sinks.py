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


@contextmanager
def open_sink(path: str | Path, schema: pa.Schema) -> Iterator[Sink]:
    """A writer for a path by its suffix, or CSV on standard output for '-'."""
    if str(path) == "-":
        yield _Csv(sys.stdout.buffer, schema)
        sys.stdout.buffer.flush()
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
        self._text = [field.name for field in schema if pa.types.is_string(field.type)]
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


def _parquet(stream: BinaryIO, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pa_parquet

    return pa_parquet.ParquetWriter(stream, schema)


def _arrow(stream: BinaryIO, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(stream, schema)


WRITERS = {".csv": _Csv, ".parquet": _parquet, ".arrow": _arrow, ".feather": _arrow}
