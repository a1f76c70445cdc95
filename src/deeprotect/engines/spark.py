"""Tables on Spark: recordings are distributed, each sorted by time and released on one worker."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deeprotect import errors
from deeprotect.bundle import Bundle
from deeprotect.engines import files
from deeprotect.engines.arrow import release_batches, write_released
from deeprotect.engines.job import Job, refuse_no_place, refuse_speculation
from deeprotect.engines.ledger_place import LedgerPlace, refuse_file
from deeprotect.engines.survey import CHANGED, Found, refuse_unnamed
from deeprotect.errors import DeeprotectError, InputError, TableError, printable
from deeprotect.tables.outputs import Output

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import Column, DataFrame, SparkSession

SPECULATION = "spark.speculation"
# The second version of Hadoop's committer shows files of one attempt while another may still be chosen.
COMMITTER = "mapreduce.fileoutputcommitter.algorithm.version"
COMMITTERS = {
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.hadoop.outputCommitCoordination.enabled": "true",
}
TABLE = "table:"
_RAISED = re.compile(r"deeprotect\.errors\.(\w+): (.+)")
_CAUSED = re.compile(r"Caused by: ([\w.$]+)(?:: ([^\n]+))?")
_FAILED = re.compile(r"\b((?:[a-z]\w*\.)*[A-Z]\w+(?:Error|Exception))\b(?:: ([^\n]+))?")
_SYSTEM = re.compile(r"java\.(io|net|nio)\.|java\.lang\.OutOfMemoryError|org\.apache\.hadoop\.")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


def protect(
    dataframe: "DataFrame",
    bundle: Bundle | str | Path,
    *,
    out: str | None = None,
    ledger: str | None = None,
    stream: str | None = None,
    person: str | None = None,
    app: str = "",
    map: Mapping[str, str] | None = None,
    keep_names: bool = False,
    relative_time: bool = False,
) -> "DataFrame":
    """Return the released table, with the columns, types and rows that `protect` gives.

    With a ledger it is lazy, and draws are made once however often Spark computes it. Without a ledger it is written
    once to `out`, a folder of Parquet or table:NAME, and read from there.
    """
    place = LedgerPlace.of(ledger, stream, person=person, app=app)
    if place is None and out is None:
        refuse_no_place()
    job = planned(dataframe, bundle, place=place, map=map, keep_names=keep_names, relative_time=relative_time)
    if out is None:
        return release(dataframe, job)
    write(dataframe, job, out)
    return read(dataframe.sparkSession, out)


def refuse_at_once(source: str, out: str, bundle: Bundle, **options: Any) -> None:
    """Check a folder without Spark, which takes seconds to start."""
    if paths := _files(source, out):
        Output.at(out).check_absent(replaceable=False)
        Job.of(bundle, pq.read_schema(paths[0]), **options)


def protect_folder(
    session: "SparkSession",
    source: str,
    out: str,
    bundle: Bundle | str | Path,
    *,
    place: LedgerPlace | None,
    **options: Any,
) -> Job:
    """Release `source` into `out`; each is a folder of Parquet, or table:NAME.

    Files on a disk that all workers share are released one by one if every recording lies entirely and in order in one
    of them; any other table is distributed by recording, and sorted.
    """
    if paths := _files(source, out):
        Output.at(out).check_absent(replaceable=False)
        _refuse_unsafe(session, place)
        run = partial(_run, session)
        by_file = files.planned(paths, bundle, run, place=place, **options)
        if by_file is not None:
            by_file.write(Path(out).absolute(), run)
            return by_file.whole
    table = read(session, source)
    job = planned(table, bundle, place=place, **options)
    write(table, job, out)
    return job


def planned(
    dataframe: "DataFrame",
    bundle: Bundle | str | Path,
    *,
    place: LedgerPlace | None,
    map: Mapping[str, str] | None = None,
    keep_names: bool = False,
    relative_time: bool = False,
) -> Job:
    """The job and its parts, after every check that needs no worker."""
    _refuse_unsafe(dataframe.sparkSession, place)
    source = arrow_schema(dataframe)
    job = Job.of(bundle, source, place=place, map=map, keep_names=keep_names, relative_time=relative_time)
    return job.of_parts(_surveys(dataframe, job))


def release(dataframe: "DataFrame", job: Job) -> "DataFrame":
    """The released frame, lazily."""
    from pyspark.sql.pandas.types import from_arrow_schema

    shared = dataframe.sparkSession.sparkContext.broadcast(job)
    rows = _ordered(dataframe, job)
    return rows.mapInArrow(_on_worker(shared), from_arrow_schema(job.output, prefer_timestamp_ntz=True))


def write(dataframe: "DataFrame", job: Job, out: str) -> None:
    """Release once; the output appears when all parts are complete, and a worker's failure is reported in one line.

    Workers write to a folder on a disk themselves: returning rows to Spark costs as much as the release.
    """
    if _is_on_disk(dataframe.sparkSession, out):
        _write_by_workers(dataframe, job, Path(out).absolute())
        return
    writer = release(dataframe, job).write.option(COMMITTER, "1").mode("errorifexists")
    with said_in_one_line():
        if out.startswith(TABLE):
            writer.saveAsTable(out.removeprefix(TABLE))
        else:
            writer.parquet(out)


def _ordered(dataframe: "DataFrame", job: Job) -> "DataFrame":
    """Put every recording entirely into one partition, its rows ordered by time."""
    rows = dataframe.select(*map(column, job.columns.read))
    return rows.repartition(column(job.recording)).sortWithinPartitions(column(job.recording), column(job.time))


def _is_on_disk(session: "SparkSession", out: str) -> bool:
    """Whether the output is a path on a local disk: not a table, an address, or a path on a default remote file
    system."""
    default = session.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS") or "file:///"
    return not out.startswith(TABLE) and "://" not in out and str(default).startswith("file:")


def _write_by_workers(dataframe: "DataFrame", job: Job, out: Path) -> None:
    Output.at(out).check_absent(replaceable=False)
    shared = dataframe.sparkSession.sparkContext.broadcast(job)
    with files.folder_of_attempts(out) as (folder, attempts):
        with said_in_one_line():
            _ordered(dataframe, job).mapInArrow(_writing(shared, folder, attempts), "part long").collect()
        written = sorted(folder.glob("part-*"))
        if sum(pq.read_metadata(part).num_rows for part in written) != sum(part.rows for part in job.parts.values()):
            raise TableError(CHANGED)
        if not written:
            pq.write_table(job.output.empty_table(), folder / "part-00000.parquet")


def read(session: "SparkSession", source: str) -> "DataFrame":
    """Read a folder of Parquet, or table:NAME."""
    with said_in_one_line():
        return session.table(source.removeprefix(TABLE)) if source.startswith(TABLE) else session.read.parquet(source)


def arrow_schema(dataframe: "DataFrame") -> pa.Schema:
    """The schema of the columns that Arrow supports; others cannot be channels, and are dropped."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    fields = []
    for field in dataframe.schema:
        try:
            fields += list(to_arrow_schema(StructType([field]), timezone="UTC"))
        except PySparkException:
            fields.append(pa.field(field.name, pa.null()))
    return pa.schema(fields)


