"""The one function that engines call: rows of whole recordings in, released rows out, in constant memory."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Queue

import pyarrow as pa

from deeprotect.engines.job import Job
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.releasing import OpenSink, release_table
from deeprotect.tables.passing import Passing
from deeprotect.tables.sinks import Sink

AHEAD = 4
"""Batches that are released before somebody takes the first: memory stays small, and nobody waits for long."""

THREAD = "deeprotect release"


def release_batches(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Batches of whole recordings, each in one piece and in order of time; released ones with the job's columns."""
    columns = job.columns
    kept = pa.schema([job.source.field(name) for name in columns.kept])
    reader = pa.RecordBatchReader.from_batches(kept, (_as(batch, kept) for batch in batches))

    def release(open_sink: OpenSink) -> None:
        passing = Passing("named", job.passing.time)  # numbers are the job's: a worker has seen some recordings only
        release_table(
            reader,
            open_sink,
            job.bundle,
            mapping=job.mapping,
            ledger=job.ledger(),
            entropy=SystemEntropy(),
            passing=passing,
        )

    for table in _pulled(release):
        yield from _numbered(table, job).to_batches()


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Engines hand text on in more than one type."""
    return pa.RecordBatch.from_arrays([batch.column(field.name).cast(field.type) for field in schema], schema=schema)


def _numbered(table: pa.Table, job: Job) -> pa.Table:
    """Recordings under their numbers among all of the table, where they leave so."""
    if job.passing.recording == "named":
        return table.cast(job.output)
    place = table.schema.get_field_index(job.recording)
    names = table.column(place).combine_chunks().dictionary_encode()
    kind = job.output.field(place).type
    numbers = pa.array([job.parts[str(name)].number for name in names.dictionary.to_pylist()], pa.int64()).cast(kind)
    return table.set_column(place, job.output.field(place), numbers.take(names.indices))


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
