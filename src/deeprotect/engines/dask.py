"""Tables on Dask: every partition holds whole recordings, and is released by one task."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deeprotect.bundle import Bundle
from deeprotect.engines import files
from deeprotect.engines.arrow import release_batches
from deeprotect.engines.job import WHERE, Job, Part, refuse_no_place
from deeprotect.engines.part_ledger import LedgerPlace, refuse_file
from deeprotect.errors import DeeprotectError, InputError, TableError, printable
from deeprotect.tables.atomic import whole_folder
from deeprotect.tables.output_checks import refuse_existing

if TYPE_CHECKING:
    from distributed import Client

_MISSING = re.compile(r"No module named '([\w.]+)'")
Survey = dict[Any, tuple[int, str]]
"""Recordings of a partition: rows, and a digest of them."""


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
    """The released Dask frame of a Dask frame, or of Parquet files; with the columns, types and rows of `protect`.

    With a ledger it is computed where and as often as Dask likes, and its draws are made once. Without one it is
    written once to `out`, a new folder that all workers can write to, and read from there.
    """
    import dask.dataframe as dd
    from dask import delayed

    place = LedgerPlace.of(ledger, stream, person=person, app=app)
    if place is None and out is None:
        refuse_no_place()
    if out is not None:
        refuse_existing(Path(out))
    if place is not None:
        _refuse_unshared(place, client)
    paths = [] if isinstance(source, dd.DataFrame) or out is None else _paths(source)
    if out is not None and paths:
        options = {"map": map, "keep_names": keep_names, "relative_time": relative_time}
        by_file = files.planned(paths, bundle, partial(_run, client=client), place=place, **options)
        if by_file is not None:
            files.write(paths, by_file, Path(out).absolute(), partial(_run, client=client))
            return dd.read_parquet(out)
    frame = source if isinstance(source, dd.DataFrame) else dd.read_parquet(source)
    schema = pa.Schema.from_pandas(frame._meta, preserve_index=False)
    job = Job.of(bundle, schema, place=place, map=map, keep_names=keep_names, relative_time=relative_time)
    partitions = frame[list(job.columns.kept)].to_delayed()
    surveys = _computed([delayed(_survey)(each, job.recording) for each in partitions], client)
    job = replace(job, parts=_parts(surveys, job.recording))
    sent = delayed(job, traverse=False)  # once to each worker, however many partitions it has
    if out is None:
        meta = job.output.empty_table().to_pandas()
        return dd.from_delayed([delayed(_released)(each, sent) for each in partitions], meta=meta, verify_meta=False)
    with whole_folder(Path(out)) as folder:
        names = [folder / f"part-{number:05}.parquet" for number in range(len(partitions))]
        tasks = [delayed(_written)(each, sent, name) for each, name in zip(partitions, names, strict=True)]
        _computed(tasks, client)
    return dd.read_parquet(out)


def _survey(frame: Any, recording: str) -> Survey:
    """A digest is a sum over rows, whatever their order: not against forgers, who would gain nothing."""
    import pandas as pd

    if frame[recording].isna().any():
        raise TableError(f"{WHERE}: column '{printable(recording)}' is empty in some rows; name their recording")
    hashes = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    codes, names = pd.factorize(frame[recording])
    sums = np.zeros((2, len(names)), dtype=np.uint64)
    np.add.at(sums[0], codes, hashes)
    np.add.at(sums[1], codes, hashes * hashes)
    rows = np.bincount(codes, minlength=len(names)).tolist()
    return {name: (count, f"{one} {two} {count}") for name, count, one, two in zip(names, rows, *sums, strict=True)}


def _parts(surveys: Sequence[Survey], recording: str) -> dict[str, Part]:
    """Every recording, in the order of its name; each is in one partition."""
    where: dict[Any, int] = {}
    for number, survey in enumerate(surveys):
        for name in survey:
            if name in where:
                raise TableError(
                    f"{WHERE}: recording '{printable(str(name))}' lies in partitions {where[name]} and {number}; "
                    f"bring each together first: frame.shuffle('{printable(recording)}')"
                )
            where[name] = number
    found = ((name, *surveys[where[name]][name]) for name in sorted(where))
    return {str(name): Part(number, rows, digest) for number, (name, rows, digest) in enumerate(found, start=1)}


def _table(frame: Any, job: Job) -> pa.Table:
    kept = pa.schema([job.source.field(name) for name in job.columns.kept])
    table = pa.Table.from_pandas(frame.sort_values([job.recording, job.time]), schema=kept, preserve_index=False)
    batches = list(release_batches(table.to_batches(), job))
    return pa.Table.from_batches(batches, job.output)


def _released(frame: Any, job: Job) -> Any:
    return _table(frame, job).to_pandas()


def _written(frame: Any, job: Job, path: Path) -> None:
    with files.first_stays(path) as own:
        if own is not None:
            pq.write_table(_table(frame, job), own)


def _paths(source: Any) -> list[Path]:
    """Files on a disk, which workers open themselves; none where the source is anything else."""
    given = [source] if isinstance(source, str | Path) else list(source)
    found = [
        [each] if each.is_file() else files.parquet_files(each) for each in (Path(each).absolute() for each in given)
    ]
    return [path for each in found for path in each]


def _run(work: Callable[[Any], Any], each: Sequence[Any], *, client: "Client | None") -> list[Any]:
    from dask import delayed

    shared = delayed(work, traverse=False, pure=False)
    return _computed([shared(one) for one in each], client)


def _refuse_unshared(place: LedgerPlace, client: "Client | None") -> None:
    if client is not None:
        from distributed import LocalCluster

        if not isinstance(client.cluster, LocalCluster):
            refuse_file(place.address, "this cluster")


def _computed(tasks: Sequence[Any], client: "Client | None") -> list[Any]:
    """What goes wrong on a worker, in one line."""
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