class said_in_one_line:  # noqa: N801
    """Re-raises a worker's DeeprotectError; of other failures it reports only the kind."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if isinstance(failure, PySparkException | Py4JError):
            raise _explained(str(failure)) from None


def _explained(text: str) -> DeeprotectError:
    if found := _RAISED.search(text):
        kind = getattr(errors, found[1], DeeprotectError)
        counted = " (rows are counted on one worker, in order of recording and time)" if " row " in found[2] else ""
        return kind(found[2].strip() + counted)
    if found := _MISSING.search(text):
        return InputError(
            f"the workers' Python has no {found[1]}; install deeprotect there too, in the same version, and say which "
            "Python it is: PYSPARK_PYTHON, or --conf spark.pyspark.python"
        )
    if "PATH_ALREADY_EXISTS" in text or "TABLE_OR_VIEW_ALREADY_EXISTS" in text:
        return InputError("the output is there already; choose another name")
    if "PATH_NOT_FOUND" in text or "TABLE_OR_VIEW_NOT_FOUND" in text:
        return InputError("there is no such input; give a folder of Parquet, or table:NAME")
    if "UNABLE_TO_INFER_SCHEMA" in text or "CANNOT_READ_FILE_FOOTER" in text or "is not a Parquet file" in text:
        return InputError("the input is not a folder of Parquet; convert it, or give table:NAME")
    if "FileNotFoundError" in text or "PermissionError" in text:
        return InputError(
            "a worker cannot use the folders under these names; put them on a disk that all machines share"
        )
    return DeeprotectError(f"Spark failed: {_cause(text)}; its log says more")


def _cause(text: str) -> str:
    """The last cause in a chain; its message only if it comes from the system and contains no cells, else its kind."""
    found = _CAUSED.findall(text) or _FAILED.findall(text)
    if not found:
        return "no reason given"
    kind, words = found[-1]
    name = kind.rpartition(".")[2]
    return f"{name}: {printable(words, 200)}" if words and _SYSTEM.match(kind) else name


def is_local(master: str) -> bool:
    """Whether everything runs in one process of this machine."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def column(name: str | None) -> "Column":
    """A column by name; dots and spaces are part of the name."""
    from pyspark.sql import functions

    return functions.col(f"`{str(name).replace('`', '``')}`")


