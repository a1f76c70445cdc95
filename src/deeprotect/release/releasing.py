"""Releasing tables: the engine between a source and a sink, in constant memory, row for row.

A data set is released file by file: what is finished stays, and a run that was broken off goes on where it stopped.
A part appears under its name whole, after its draws were charged, or not at all. What a broken run had drawn for the
part it was at lies in a hidden file, which the next run removes before it draws afresh: nobody was given it. Where
somebody could read that file all the same, those windows were released twice, and cost twice.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.network import one_thread
from deeprotect.errors import InputError, quoted_all
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, accompanied
from deeprotect.release.ledger import DrawCounts, Ledger
from deeprotect.signals import Windows
from deeprotect.signals.windowing import Cutter
from deeprotect.tables.atomic import LEFT_BEHIND
from deeprotect.tables.columns import BETWEEN, Columns
from deeprotect.tables.data_set import DataSetPart
from deeprotect.tables.fields import fresh_field, saturated
from deeprotect.tables.passing import BesideCells, Passing
from deeprotect.tables.rows import Rows, read_rows
from deeprotect.tables.sinks import Sink
from deeprotect.tables.sources import open_source

Progress = Callable[[float], None]
OpenSink = Callable[[pa.Schema], AbstractContextManager[Sink]]
UNFINISHED = ".deeprotect-unfinished.json"
_SHOWN = 6  # columns that a line names


@dataclass(frozen=True)
class ReleaseSummary:
    """What was released, what it cost, and what was left out."""

    rows: int
    cost: Spending
    dropped: tuple[str, ...]
    unchanged: tuple[str, ...] = ()  # columns that left as they are: time, and names of recordings if asked for
    clipped: tuple[str, ...] = ()  # columns that lay largely outside their public range, as if in another unit
    renumbered: bool = False  # recordings left as 1, 2, … and not under their names
    files: int = 1
    kept: int = 0  # files of a data set that an earlier run had finished: not released, nor paid for, again
    draws: DrawCounts = field(default_factory=DrawCounts)
    people: tuple[str, ...] = ()  # who were charged, each on their own account in the ledger

    @property
    def warning(self) -> str | None:
        """One line for the operator, without a figure; None where there is nothing to say."""
        if not self.clipped:
            return None
        more = f" and {len(self.clipped) - _SHOWN} more" if len(self.clipped) > _SHOWN else ""
        names = quoted_all(self.clipped[:_SHOWN], ", ")
        return f"largely outside the public range, and clipped to it: {names}{more}; is it in another unit?"

    def to_json(self) -> dict[str, Any]:
        """All but the rows themselves."""
        stated = {each.name: getattr(self, each.name) for each in fields(ReleaseSummary)}
        return asdict(ReleaseSummary(**stated))


def output_schema(source: pa.Schema, columns: Columns) -> pa.Schema:
    """The fields that may leave, in order, made anew; metadata stays behind, for it may name what was dropped."""
    return pa.schema([fresh_field(source.field(name), columns.where) for name in columns.kept])


def release_table(
    table: Any,
    open_sink: OpenSink,
    bundle: Pipeline,
    *,
    mapping: Mapping[str, str],
    ledger: Ledger,
    entropy: SystemEntropy,
    names: Sequence[str] | None = None,
    passing: Passing | None = None,
    live: bool = False,
    workers: int = 1,
    progress: Progress = lambda _: None,
) -> ReleaseSummary:
    """Release every row of a table: a path, several, '-' or a frame; on any error nothing more is written.

    `mapping` gives the column of a channel where the names differ, `names` the columns of a text file that has none,
    `passing` what becomes of names of recordings and of time stamps. Rows of a `live` table are not held back until
    they are many. Samples outside the public range are clipped and never refused: the policy comes with the bundle, and
    whoever wrote it could otherwise read from the mere existence of an output where the samples lie.
    """
    numbers = [mapping.get(name, name) for name in bundle.schema.names]
    passing = passing or Passing()
    with open_source(table, numbers=numbers, columns=names, mapping=mapping) as source:
        by_person = ledger.is_by_person
        columns = Columns.of(source.schema, bundle.schema, mapping=mapping, where=source.where, by_person=by_person)
        schema = passing.schema(output_schema(source.schema, columns), columns)
        beside_fields = pa.schema([field for field in schema if field.name not in columns.channels])
        cells = BesideCells(columns, passing, beside_fields)
        book = ledger.of_table(table, (*source.schema.names, *columns.channels, columns.recording_name or ""))
        accounts = _Accounts(book, by_person=columns.person_name is not None)
        clipped, released_rows, before = dict[str, None](), 0, book.tally
        needed = source.only(columns.read)
        needed = needed if live else needed.by_rows()
        rows = read_rows(needed, columns, bundle.schema, outside=lambda channel, _: clipped.setdefault(channel.name))
        batches = _batches(rows, cells, bundle)
        with open_sink(schema) as sink, one_thread():
            at_once = 1 if live else workers
            for released, beside in accompanied(
                batches, bundle, ledger_of=accounts.of, entropy=entropy, workers=at_once
            ):
                sink.write(_assemble(released, beside, columns, schema))
                released_rows += int(released.frame.lengths.sum())
                progress(source.position())
    draws = accounts.tally - before
    renumbered = passing.recording == "numbered" and columns.recording_name is not None
    cost = Spending.of(bundle.mechanism.event, draws.paid)
    unchanged = passing.unchanged(columns)
    told = (columns.dropped, unchanged, tuple(clipped), renumbered)
    return ReleaseSummary(released_rows, cost, *told, draws=draws, people=accounts.people)


@dataclass
class _Accounts:
    """Who is charged for which recording of a table: one account for all, or one for each person."""

    book: Ledger
    by_person: bool
    _books: dict[str, Ledger] = field(default_factory=dict)

    def of(self, recording: str) -> Ledger:
        if not self.by_person:
            return self.book
        person = recording.partition(BETWEEN)[0]
        if person not in self._books:
            self._books[person] = self.book.of_person(person)
        return self._books[person]

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(self._books)

    @property
    def tally(self) -> DrawCounts:
        return sum((each.tally for each in self._books.values()), self.book.tally)


def _batches(rows: Iterable[Rows], cells: BesideCells, bundle: Pipeline) -> Iterator[tuple[Windows, pa.Table]]:
    """Whole episodes as they fill, each with the cells that pass beside the engine, of the rows of its batch."""
    schema, held = bundle.schema, pa.Table.from_batches([], cells.schema)
    cutter = Cutter(schema.window, len(schema.channels), hold=bundle.hold.windows)
    for each in rows:
        held = pa.concat_tables([held, cells.of(each)])
        windows = cutter.push(each.samples, each.recording)
        if len(windows):
            count = int(windows.frame.lengths.sum())
            yield windows, held.slice(0, count)
            held = held.slice(count).combine_chunks()
    windows = cutter.finish()
    if len(windows):
        yield windows, held


def _assemble(released: Windows, beside: pa.Table, columns: Columns, schema: pa.Schema) -> pa.Table:
    rows = released.rows()
    channel = {name: index for index, name in enumerate(columns.channels)}
    arrays = [
        saturated(rows[:, channel[field.name]], field.type) if field.name in channel else beside.column(field.name)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def release_data_set(
    parts: Sequence[DataSetPart],
    folder: Path,
    release_one: Callable[[Path, Path, Progress], ReleaseSummary],
    *,
    bundle: Bundle,
    numbered: bool,
    progress: Progress,
) -> ReleaseSummary:
    """Release every part that the folder does not hold yet; a summary of those, and how many it held.

    Where files are `numbered`, a run goes on with the same files only: others would have taken their numbers.
    """
    released = []
    names = "\n".join(str(part.source) for part in parts).encode("utf-8", "surrogatepass")
    files = {"files": hashlib.sha256(names).hexdigest()} if numbered else {}
    with _unfinished(folder, {"bundle": bundle.digest, **files}):
        for number, part in enumerate(parts):
            target = folder / part.place
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                share = _share_of(progress, number, len(parts))
                released.append(release_one(part.source, target, share))
            progress((number + 1) / len(parts))
    draws = sum((each.draws for each in released), DrawCounts())
    return ReleaseSummary(
        rows=sum(each.rows for each in released),
        cost=Spending.of(bundle.mechanism.event, draws.paid),
        dropped=tuple(dict.fromkeys(name for each in released for name in each.dropped)),
        unchanged=tuple(dict.fromkeys(name for each in released for name in each.unchanged)),
        clipped=tuple(dict.fromkeys(name for each in released for name in each.clipped)),
        renumbered=any(each.renumbered for each in released),
        files=len(released),
        kept=len(parts) - len(released),
        draws=draws,
        people=tuple(dict.fromkeys(name for each in released for name in each.people)),
    )


def _share_of(progress: Progress, number: int, count: int) -> Progress:
    return lambda share: progress((number + share) / count)


@contextmanager
def _unfinished(folder: Path, run: dict[str, str]) -> Iterator[None]:
    """A folder that says it is unfinished until all is there; it is taken up again by the same run only."""
    if not folder.parent.is_dir():
        raise InputError(f"{folder}: the folder {folder.parent} does not exist; create it first")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is there and not a folder; choose another name")
    if folder.exists() and any(folder.iterdir()) and not (folder / UNFINISHED).exists():
        raise InputError(f"{folder}: it exists already, and no run left it unfinished; choose another name")
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    with (folder / UNFINISHED).open("a+") as mark:
        _lock(mark, folder)
        _check_run(mark, folder, run)
        for left in folder.rglob("*"):
            if LEFT_BEHIND.fullmatch(left.name):
                left.unlink()
        try:
            yield
        except BaseException:
            _leave_nothing_empty(folder)
            if new and not any(folder.iterdir()):
                folder.rmdir()
            raise
        (folder / UNFINISHED).unlink()


def _leave_nothing_empty(folder: Path) -> None:
    """A run that finished no file has nothing that the next could go on with."""
    if any(path.is_file() and path.name != UNFINISHED for path in folder.rglob("*")):
        return
    (folder / UNFINISHED).unlink()
    for inner in sorted(folder.rglob("*"), reverse=True):
        inner.rmdir()


def _lock(mark: TextIO, folder: Path) -> None:
    """One run at a time; the system unlocks what belonged to a process that was killed."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{folder}: another run is writing there; wait for it, or choose another name") from None


def _check_run(mark: TextIO, folder: Path, run: dict[str, str]) -> None:
    mark.seek(0)
    found = mark.read()
    if not found:
        mark.write(json.dumps(run))
        mark.flush()
        return
    begun = json.loads(found)
    if begun.get("bundle") != run["bundle"]:
        raise InputError(
            f"{folder}: another bundle began this release; go on with that one, or choose another name for all of it"
        )
    if begun != run:
        raise InputError(
            f"{folder}: a run with other files, or with their names kept, began this release; give the same ones, or "
            "choose another name for all of it"
        )
