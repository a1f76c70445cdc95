"""Parquet files with complete recordings: one task releases one file, from disk to disk.

The engine distributes the tasks. Only tables with another layout need gathering and sorting, which takes several times
as long as the release.
"""

import os
import secrets
import shutil
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
from deeprotect.engines.arrow import write_released
from deeprotect.engines.job import Job, Part
from deeprotect.engines.ledger_place import LedgerPlace
from deeprotect.engines.survey import Found, plain_names
from deeprotect.tables.atomic import whole_folder
from deeprotect.tables.sources import is_own

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
FINISHED = "_SUCCESS"  # Hadoop's and Spark's marker: schedulers wait for it, readers ignore it


class OnWorkers(Protocol):
    """An engine's map function: calls a function for each item on some worker."""

    def __call__(self, work: Callable[[Asked], Answer], each: Sequence[Asked], /) -> list[Answer]: ...


@dataclass(frozen=True)
class FileSurvey:
    """Survey of one file: its recordings, and whether each is in one piece and in order of time."""

    found: Found
    in_order: bool


def parquet_files(folder: Path) -> list[Path]:
    """All files of a folder that `protect` would read; none if folder names hold the values of a column
    (recording=…/)."""
    found = sorted(path for path in folder.rglob("*.parquet") if is_own(path.relative_to(folder)))
    return [] if any("=" in part for path in found for part in path.relative_to(folder).parts[:-1]) else found


def planned(
    paths: Sequence[Path], bundle: Bundle | str | Path, run: OnWorkers, *, place: LedgerPlace | None, **options: Any
) -> "FileJob | None":
    """The job for each file; None if an engine must first gather and sort recordings."""
    job = Job.of(bundle, pq.read_schema(paths[0]), place=place, **options)
    surveys = run(partial(_survey, job=job), paths)
    names = [name for survey in surveys for name in survey.found]
    if len(set(names)) < len(names) or not all(survey.in_order for survey in surveys):
        return None
    whole = job.of_parts([survey.found for survey in surveys])
    return FileJob(whole, tuple(zip(paths, (survey.found for survey in surveys), strict=True)))


@dataclass(frozen=True)
class FileJob:
    """A job, and the recordings of each file."""

    whole: Job
    files: tuple[tuple[Path, Found], ...]

    def write(self, out: Path, run: OnWorkers) -> None:
        """Release all files, which appear under the output's name together; workers write to the same disk."""
        job = replace(self.whole, parts={})
        with folder_of_attempts(out) as (folder, attempts):
            tasks = [
                Task(path, folder / f"part-{number:05}.parquet", attempts, self._parts(found))
                for number, (path, found) in enumerate(self.files)
            ]
            run(partial(_written, job=job), tasks)

    def _parts(self, found: Found) -> dict[str, Part]:
        """The parts of one file for its task, because a table may have a million."""
        return {str(name): self.whole.parts[str(name)] for name in found}


@dataclass(frozen=True)
class Task:
    """One file to release, its output, and the folder for attempts."""

    source: Path
    out: Path
    attempts: Path
    parts: Mapping[str, Part]


def _survey(path: Path, job: Job) -> FileSurvey:
    kept, needed = job.columns.kept, job.columns.read
    with pq.ParquetFile(path) as file:
        there = file.schema_arrow
        if any(name not in there.names or there.field(name).type != job.source.field(name).type for name in needed):
            return FileSurvey({}, in_order=False)
        survey, order = job.survey(), _Order(job)
        for batch in file.iter_batches(columns=list(kept) if job.place else [job.recording, job.time]):
            survey.add(batch)
            order.add(batch)
    return FileSurvey(survey.found, order.holds)


class _Order:
    """Checks that each recording of a file is in one piece, with its rows in order of time."""

    def __init__(self, job: Job) -> None:
        self._job, self.holds = job, True
        self._seen: set[Any] = set()
        self._last: Any = None
        self._when: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        runs = pc.run_end_encode(plain_names(batch.column(self._job.recording)))
        start = 0
        for name, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            self._goes_on(name, batch.column(self._job.time).slice(start, end - start))
            start = end

    def _goes_on(self, name: Any, when: pa.Array) -> None:
        if name != self._last:
            self.holds &= name not in self._seen
            self._seen.add(name)
            self._last, self._when = name, None
        values = when.to_numpy(zero_copy_only=False)
        later = self._when is None or bool(values[0] >= self._when)
        self.holds &= later and when.null_count == 0 and bool(np.all(values[1:] >= values[:-1]))
        self._when = values[-1]


def _written(task: Task, job: Job) -> None:
    job = replace(job, parts=task.parts)
    with first_stays(task.out, task.attempts) as own, pq.ParquetFile(task.source) as file:
        if own is not None:
            write_released(own, file.iter_batches(columns=list(job.columns.read)), job)


@contextmanager
def folder_of_attempts(out: Path) -> Iterator[tuple[Path, Path]]:
    """Two folders: one for finished files, which gets its final name at the end, and one for attempts.

    The folder of attempts is moved away first, so that a leftover attempt on an abandoned worker finds neither.
    """
    with whole_folder(out) as folder:
        attempts = folder / ".attempts"
        attempts.mkdir()
        yield folder, attempts
        gone = folder.with_name(f"{folder.name}.attempts")
        attempts.rename(gone)
        shutil.rmtree(gone)
        (folder / FINISHED).touch()


@contextmanager
def first_stays(out: Path, attempts: Path) -> Iterator[Path | None]:
    """A name to write under. The first attempt to finish keeps it; a later one gets no name."""
    if out.exists():
        yield None
        return
    own = attempts / f"{secrets.token_hex(4)}-{out.name}"
    try:
        yield own
        with suppress(FileExistsError):
            os.link(own, out)
    finally:
        own.unlink(missing_ok=True)
