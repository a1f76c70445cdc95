"""Releasing tables: the engine between a source and a sink, in constant memory, row for row.

A data set is released file by file: what is finished stays, and a run that was broken off goes on where it stopped.
A part appears under its name whole, after its draws were charged, or not at all. What a broken run had drawn for the
part it was at lies in a hidden file, which the next run removes before it draws afresh: nobody was given it. Where
somebody could read that file all the same, those windows were released twice, and cost twice.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
import pyarrow as pa

from deeprotect.bundle import Bundle
from deeprotect.bundle.network import one_thread
from deeprotect.errors import DeeprotectError, InputError, quoted_all
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, accompanied
from deeprotect.release.ledger import DrawCounts, Ledger, MemoryLedger
from deeprotect.signals import Frame, Windows
from deeprotect.signals.windowing import Windower
from deeprotect.tables.atomic import LEFT_BEHIND, lock
from deeprotect.tables.columns import BETWEEN, Columns
from deeprotect.tables.data_set import DataSetPart
from deeprotect.tables.fields import fresh_field, saturated
from deeprotect.tables.passing import BesideCells, PassThrough
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
    recordings: int = 1
    short: int = 0  # recordings shorter than a window, each of which costs a whole draw
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
    passing: PassThrough | None = None,
    live: bool = False,
    dry_run: bool = False,
    workers: int = 1,
    progress: Progress = lambda _: None,
    closing: Callable[[ReleaseSummary], None] = lambda _: None,
) -> ReleaseSummary:
    """Release every row of a table: a path, several, '-' or a frame; on any error nothing more is written.

    `mapping` gives the column of a channel where the names differ, `names` the columns of a text file that has none,
    `passing` what becomes of names of recordings and of time stamps. Rows of a `live` table are not held back until
    they are many. A `dry_run` reads and checks all of it, counts draws, and makes none. `closing` is told the summary
    before the output gets its name. Samples outside the public range are clipped and never refused: the policy comes
    with the bundle, and whoever wrote it could otherwise read from the mere existence of an output where the samples
    lie.
    """
    numbers = [mapping.get(name, name) for name in bundle.schema.names]
    passing = passing or PassThrough()
    with open_source(table, numbers=numbers, columns=names, mapping=mapping) as source:
        by_person = ledger.is_by_person
        told: Any = {"where": source.where, "by_person": by_person, "labels": passing.labels}
        columns = Columns.of(source.schema, bundle.schema, mapping=mapping, **told)
        schema = passing.schema(output_schema(source.schema, columns), columns)
        beside_fields = pa.schema([field for field in schema if field.name not in columns.channels])
        cells = BesideCells(columns, passing, beside_fields)
        source_columns = (*source.schema.names, *columns.channels, columns.recording_name or "")
        accounts = _Accounts(
            lambda: ledger.of_table(table, source_columns), by_person=columns.person_name is not None, dry_run=dry_run
        )
        clipped, seen = dict[str, None](), _Seen(bundle.schema.window)
        needed = source.only(columns.read)
        needed = needed if live else needed.by_rows()
        rows = read_rows(needed, columns, bundle.schema, outside=lambda channel, _: clipped.setdefault(channel.name))
        batches = _batches(rows, cells, bundle)

        def summary() -> ReleaseSummary:
            draws = DrawCounts(charged=seen.draws) if dry_run else accounts.draws
            cost = Spending.of(bundle.mechanism.event, draws.paid)
            about = (columns.dropped, passing.unchanged(columns), tuple(clipped))
            renumbered = passing.recording == "numbered" and columns.recording_name is not None
            found = (renumbered, seen.recordings, seen.short)
            return ReleaseSummary(seen.rows, cost, *about, *found, draws=draws, people=accounts.people)

        if dry_run:
            for windows, _ in batches:
                seen.add(windows.frame)
                accounts.name(windows.frame)
                progress(source.position())
            return summary()
        with _charges_said(accounts), open_sink(schema) as sink, one_thread():
            at_once = 1 if live else workers
            for released, beside in accompanied(
                batches, bundle, ledger_of=accounts.of, entropy=entropy, workers=at_once
            ):
                sink.write(_assemble(released, beside, columns, schema))
                seen.add(released.frame)
                progress(source.position())
            closing(done := summary())
    return done


class _Seen:
    """What went by: rows, draws, recordings, and how many of these are shorter than a window."""

    def __init__(self, window: int) -> None:
        self._window, self.rows, self.draws, self.recordings, self.short = window, 0, 0, 0, 0

    def add(self, frame: Frame) -> None:
        counts = frame.windows_of_episodes
        self.rows, self.draws = self.rows + int(frame.lengths.sum()), self.draws + len(counts)
        draws = np.cumsum([0, *(run.count for run in frame.runs)])[:-1]
        begun = draws[[run.first == 0 for run in frame.runs]]
        self.recordings += len(begun)
        self.short += int(np.count_nonzero(frame.lengths[(np.cumsum(counts) - counts)[begun]] < self._window))


class _Accounts:
    """Who is charged for which recording of a table: one account for all, or one for each person.

    The ledger is asked when the first draw is due: a run that is refused before leaves nothing in it.
    """

    def __init__(self, open_book: Callable[[], Ledger], *, by_person: bool, dry_run: bool) -> None:
        self._open_book, self._by_person, self._dry_run = open_book, by_person, dry_run
        self._books: dict[str, Ledger] = {}
        self._named: dict[str, None] = {}

    @cached_property
    def _book(self) -> tuple[Ledger, DrawCounts]:
        book = self._open_book()
        return book, book.tally

    def of(self, recording: str) -> Ledger:
        book, _ = self._book
        if not self._by_person:
            return book
        person = recording.partition(BETWEEN)[0]
        if person not in self._books:
            self._books[person] = book.of_person(person)
        return self._books[person]

    def name(self, frame: Frame) -> None:
        """Who would be charged."""
        if self._by_person:
            self._named |= dict.fromkeys(run.recording.partition(BETWEEN)[0] for run in frame.runs)

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(self._named or self._books)

    @property
    def draws(self) -> DrawCounts:
        """Of this table; the ledger is there from now on, whether or not it charged anything."""
        book, before = self._book
        return sum((each.tally for each in self._books.values()), book.tally - before)

    @property
    def charged(self) -> int:
        """Draws that a ledger will remember."""
        opened = "_book" in vars(self) and not isinstance(self._book[0], MemoryLedger)
        return self.draws.charged if opened else 0


@contextmanager
def _charges_said(accounts: _Accounts) -> Iterator[None]:
    """A release that fails half-way says what it has cost: charges are never taken back."""
    try:
        yield
    except DeeprotectError as failure:
        if accounts.charged:
            failure.args = (f"{failure} ({_counted(accounts.charged, 'draw')} charged before that)",)
        raise
        raise


def _batches(rows: Iterable[Rows], cells: BesideCells, bundle: Pipeline) -> Iterator[tuple[Windows, pa.Table]]:
    """Whole episodes as they fill, each with the cells that pass beside the engine, of the rows of its batch."""
    schema, held = bundle.schema, pa.Table.from_batches([], cells.schema)
    cutter = Windower(schema.window, len(schema.channels), hold=bundle.hold.windows)
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


class ReleaseOne(Protocol):
    """Releases one file; its recordings are numbered on from `after`."""

    def __call__(
        self,
        source: Path,
        target: Path,
        /,
        *,
        after: int,
        progress: Progress,
        closing: Callable[[ReleaseSummary], None],
    ) -> ReleaseSummary: ...


def release_data_set(
    parts: Sequence[DataSetPart],
    folder: Path,
    release_one: ReleaseOne,
    *,
    bundle: Bundle,
    numbered: bool,
    progress: Progress,
) -> ReleaseSummary:
    """Release every part that the folder does not hold yet; a summary of those, and how many it held.

    Where files are `numbered`, a run goes on with the same files only: others would have taken their numbers.
    """
    released: list[ReleaseSummary] = []
    names = "\n".join(str(part.source) for part in parts).encode("utf-8", "surrogatepass")
    files = {"files": hashlib.sha256(names).hexdigest()} if numbered else {}
    after = 0
    with _unfinished(folder, {"bundle": bundle.digest, **files}) as mark:
        for number, part in enumerate(parts):
            target, place = folder / part.place, str(part.place)
            share = _share_of(progress, number, len(parts))
            if target.exists():
                after += mark.recordings(place) if numbered else 0
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                with _progress_said(released, parts, bundle):
                    one = release_one(part.source, target, after=after, progress=share, closing=mark.close_of(place))
                after += _numbers_of(one)
                released.append(one)
            share(1.0)
    return replace(_together(released, bundle), kept=len(parts) - len(released))


def plan_data_set(
    parts: Sequence[DataSetPart], folder: Path, release_one: ReleaseOne, *, bundle: Bundle, progress: Progress
) -> ReleaseSummary:
    """What a run would release and cost: of every part that the folder does not hold yet."""
    new = [part for part in parts if not (folder / part.place).exists()]
    found = []
    for number, part in enumerate(new):
        share = _share_of(progress, number, len(new))
        found.append(release_one(part.source, folder, after=0, progress=share, closing=lambda _: None))
    return replace(_together(found, bundle), kept=len(parts) - len(new))


def _together(each: Sequence[ReleaseSummary], bundle: Bundle) -> ReleaseSummary:
    draws = sum((one.draws for one in each), DrawCounts())
    return ReleaseSummary(
        rows=sum(one.rows for one in each),
        cost=Spending.of(bundle.mechanism.event, draws.paid),
        dropped=tuple(dict.fromkeys(name for one in each for name in one.dropped)),
        unchanged=tuple(dict.fromkeys(name for one in each for name in one.unchanged)),
        clipped=tuple(dict.fromkeys(name for one in each for name in one.clipped)),
        renumbered=any(one.renumbered for one in each),
        recordings=sum(one.recordings for one in each),
        short=sum(one.short for one in each),
        files=len(each),
        draws=draws,
        people=tuple(dict.fromkeys(name for one in each for name in one.people)),
    )


@contextmanager
def _progress_said(released: Sequence[ReleaseSummary], parts: Sequence[DataSetPart], bundle: Bundle) -> Iterator[None]:
    """A run that breaks off says what it has released and what that cost."""
    try:
        yield
    except DeeprotectError as failure:
        done = _together(released, bundle)
        said = f"{len(released)} of {_counted(len(parts), 'file')}, {_counted(done.rows, 'row')}, released before that"
        cost = f" ({done.cost}); the same command goes on from there" if released else ""
        failure.args = (f"{failure}; {said}{cost}",)
        raise


def _numbers_of(summary: ReleaseSummary) -> int:
    """How many its recordings took."""
    return summary.recordings if summary.renumbered else 0


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _share_of(progress: Progress, number: int, count: int) -> Progress:
    return lambda share: progress((number + share) / count)


@dataclass(frozen=True)
class _Mark:
    """The file that says a folder is unfinished: whose run it is, and how many recordings each finished file has."""

    stream: TextIO
    folder: Path

    def close_of(self, place: str) -> Callable[[ReleaseSummary], None]:
        """Writes the number of a file's recordings down, on disk before the file has its name."""

        def close(summary: ReleaseSummary) -> None:
            self._write({"file": place, "recordings": _numbers_of(summary)})

        return close

    def recordings(self, place: str) -> int:
        """Of a finished file, so that the next one's numbers begin behind."""
        found = [line["recordings"] for line in self._lines()[1:] if line["file"] == place]
        if not found:
            raise InputError(
                f"{self.folder}: an earlier version began this release, and did not note its numbers of recordings; "
                "choose another name for all of it"
            )
        return int(found[-1])

    def check(self, run: Mapping[str, str]) -> None:
        """This very run's, from its first line on."""
        lines = self._lines()
        if not lines:
            self._write(run)
        elif lines[0].get("bundle") != run["bundle"]:
            raise InputError(
                f"{self.folder}: another bundle began this release; go on with that one, or choose another name for "
                "all of it"
            )
        elif lines[0] != run:
            raise InputError(
                f"{self.folder}: a run with other files, or with their names kept, began this release; give the same "
                "ones, or choose another name for all of it"
            )

    def _lines(self) -> list[dict[str, Any]]:
        """Without what was cut off in the end: the file that it tells of has no name yet."""
        self.stream.seek(0)
        text = self.stream.read()
        if text.endswith("}"):  # as earlier versions left it
            text += "\n"
            self.stream.write("\n")
        self.stream.truncate(len(text[: text.rfind("\n") + 1].encode()))
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def _write(self, line: Mapping[str, object]) -> None:
        self.stream.write(f"{json.dumps(line)}\n")
        self.stream.flush()
        os.fsync(self.stream.fileno())


@contextmanager
def _unfinished(folder: Path, run: Mapping[str, str]) -> Iterator[_Mark]:
    """A folder that says it is unfinished until all is there; it is taken up again by the same run only."""
    if not folder.parent.is_dir():
        raise InputError(f"{folder}: the folder {folder.parent} does not exist; create it first")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is there and not a folder; choose another name")
    if folder.exists() and any(folder.iterdir()) and not (folder / UNFINISHED).exists():
        raise InputError(f"{folder}: it exists already, and no run left it unfinished; choose another name")
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    with (folder / UNFINISHED).open("a+") as stream:
        lock(stream, folder)
        mark = _Mark(stream, folder)
        mark.check(run)
        for left in folder.rglob("*"):
            if LEFT_BEHIND.fullmatch(left.name):
                left.unlink()
        try:
            yield mark
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
