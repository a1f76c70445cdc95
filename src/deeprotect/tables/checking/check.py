"""`deeprotect check`: one pass over a table that reports all problems, each with the fix."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import MOST_LISTED, AmbiguousColumnError, TableError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import RECORDING, recognise, spelt, suggested_map, unit_in
from deeprotect.signals.clock import RATE_TOLERANCE, rate_of_step, usual_step
from deeprotect.tables.checking.report import CheckReport, Problem, ProblemTally, problem, some
from deeprotect.tables.checking.unit_watch import UnitWatch
from deeprotect.tables.checking.watches import (
    CellWatch,
    OrderWatch,
    PieceWatch,
    RecordingNames,
    Spellings,
    column_notes,
    name_problems,
)
from deeprotect.tables.columns import not_plain
from deeprotect.tables.fields import check_names, is_number, plain, stated_unit
from deeprotect.tables.numbers import NumberColumn, has_decimal_commas
from deeprotect.tables.reader import Reader, Seen, unique_names
from deeprotect.tables.roles import ColumnMap, Roles, roles_of
from deeprotect.tables.source import Source
from deeprotect.tables.sources import open_source
from deeprotect.tables.timestamps import DAY


def check(
    table: Any, policy: Policy | None = None, *, mapping: ColumnMap | None = None, columns: Sequence[str] | None = None
) -> CheckReport:
    """Read every row once. An unreadable table raises a TableError; everything else is a problem or a note."""
    if mapping is None:
        mapping = ColumnMap.of(policy) if policy else ColumnMap()
    with opened(table, policy, mapping, columns=columns) as checker:
        for seen in checker.reader.read():
            checker.see(seen)
    return checker.report()


def first_look(table: Any, *, mapping: ColumnMap, columns: Sequence[str] | None) -> CheckReport:
    """Check the first rows only, from which the types of a text file are guessed.

    Refuse a channel that has numbers but also other cells, because this reader would lose it.
    """
    with opened(table, None, mapping, columns=columns, numbers=None) as checker:
        for seen in islice(checker.reader.read(), 1):
            checker.see(seen)
    check_names(checker.source.schema, checker.source.where)
    checker.refuse_lost_channels()
    return checker.report()


def count_classes(
    table: Any, names: Sequence[str], *, window: int, mapping: ColumnMap, columns: Sequence[str] | None
) -> dict[str, Counter[str]]:
    """Count roughly how many windows each class of some label columns fills, by its runs of rows; reads the whole
    table."""
    with open_source(table, numbers=(), columns=columns, mapping=mapping) as source:
        wanted = [name for name in names if name in source.schema.names]
        found = {name: Counter[str]() for name in wanted}
        parts = [batch.select(wanted) for batch in source.only(set(wanted)).batches] if wanted else []
    for name in wanted if parts else ():
        cells = pa.chunked_array([plain(part.column(name)) for part in parts]).cast(pa.large_string())
        runs = pc.run_end_encode(cells.combine_chunks())
        ends = runs.run_ends.to_numpy()
        for label, rows in zip(runs.values.to_pylist(), np.diff(ends, prepend=0).tolist(), strict=True):
            if label:
                found[name][label] += rows // window
    return found


@contextmanager
def opened(
    table: Any,
    policy: Policy | None,
    mapping: ColumnMap,
    *,
    columns: Sequence[str] | None,
    numbers: tuple[str, ...] | None = (),
    first: "Checker | None" = None,
    by_person: bool = False,
) -> Iterator["Checker"]:
    """A checker of an open table; `first` is the checker of an earlier pass."""
    tally, known = ProblemTally(), first.reader.numbers if first else None

    def ragged(_: int) -> None:
        tally["ragged"].count += 1

    with open_source(table, numbers=numbers, columns=columns, mapping=mapping, ragged=ragged) as source:
        yield Checker(source, policy, mapping, tally=tally, numbers=known, by_person=by_person)


class Checker:
    """Checks rows; with a policy, also channels, ranges, labels and rate."""

    def __init__(
        self,
        source: Source,
        policy: Policy | None,
        mapping: ColumnMap,
        *,
        tally: ProblemTally,
        numbers: Mapping[str, NumberColumn] | None,
        by_person: bool,
    ) -> None:
        self.source, self._policy, self._mapping, self.tally = source, policy, mapping, tally
        self._names = unique_names(source.schema.names)
        channels = policy.schema().channels if policy else ()
        public = {mapping.column_of(each.name, self._names): each for each in channels}
        wanted = tuple(public) if policy else None
        self.roles = roles = roles_of(self._names, mapping, channels=wanted, where=source.where)
        self.reader = Reader(source, roles, by_person=by_person, numbers=numbers)
        self._rows = 0
        self.step: float | None = None  # the usual step, in the unit of the time column
        self._rate_hz: float | None = None
        self.order = OrderWatch(None, roles.recording is not None, tally)
        self.pieces = PieceWatch(policy.stream.window if policy else None, tally)
        self._cells = CellWatch(roles.channels, public, tally)
        stated = {name: channel.unit for name, channel in public.items()}
        self._units = UnitWatch.of(roles.channels, _units(source.schema, roles.channels, stated))
        taken = {*roles.channels, roles.time, roles.recording}
        labels = tuple(name for name in self._names if name not in taken)
        self._recording_names = RecordingNames(roles.recording, labels)
        self._labels, self.spellings = labels, Spellings()
        self.decimal_commas: list[str] = []  # columns that are not channels unless the user maps them

    def see(self, seen: Seen) -> None:
        if self.order.period is None:
            self._set_clock(seen)
        if not self._rows:
            self.decimal_commas = [name for name in self._labels if has_decimal_commas(seen.batch.column(name))]
        self._rows += len(seen.samples)
        for watch in (self.order, self.pieces, self._cells, self._recording_names):
            watch.see(seen)
        if seen.time_grouped is not None:
            self.tally["thousands"].add(seen.time_grouped, seen.first_row, self.roles.time)
        self._units.see(seen, self.roles.channels)
        for name in self._labels:
            self.spellings.see(name, seen.batch.column(name))

    def report(self) -> CheckReport:
        names, unusual = self.source.schema.names, self.spellings.unusual()
        problems = (
            *name_problems(names),
            *self.tally.problems("ragged", names=len(names)),
            *(self._unclear(each) for each in self.roles.unclear),
            *([] if self._rows else [problem("empty")]),
            *self._columns(),
            *self._rate(),
            *self.pieces.problems(),
            *self.order.problems(),
            *some("marks", (name for name, numbers in self.reader.numbers.items() if numbers.mixed)),
            *self._cells.problems(),
            *self._units.problems(),
            *([problem("spellings", unusual, count=sum(map(len, unusual.values())))] if unusual else []),
        )
        recordings = self.pieces.recordings if self.roles.recording else min(1, self._rows)
        known = (self._rows, recordings, self._rate_hz, self.roles)
        return CheckReport(self.source.where, *known, self.source.schema, problems, tuple(self._notes()))

    def _columns(self) -> list[Problem]:
        if self._policy is not None:
            return column_problems(self._names, self.roles, self._policy, self._mapping)
        typed = " ".join(f"--map {name}='{column}'" for name, column in suggested_map(self._names).items())
        return [] if self.roles.channels else [problem("channels", mapping=typed)]

    def _unclear(self, role: str) -> Problem:
        asked = AmbiguousColumnError(self.source.where, role, self.roles.guessed[role])
        return problem("unclear", guess=asked.guess, role=role, first=printable(asked.candidates[0]))

    def refuse_lost_channels(self) -> None:
        """Refuse columns named like sensors, with numbers, but read as text because of some of their cells."""
        schema = self.source.schema
        lost = [name for name in self._cells.readable if not is_number(schema.field(name).type)]
        if lost:
            raise TableError(not_plain(lost, self.source.where))

    def _notes(self) -> list[Problem]:
        assumed = {name: numbers.assumed for name, numbers in self.reader.numbers.items()}
        ways = ("thousands", "decimals")
        return [
            *([problem("source", note=self.source.note)] if self.source.note else []),
            *([] if self.roles.time else [problem("time")]),
            *(each for way in ways for each in some(f"assumed {way}", [n for n in assumed if assumed[n] == way])),
            *some("commas", self.decimal_commas),
            *self.pieces.notes(),
            *self._cells.notes(),
            *column_notes(self._names),
            *self._recording_names.notes(),
        ]

    def _set_clock(self, seen: Seen) -> None:
        """Set unit and rate by the first rows; with a policy, count gaps at its rate unless the table has another."""
        timeline = self.reader.timeline
        if timeline is None or seen.time is None:
            return
        self.step = self.order.period = usual_step(seen.time, seen.recording)
        found = None if self.step is None else rate_of_step(self.step, timeline.per_second)
        if found is None and self.step is not None and timeline.take_as_days(self.step):
            found = rate_of_step(self.step, timeline.per_second)
        if found is not None:
            self._rate_hz, per_second = found
            self.order.period = per_second / (self._wanted_hz if self._fits else self._rate_hz)

    @property
    def in_days(self) -> bool:
        return self.reader.timeline is not None and self.reader.timeline.per_second == DAY

    @property
    def _wanted_hz(self) -> float:
        return self._policy.stream.rate_hz if self._policy else self._rate_hz or 1.0

    @property
    def _fits(self) -> bool:
        return self._rate_hz is not None and abs(self._rate_hz / self._wanted_hz - 1) <= RATE_TOLERANCE

    @property
    def no_rate(self) -> Problem | None:
        """The problem of a readable time that advances at no rate that sensors have."""
        unread = self._rate_hz is not None or not self.order.steps or self.tally["time not understood"].count
        return None if unread else problem("no-rate")

    def _rate(self) -> list[Problem]:
        wrong = [problem("days")] if self.in_days else [self.no_rate] if self.no_rate else []
        if self._rate_hz is not None and self.order.steps and not self._fits:
            wrong.append(problem("other-rate", found=self._rate_hz, wanted=self._wanted_hz))
        return wrong


def _units(schema: pa.Schema, channels: tuple[str, ...], public: dict[str, str]) -> dict[str, str]:
    """The unit of each channel: from the policy, the column, its name, or the usual one."""
    units = {}
    for name in channels:
        sensor = recognise(name)
        stated = stated_unit(schema.field(name)) if schema.names.count(name) == 1 else None
        said = public.get(name) or stated or unit_in(name)
        unit = spelt(said) if said else (sensor.usual_unit if sensor else None)
        if unit is not None:
            units[name] = unit
    return units


def column_problems(names: list[str], roles: Roles, policy: Policy, mapping: ColumnMap) -> list[Problem]:
    """What `train` and `protect` would refuse or ask about: channels, labels, and similar names of recordings."""
    wanted = (mapping.column_of(name, names) for name in policy.stream.channels)
    people = [policy.training.people] if policy.training.people else []
    labels = dict.fromkeys([*policy.inferences.useful, *policy.inferences.sensitive, *people])
    has = printable(", ".join(names), MOST_LISTED)
    called = (roles.recording,) if roles.recording and RECORDING in roles.guessed else ()
    return [
        *some("columns", (each for each in wanted if each not in names), names=has),
        *some("label-columns", (name for name in labels if name not in names)),
        *some("called-recording", called),
    ]
