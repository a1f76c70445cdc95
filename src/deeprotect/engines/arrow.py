"""The function that engines call: rows of complete recordings in, released rows out, in constant memory."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from deeprotect.engines.job import Job
from deeprotect.engines.survey import CHANGED, WHERE, plain_names
from deeprotect.errors import TableError, printable
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.tables import released
from deeprotect.tables.fields import plain
from deeprotect.tables.outputs import open_sink
from deeprotect.tables.passing import PassThrough


def released_rows(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.Table]:
    """Release batches of complete recordings, each in one piece and in order of time, with the job's columns."""
    read = pa.schema([job.source.field(name) for name in job.columns.read])
    reader = pa.RecordBatchReader.from_batches(read, _counted((_as(batch, read) for batch in batches), job))
    named = PassThrough(
        "named", job.passing.time
    )  # the job assigns numbers, because a worker sees only some recordings
    ledger, entropy = job.ledger(), SystemEntropy()
    with released(reader, job.bundle, mapping=job.mapping, ledger=ledger, entropy=entropy, passing=named) as tables:
        for rows in tables:
            yield rows.cast(job.output) if job.passing.recording == "named" else _numbered(rows, job)


def release_batches(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Release as record batches."""
    for rows in released_rows(batches, job):
        yield from rows.to_batches()


def write_released(path: Path, batches: Iterable[pa.RecordBatch], job: Job) -> None:
    """Release into a file, which appears under its name when it is complete."""
    with open_sink(path, job.output) as sink:
        for rows in released_rows(batches, job):
            sink.write(rows)


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast to the schema, because engines pass text in several types."""
    return pa.RecordBatch.from_arrays([batch.column(field.name).cast(field.type) for field in schema], schema=schema)


def _counted(batches: Iterable[pa.RecordBatch], job: Job) -> Iterator[pa.RecordBatch]:
    """Check that each recording has as many rows as when the job was planned."""
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
    """Refuse recordings shared by several people: each has one number, and is charged to one account."""
    pairs = pa.table([plain(recordings), plain(people)], names=["recording", "person"])
    for each in pairs.group_by(["recording", "person"]).aggregate([]).to_pylist():
        name, person = str(each["recording"]), str(each["person"])
        if person_of.setdefault(name, person) != person:
            raise TableError(
                f"{WHERE}: recording '{printable(name)}' is of two people; give recordings names of their own"
            )


def _numbered(rows: pa.Table, job: Job) -> pa.Table:
    """Replace names of recordings by their numbers in the table."""
    place = job.output.get_field_index(job.recording)
    field, names = job.output.field(place), rows.column(place).combine_chunks().dictionary_encode()
    numbers = [job.parts[str(name)].number for name in names.dictionary.to_pylist()]
    return rows.set_column(place, field, pa.array(numbers, pa.int64()).cast(field.type).take(names.indices))