def _refuse_unsafe(session: "SparkSession", place: LedgerPlace | None) -> None:
    """Refuse settings that would draw twice: two attempts without a ledger, or a ledger for each machine."""
    context = session.sparkContext
    if place is None:
        if context.getConf().get(SPECULATION, "false").lower() != "false":  # Spark takes TRUE for true
            refuse_speculation(SPECULATION)
        for setting, usual in COMMITTERS.items():
            if session.conf.get(setting, usual) != usual:
                raise InputError(
                    f"without a ledger, {setting} must be Spark's own {usual}: another committer may show "
                    "the draws of a discarded attempt. Set it back, or give a ledger"
                )
    if place is not None and not is_local(context.master):
        refuse_file(place.address, f"the cluster at {printable(context.master)}")


def _files(source: str, out: str) -> list[Path]:
    """Parquet files of a folder visible to this machine; none for tables and addresses."""
    if any(TABLE in each or "://" in each for each in (source, out)) or not Path(source).is_dir():
        return []
    return files.parquet_files(Path(source).absolute())


def _run(session: "SparkSession", work: Callable[[Any], Any], each: Sequence[Any]) -> list[Any]:
    with said_in_one_line():
        found = session.sparkContext.parallelize(each, len(each)).map(work).collect()
    return list(found)


def _surveys(dataframe: "DataFrame", job: Job) -> Iterator[Found]:
    """Survey every recording in one pass; with a ledger, returns each task's findings."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = dataframe.select(*map(column, job.columns.kept))  # without the person: digests cover released columns
    name = job.source.field(job.recording).type
    if job.place is None:
        found = rows.groupBy(column(job.recording).alias("name")).agg(f.count(f.lit(1)).alias("rows"))
        found = found.select("name", "rows", f.lit("0").alias("first"), f.lit("0").alias("second"))
    else:
        schema = pa.schema([("name", name), ("rows", pa.int64()), ("first", pa.string()), ("second", pa.string())])
        found = rows.mapInArrow(_survey_of(job, schema), from_arrow_schema(schema))
    with said_in_one_line():
        each = found.collect()
    refuse_unnamed(row["name"] is None for row in each)
    return ({row["name"]: (row["rows"], int(row["first"]), int(row["second"]))} for row in each)


def _survey_of(job: Job, schema: pa.Schema) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = job.surveyed(batches)
        rows = [
            dict(zip(schema.names, (name, count, *map(str, sums)), strict=True))
            for name, (count, *sums) in found.items()
        ]
        yield pa.RecordBatch.from_pylist(rows, schema)

    return work


def _on_worker(shared: "Broadcast[Job]") -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return release_batches(batches, shared.value)

    return work


def _writing(
    shared: "Broadcast[Job]", folder: Path, attempts: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        first, context = next(batches, None), TaskContext.get()
        if first is not None and context is not None:
            number = context.partitionId()
            with files.first_stays(folder / f"part-{number:05}.parquet", attempts) as own:
                if own is not None:
                    write_released(own, chain([first], batches), shared.value)
        yield pa.RecordBatch.from_pylist([], pa.schema([("part", pa.int64())]))

    return work
