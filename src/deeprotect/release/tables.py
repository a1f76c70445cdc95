"""Releases a table through the engine in constant memory, row for row, as the rows are taken."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deeprotect.bundle.network import one_thread
from deeprotect.errors import DeeprotectError, quoted_all
from deeprotect.privacy.accounting import Spending
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, accompanied
from deeprotect.release.ledger import DrawCounts, Ledger, MemoryLedger
from deeprotect.signals import Frame, RecordingName, Windows
from deeprotect.signals.windowing import Windower
from deeprotect.tables.columns import Columns, Rows, read_rows
from deeprotect.tables.fields import fresh_field, saturated
from deeprotect.tables.outputs import Sink
from deeprotect.tables.passing import BesideCells, PassThrough
from deeprotect.tables.sources import open_source

Progress = Callable[[float], None]
_SHOWN = 6  # columns that a line names


@dataclass(frozen=True)
class ReleaseSummary:
    """What was released, its cost, and what was left out."""

    rows: int
    cost: Spending
    dropped: tuple[str, ...]
    unchanged: tuple[str, ...] = ()  # columns that were released unchanged: time, and names of recordings if asked for
    clipped: tuple[str, ...] = ()  # columns that lay largely outside their public range, as if in another unit
    renumbered: bool = False  # recordings were released as 1, 2, …, without their names
    recordings: int = 1
    short: int = 0  # recordings shorter than a window, each of which costs a whole draw
    files: int = 1
    kept: int = 0  # files that an earlier run had finished; they are neither released nor charged again
    draws: DrawCounts = field(default_factory=DrawCounts)
    people: tuple[str, ...] = ()  # people who were charged, each to their own account in the ledger

    @property
    def warning(self) -> str | None:
        """A line for the operator, without figures; None if there is no warning."""
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
    """The fields of the output, in order, without metadata, which could name what was dropped."""
    return pa.schema([fresh_field(source.field(name), columns.where) for name in columns.kept])


@contextmanager
def released(
    table: Any,
    bundle: Pipeline,
    *,
    mapping: Mapping[str, str],
    ledger: Ledger,
    entropy: SystemEntropy,
    names: Sequence[str] | None = None,
    passing: PassThrough | None = None,
    live: bool = False,
    workers: int = 1,
    progress: Progress = lambda _: None,
) -> Iterator["ReleasedTables"]:
    """Every row of a table: a path, several, '-' or a frame; rows are read, charged and drawn as they are taken.

    `mapping` gives the column of a channel where the names differ, `names` the columns of a text file that has none,
    `passing` what becomes of names of recordings and of time stamps. Rows of a `live` table are not held back until
    they are many. Samples outside the public range are clipped and never refused: the policy comes with the bundle, and
    whoever wrote it could otherwise read from the mere existence of an output where the samples lie.

    An error inside the block, while writing too, says how many draws were charged: charges are never taken back.
    """
    numbers = [mapping.get(name, name) for name in bundle.schema.names]
    passing = passing or PassThrough()
    with open_source(table, numbers=numbers, columns=names, mapping=mapping) as source:
        by_person = ledger.is_by_person
        told: Any = {"where": source.where, "by_person": by_person, "labels": passing.labels}
        columns = Columns.of(source.schema, bundle.schema, mapping=mapping, **told)
        schema = passing.schema(output_schema(source.schema, columns), columns)
        cells = BesideCells(columns, passing, pa.schema([each for each in schema if each.name not in columns.channels]))
        source_columns = (*source.schema.names, *columns.channels, columns.recording_name or "")
        accounts = _Accounts(lambda: ledger.of_table(table, source_columns))
        clipped, needed = dict[str, None](), source.only(columns.read)
        needed = needed if live else needed.by_rows()
        rows = read_rows(needed, columns, bundle.schema, outside=lambda channel, _: clipped.setdefault(channel.name))
        read = _batches(rows, cells, bundle)
        drawn = accompanied(read, bundle, ledger_of=accounts.of, entropy=entropy, workers=1 if live else workers)
        with _charges_said(accounts), one_thread(), closing(drawn):
            yield ReleasedTables(
                schema, bundle, columns, passing, accounts, clipped, read, drawn, lambda: progress(source.position())
            )


@dataclass(eq=False)
class ReleasedTables(Iterator[pa.Table]):
    """Released rows, batch by batch, with the fields of `schema`; the summary is of those that were taken."""

    schema: pa.Schema
    _bundle: Pipeline
    _columns: Columns
    _passing: PassThrough
    _accounts: "_Accounts"
    _clipped: Mapping[str, None]
    _read: Iterator[tuple[Windows, pa.Table]]  # private windows, each with the cells that pass beside them
    _drawn: Iterator[tuple[Windows, pa.Table]]  # the same, released
    _progress: Callable[[], None]
    _rows: int = 0
    _draws: int = 0
    _recordings: int = 0
    _short: int = 0

    def __next__(self) -> pa.Table:
        windows, beside = next(self._drawn)
        self._count(windows.frame)
        return _assemble(windows, beside, self._columns, self.schema)

    def write(self, sink: Sink) -> ReleaseSummary:
        """All that is left, into a sink that is open; the summary before the output gets its name."""
        for rows in self:
            sink.write(rows)
        return self.summary

    def read_all(self) -> pa.Table:
        """One table of all that is left."""
        return pa.concat_tables([self.schema.empty_table(), *self]).combine_chunks()

    def plan(self) -> ReleaseSummary:
        """What releasing the remaining rows would cost: they are read and checked, and nothing is drawn."""
        for windows, _ in self._read:
            self._accounts.name(windows.frame)
            self._count(windows.frame)
        return self._summary(DrawCounts(charged=self._draws))

    @property
    def summary(self) -> ReleaseSummary:
        return self._summary(self._accounts.draws)

    def _summary(self, draws: DrawCounts) -> ReleaseSummary:
        columns = self._columns
        return ReleaseSummary(
            rows=self._rows,
            cost=Spending.of(self._bundle.mechanism.event, draws.paid),
            dropped=columns.dropped,
            unchanged=self._passing.unchanged(columns),
            clipped=tuple(self._clipped),
            renumbered=self._passing.recording == "numbered" and columns.recording_name is not None,
            recordings=self._recordings,
            short=self._short,
            draws=draws,
            people=self._accounts.people,
        )

    def _count(self, frame: Frame) -> None:
        counts = frame.windows_of_episodes
        self._rows, self._draws = self._rows + int(frame.lengths.sum()), self._draws + len(counts)
        draws = np.cumsum([0, *(run.count for run in frame.runs)])[:-1]
        begun = draws[[run.first == 0 for run in frame.runs]]
        self._recordings += len(begun)
        first_lengths = frame.lengths[(np.cumsum(counts) - counts)[begun]]
        self._short += int(np.count_nonzero(first_lengths < self._bundle.schema.window))
        self._progress()


Releasing = Callable[..., AbstractContextManager[ReleasedTables]]
"""`released` with its options, of which only the table, and what differs from file to file, is still open."""


class _Accounts:
    """Who is charged for which recording of a table: one account for all, or one for each person.

    The ledger is asked when the first draw is due: a run that is refused before leaves nothing in it.
    """

    def __init__(self, open_book: Callable[[], Ledger]) -> None:
        self._open_book = open_book
        self._books: dict[str, Ledger] = {}
        self._named: dict[str, None] = {}

    @cached_property
    def _book(self) -> tuple[Ledger, DrawCounts]:
        book = self._open_book()
        return book, book.tally

    def of(self, recording: str | RecordingName) -> Ledger:
        book, _ = self._book
        if not isinstance(recording, RecordingName):
            return book
        if recording.person not in self._books:
            self._books[recording.person] = book.of_person(recording.person)
        return self._books[recording.person]

    def name(self, frame: Frame) -> None:
        """Who would be charged."""
        recordings = (run.recording for run in frame.runs)
        self._named |= dict.fromkeys(each.person for each in recordings if isinstance(each, RecordingName))

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
    """Adds the cost so far to an error: charges are never refunded."""
    try:
        yield
    except DeeprotectError as failure:
        if charged := accounts.charged:
            failure.args = (f"{failure} ({charged} {'draw' if charged == 1 else 'draws'} charged before that)",)
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
