"""Sources for users' tables: CSV, Parquet and Arrow files, several of them, standard input, and frames in memory."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import Argument, TableError, printable
from deeprotect.policy.known_sensors import RECORDING
from deeprotect.tables.addresses import addresses_of, is_address
from deeprotect.tables.csv_reader import Batches, CsvRequest, Ragged
from deeprotect.tables.fields import plain_field
from deeprotect.tables.files import READERS, closed_in_the_end, kind_of, open_path
from deeprotect.tables.phone_export import is_export
from deeprotect.tables.roles import ColumnMap, roles_of
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


def paths_of(table: str | Path | Sequence[str | Path]) -> list[str]:
    """Files by name, by folder (its tables, in order of their names) or by pattern (`walk-*.csv`)."""
    if not isinstance(table, str | Path):
        paths = [path for each in table for path in paths_of(each)]
        twice = [path for path in paths if paths.count(path) > 1]
        if twice:
            raise TableError(f"{twice[0]}: it is given twice; name each file once")
        if not paths or ("-" in paths and len(paths) > 1):
            raise TableError("give at least one file; standard input (-) cannot be joined with others")
        return paths
    refuse_blank(table)
    if is_address(table):
        kinds = [*READERS]
        return [each for each in addresses_of(str(table)) if each == table or kind_of(each) in kinds]
    if str(table) == "-" or (_is_folder(Path(table)) and kind_of(table)) or is_export(table):
        return [str(table)]
    return [str(path) for path in files_at(str(table))[1]]


def files_at(given: str, *, deep: bool = False) -> tuple[Path, list[Path]]:
    """The file, those in a folder (`deep`: including subfolders), or those that match a pattern; and their folder."""
    path, marks = Path(given), re.compile(r"[*?\[]")
    if is_export(path):
        return path.parent, [path]
    if _is_folder(path):
        kinds = [kind for kind in READERS if deep or kind != ".txt"]  # in a folder of tables these are notes
        inside = sorted(path.rglob("*") if deep else path.iterdir())
        exports = {each for each in inside if each.is_dir() and is_export(each)}
        files = [
            each
            for each in inside
            if is_own(each.relative_to(path))
            and (each in exports or (kind_of(each) in kinds and each.is_file() and not exports & {*each.parents}))
        ]
        if not files:
            raise TableError(f"{given}: the folder holds no table; it looks for {', '.join(kinds)}")
        return path, files
    if marks.search(given) and not path.exists():
        fixed = next(place for place, part in enumerate(path.parts) if marks.search(part))
        root = Path(*path.parts[:fixed])
        files = sorted(each for each in root.glob(str(path.relative_to(root))) if each.is_file())
        if not files:
            raise TableError(f"{given}: no file matches")
        return root, files
    return path.parent, [path]


def is_own(inside: Path) -> bool:
    """Skip names that begin with a dot or an underscore, by convention notes of other programs."""
    return not any(part.startswith((".", "_")) for part in inside.parts)


def refuse_blank(name: str | Path) -> None:
    """Refuse an empty name, which would mean the current folder and all its tables."""
    if not str(name).strip():
        raise TableError("the name of a file is empty; is a shell variable unset?")


@contextmanager
def open_several(paths: list[str], request: CsvRequest, mapping: Mapping[str, str]) -> Iterator[Source]:
    """Read many files as one table. Recordings are numbered by file, `2/walk`: two files may use the same names."""
    where = f"{paths[0]} and {len(paths) - 1} more"
    schemas = [_schema_of(path, request) for path in paths]
    for path, schema in zip(paths[1:], schemas[1:], strict=True):
        _check_alike(path, schema, paths[0], schemas[0])
    recording, done = _recording_among(schemas[0].names, ColumnMap.from_mapping(mapping), where), [0]
    schema = _with_recording(schemas[0], recording)

    def scan(names: Sequence[str] | None) -> Batches:
        fields = schema if names is None else pa.schema([plain_field(schema.field(name)) for name in names])
        for number, path in enumerate(paths, start=1):
            with open_path(path, request) as opened:
                source = opened if names is None else opened.only(names)
                for batch in source.batches:
                    yield _numbered(batch, fields, recording=recording, number=number, path=path)
            done[0] = number

    with closed_in_the_end(scan) as closed:
        yield Source(where, schema, closed, lambda: done[0] / len(paths))


def _recording_among(names: list[str], mapping: ColumnMap, where: str) -> str:
    """The mapped or usual column that names the recording; else a new column."""
    if mapping.get(RECORDING) == "":
        raise TableError("each of several files is a recording; leave out ", Argument("map", {RECORDING: ""}))
    return roles_of(names, mapping, where=where).recording or RECORDING


def _numbered(batch: pa.RecordBatch, schema: pa.Schema, *, recording: str, number: int, path: str) -> pa.RecordBatch:
    if recording in batch.schema.names:
        names = pc.cast(batch.column(recording), pa.string())
        numbered = pc.binary_join_element_wise(str(number), names, "/")
    else:
        numbered = pa.array([str(number)] * batch.num_rows)
    columns = [numbered if each.name == recording else _cast(batch, each, path) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(batch: pa.RecordBatch, field: pa.Field, path: str) -> pa.Array:
    try:
        return pc.cast(batch.column(field.name), field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow's message would quote the cell
        name = printable(field.name)
        raise TableError(f"{path}: column '{name}' has other values than in the first file; convert it") from None


def _with_recording(schema: pa.Schema, recording: str) -> pa.Schema:
    field = pa.field(recording, pa.string())
    if recording in schema.names:
        return schema.set(schema.get_field_index(recording), field)
    return schema.insert(0, field)


def _schema_of(path: str, request: CsvRequest) -> pa.Schema:
    with open_path(path, request) as source:
        return source.schema


def _check_alike(path: str, schema: pa.Schema, first_path: str, first: pa.Schema) -> None:
    for name in {*schema.names} ^ {*first.names}:
        lacking, having = (path, first_path) if name in first.names else (first_path, path)
        raise TableError(
            f"{lacking}: it lacks column '{printable(name)}' of {having}; files read as one table have the same columns"
        )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
