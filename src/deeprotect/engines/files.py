"""Parquet files that hold whole recordings: one task releases one file, from the disk to the disk.

Engines share out the tasks. Bringing recordings together and sorting them, which takes several times as long as the
release, is left for tables that lie otherwise.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deeprotect.bundle import Bundle
from deeprotect.engines.arrow import release_into
from deeprotect.engines.job import WHERE, Job, Part
from deeprotect.engines.part_ledger import LedgerPlace
from deeprotect.errors import TableError, printable
from deeprotect.tables.atomic import whole_folder
from deeprotect.tables.several import is_own
from deeprotect.tables.sinks import open_sink

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
FINISHED = "_SUCCESS"  # as Hadoop and Spark leave it: schedulers wait for it, readers pass over it


class OnWorkers(Protocol):
    """An engine's: a function, called for each on some worker."""

    def __call__(self, work: Callable[[Asked], Answer], each: Sequence[Asked], /) -> list[Answer]: ...


@dataclass(frozen=True)
class Survey:
    """One file: rows and digest of each recording, and whether each is in one piece and in order of time."""

    found: Mapping[Any, tuple[int, str]]
    in_order: bool


def parquet_files(folder: Path) -> list[Path]:
    """All of a folder, as `protect` would read them."""
    return sorted(path for path in folder.rglob("*.parquet") if is_own(path.relative_to(folder)))


def planned(
    paths: Sequence[Path], bundle: Bundle | str | Path, run: OnWorkers, *, place: LedgerPlace | None, **options: Any
) -> Job | None:
    """The job and its parts; None where an engine must bring recordings together and sort them first."""
    job = Job.of(bundle, pq.read_schema(paths[0]), place=place, **options)
    surveys = run(partial(_survey, job=job), paths)
    names = [name for survey in surveys for name in survey.found]
    if len(set(names)) < len(names) or not all(survey.in_order for survey in surveys):
        return None
    found = sorted((name, each) for survey in surveys for name, each in survey.found.items())
    return replace(job, parts={str(name): Part(number, *each) for number, (name, each) in enumerate(found, start=1)})


def write(paths: Sequence[Path], job: Job, out: Path, run: OnWorkers) -> None:
    """All files, which appear under the output's name together; workers write to the same disk."""
    with whole_folder(out) as folder:
        tasks = [(path, folder / f"part-{number:05}.parquet") for number, path in enumerate(paths)]
        run(partial(_written, job=job), tasks)
        (folder / FINISHED).touch()


def _survey(path: Path, job: Job) -> Survey:
    """A recording's digest is of the columns that leave, value for value, however the file is laid out."""
    kept = job.columns.kept
    with pq.ParquetFile(path) as file:
        there = file.schema_arrow
        if any(name not in there.names or there.field(name).type != job.source.field(name).type for name in kept):
            return Survey({}, in_order=False)
        read = list(kept) if job.place else [job.recording, job.time]
        pieces = _Pieces(job, [name for name in read if name != job.recording])
        for batch in file.iter_batches(columns=read):
            pieces.add(batch)
    return pieces.survey()


class _Pieces:
    """Recordings of a file as they come by."""

    def __init__(self, job: Job, columns: Sequence[str]) -> None:
        self._job, self._columns = job, columns
        self._rows: dict[Any, int] = {}
        self._hashes: dict[str, Any] = {}
        self._digests: dict[Any, str] = {}
        self._last: Any = None
        self._when: Any = None
        self._in_order = True

    def add(self, batch: pa.RecordBatch) -> None:
        for name, piece in _runs(batch, self._job.recording):
            if name != self._last:
                self._begin(name)
            self._check_order(piece.column(self._job.time))
            self._rows[name] += piece.num_rows
            for column in self._columns if self._job.place else ():
                self._hashes[column].update(_content(piece.column(column)))

    def survey(self) -> Survey:
        self._end()
        found = {name: (rows, self._digests.get(name, "")) for name, rows in self._rows.items()}
        return Survey(found, self._in_order)

    def _begin(self, name: Any) -> None:
        self._end()
        self._in_order &= name not in self._rows
        self._rows.setdefault(name, 0)
        self._last, self._when = name, None
        self._hashes = {column: hashlib.sha256() for column in self._columns}

    def _end(self) -> None:
        if self._last is not None and self._job.place:
            whole = hashlib.sha256(b"".join(each.digest() for each in self._hashes.values()))
            self._digests[self._last] = f"{whole.hexdigest()} {self._rows[self._last]}"

    def _check_order(self, when: pa.Array) -> None:
        values = when.to_numpy(zero_copy_only=False)
        goes_on = self._when is None or bool(values[0] >= self._when)
        self._in_order &= goes_on and when.null_count == 0 and bool(np.all(values[1:] >= values[:-1]))
        self._when = values[-1]


def _runs(batch: pa.RecordBatch, recording: str) -> Iterator[tuple[Any, pa.RecordBatch]]:
    """Stretches of one recording each, with its name."""
    names = batch.column(recording)
    if names.null_count:
        raise TableError(f"{WHERE}: column '{printable(recording)}' is empty in some rows; name their recording")
    runs = pc.run_end_encode(names.dictionary_decode() if pa.types.is_dictionary(names.type) else names)
    start = 0
    for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield name, batch.slice(start, end - start)
        start = end


def _content(values: pa.Array) -> bytes:
    """The same bytes for the same values, wherever a batch was cut."""
    array = values.to_numpy(zero_copy_only=False)
    return array.tobytes() if array.dtype != object else "".join(f"{value}\n" for value in values.to_pylist()).encode()


def _written(task: tuple[Path, Path], job: Job) -> None:
    path, out = task
    with first_stays(out) as own, pq.ParquetFile(path) as file:
        if own is not None:
            release_into(partial(open_sink, own), file.iter_batches(columns=list(job.columns.kept)), job)


@contextmanager
def first_stays(out: Path) -> Iterator[Path | None]:
    """A name to write under. The first attempt to finish is the one that stays; a later one gets no name."""
    if out.exists():
        yield None
        return
    own = out.with_name(f".{secrets.token_hex(4)}-{out.name}")
    try:
        yield own
        with suppress(FileExistsError):
            os.link(own, out)
    finally:
        own.unlink(missing_ok=True)
