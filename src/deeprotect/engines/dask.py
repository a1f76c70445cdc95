"""Tables on Dask: every partition contains complete recordings, and is released by one task."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deeprotect.bundle import Bundle
from deeprotect.engines import files
from deeprotect.engines.arrow import released_rows
from deeprotect.engines.job import Job, refuse_no_place
from deeprotect.engines.ledger_place import LedgerPlace, refuse_file
from deeprotect.engines.survey import WHERE, Found
from deeprotect.errors import DeeprotectError, InputError, TableError, printable
from deeprotect.tables.outputs import Output

if TYPE_CHECKING:
    from distributed import Client

_MISSING = re.compile(r"No module named '([\w.]+)'")


def protect(
    source: Any,
    bundle: Bundle | str | Path,
    *,
    client: "Client | None" = None,
    out: str | Path | None = None,
    ledger: str | None = None,
    stream: str | None = None,
    person: str | None = None,
    app: str = "",
    map: Mapping[str, str] | None = None,
    keep_names: bool = False,
    relative_time: bool = False,
) -> Any:
    """Return the released Dask frame of a Dask frame, or of Parquet files, with the columns, types and rows of
    `protect`.

    With a ledger it is lazy, and draws are made once however often Dask computes it. Without a ledger it is written
    once to `out`, a new folder that all workers can write to, and read from there.
    """
    import dask.dataframe as dd
    from dask import delayed

    place = LedgerPlace.of(ledger, stream, person=person, app=app)
    if place is None and out is None:
        refuse_no_place()
    if out is not None:
        Output.at(out).check_absent(replaceable=False)
    client = _default(client)
    if place is not None:
        _refuse_unshared(place, client)
    paths = [] if isinstance(source, dd.DataFrame) or out is None else _paths(source)
    if out is not None and paths:
        options = {"map": map, "keep_names": keep_names, "relative_time": relative_time}
        by_file = files.planned(paths, bundle, partial(_run, client=client), place=place, **options)
        if by_file is not None:
            by_file.write(Path(out).absolute(), partial(_run, client=client))
            return dd.read_parquet(out)
    frame = source if isinstance(source, dd.DataFrame) else dd.read_parquet(source)
    schema = pa.Schema.from_pandas(frame._meta, preserve_index=False)
    job = Job.of(bundle, schema, place=place, map=map, keep_names=keep_names, relative_time=relative_time)
    partitions = frame[list(job.columns.read)].to_delayed()
    surveys = _computed([delayed(_survey)(each, job) for each in partitions], client)
    _refuse_spread(surveys, job.recording)
    job = job.of_parts(surveys)
    sent = delayed(job, traverse=False)  # sent once to each worker, for any number of partitions
    if out is None:
        meta = job.output.empty_table().to_pandas()
        return dd.from_delayed([delayed(_released)(each, sent) for each in partitions], meta=meta, verify_meta=False)
    with files.folder_of_attempts(Path(out).absolute()) as (folder, attempts):
        names = [folder / f"part-{number:05}.parquet" for number in range(len(partitions))]
        tasks = [delayed(_written)(each, sent, name, attempts) for each, name in zip(partitions, names, strict=True)]
        _computed(tasks, client)
    return dd.read_parquet(out)


def _survey(frame: Any, job: Job) -> Found:
    return job.surveyed(_rows(frame, job).to_batches())


def _refuse_spread(surveys: Sequence[Found], recording: str) -> None:
    """Refuse recordings that lie in several partitions."""
    where: dict[Any, int] = {}
    for number, survey in enumerate(surveys):
        for name in survey:
            if name in where:
                raise TableError(
                    f"{WHERE}: recording '{printable(str(name))}' lies in partitions {where[name]} and {number}; "
                    f"bring each together first: frame.shuffle('{printable(recording)}')"
                )
            where[name] = number


def _rows(frame: Any, job: Job) -> pa.Table:
    read = pa.schema([job.source.field(name) for name in job.columns.read])
    return pa.Table.from_pandas(frame, schema=read, preserve_index=False)


def _table(frame: Any, job: Job) -> pa.Table:
    table = _rows(frame.sort_values([job.recording, job.time]), job)
    return pa.concat_tables([job.output.empty_table(), *released_rows(table.to_batches(), job)])


def _released(frame: Any, job: Job) -> Any:
    return _table(frame, job).to_pandas()


def _written(frame: Any, job: Job, path: Path, attempts: Path) -> None:
    with files.first_stays(path, attempts) as own:
        if own is not None:
            pq.write_table(_table(frame, job), own)


def _paths(source: Any) -> list[Path]:
    """Files on a disk, which workers open themselves; empty for any other source."""
    given = [source] if isinstance(source, str | Path) else list(source)
    found = [
        [each] if each.is_file() else files.parquet_files(each) for each in (Path(each).absolute() for each in given)
    ]
    return [path for each in found for path in each]


def _run(work: Callable[[Any], Any], each: Sequence[Any], *, client: "Client | None") -> list[Any]:
    from dask import delayed

    shared = delayed(work, traverse=False, pure=False)
    return _computed([shared(one) for one in each], client)


def _default(client: "Client | None") -> "Client | None":
    """The client that Dask uses by default."""
    from distributed import default_client

    try:
        return client or default_client()
    except ValueError:
        return None


def _refuse_unshared(place: LedgerPlace, client: "Client | None") -> None:
    if client is not None:
        from distributed import LocalCluster

        if not isinstance(client.cluster, LocalCluster):
            refuse_file(place.address, "this cluster")


def _computed(tasks: Sequence[Any], client: "Client | None") -> list[Any]:
    """Compute tasks; a worker's failure is reported in one line."""
    import dask

    try:
        return list(dask.compute(*tasks) if client is None else client.gather(client.compute(list(tasks))))
    except DeeprotectError:
        raise
    except Exception as failure:
        raise _explained(failure) from None


def _explained(failure: BaseException) -> DeeprotectError:
    causes: list[BaseException] = []
    each: BaseException | None = failure
    while each is not None and each not in causes:
        causes.append(each)
        each = each.__cause__ or each.__context__
    for cause in causes:
        if found := _MISSING.search(str(cause)):
            return InputError(
                f"the workers' Python has no {found[1]}; install deeprotect[dask] there too, in the same version"
            )
    return DeeprotectError(f"Dask failed ({type(failure).__name__}); the workers' logs say why. Nothing was released")
