"""The one function that engines call: rows of whole recordings in, released rows out, in constant memory."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Queue

import pyarrow as pa

from deeprotect.engines.job import Job
from deeprotect.engines.survey import CHANGED, WHERE, plain_names
from deeprotect.errors import TableError, printable
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.releasing import OpenSink, release_table
from deeprotect.tables.fields import plain
from deeprotect.tables.passing import PassThrough
from deeprotect.tables.sinks import Sink

AHEAD = 4
"""Batches that are released before somebody takes the first: memory stays small, and nobody waits for long."""

THREAD = "deeprotect release"


def release_batches(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Batches of whole recordings, each in one piece and in order of time; released ones with the job's columns."""
    for table in _pulled(lambda open_sink: release_into(open_sink, batches, job)):
        yield from table.to_batches()


def release_into(open_sink: OpenSink, batches: Iterable[pa.RecordBatch], job: Job) -> None:
    """The same, pushed into a sink."""
    read = pa.schema([job.source.field(name) for name in job.columns.read])
    reader = pa.RecordBatchReader.from_batches(read, _counted((_as(batch, read) for batch in batches), job))

    @contextmanager
    def numbering(schema: pa.Schema) -> Iterator[Sink]:
        del schema
        with open_sink(job.output) as sink:
            yield _Numbering(sink, job)

    release_table(
        reader,
        numbering,
        job.bundle,
        mapping=job.mapping,
        ledger=job.ledger(),
        entropy=SystemEntropy(),
        passing=PassThrough("named", job.passing.time),  # numbers are the job's: a worker has seen some recordings only
    )


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Engines hand text on in more than one type."""
    return pa.RecordBatch.from_arrays([batch.column(field.name).cast(field.type) for field in schema], schema=schema)


def _counted(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Each recording has the rows that it had when the job was planned, no more and no fewer, or nothing is whole."""
    counts: Counter[str] = Counter()
    person, person_of = job.columns.person_name, dict[str, str]()
    for batch in batches:
        if person is not None:
            _refuse_shared(batch.column(job.recording), batch.column(person), person_of)
        for each in plain_names(batch.column(job.recording)).value_counts().to_pylist():
            name = str(each["values"])
            counts[name] += each["counts"]
            if name not in job.parts or counts[name] > job.parts[name].rows:
                raise TableError(CHANGED)
        yield batch
    if any(rows != job.parts[name].rows for name, rows in counts.items()):
        raise TableError(CHANGED)


def _refuse_shared(recordings: pa.Array, people: pa.Array, person_of: dict[str, str]) -> None:
    """A recording is one person's: each has one number, and one account pays for it."""
    pairs = pa.table([plain(recordings), plain(people)], names=["recording", "person"])
    for each in pairs.group_by(["recording", "person"]).aggregate([]).to_pylist():
        name, person = str(each["recording"]), str(each["person"])
        if person_of.setdefault(name, person) != person:
            raise TableError(
                f"{WHERE}: recording '{printable(name)}' is of two people; give recordings names of their own"
            )


class _Numbering:
    """Recordings under their numbers among all of the table, where they leave so."""

    def __init__(self, sink: Sink, job: Job) -> None:
        self._sink, self._job, self._output = sink, job, job.output
        self._place = self._output.get_field_index(job.recording)

    def write(self, rows: pa.Table) -> None:
        self._sink.write(rows.cast(self._output) if self._job.passing.recording == "named" else self._numbered(rows))

    def _numbered(self, rows: pa.Table) -> pa.Table:
        field = self._output.field(self._place)
        names = rows.column(self._place).combine_chunks().dictionary_encode()
        numbers = [self._job.parts[str(name)].number for name in names.dictionary.to_pylist()]
        return rows.set_column(self._place, field, pa.array(numbers, pa.int64()).cast(field.type).take(names.indices))


class _StoppedError(Exception):
    """Nobody takes the rest."""


def _pulled(push: Callable[[OpenSink], None]) -> Iterator[pa.Table]:
    """What is pushed into a sink, for somebody who pulls: it runs in a thread of its own, a few batches ahead."""
    queue: Queue[pa.Table | BaseException | None] = Queue(AHEAD)
    stopped = threading.Event()

    class Waiting:
        def write(self, rows: pa.Table) -> None:
            if stopped.is_set():
                raise _StoppedError
            queue.put(rows)

    @contextmanager
    def open_sink(schema: pa.Schema) -> Iterator[Sink]:
        del schema
        yield Waiting()

    def run() -> None:
        try:
            push(open_sink)
            queue.put(None)
        except BaseException as failure:
            queue.put(failure)

    thread = threading.Thread(target=run, name=THREAD, daemon=True)
    thread.start()
    try:
        while (found := queue.get()) is not None:
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        stopped.set()
        while thread.is_alive():  # it may wait for room
            if not queue.empty():
                queue.get_nowait()
            thread.join(0.01)
