"""`deeprotect check`: one pass over a table, and at the end all that is wrong with it, each with the fix."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from deeprotect.errors import printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import mapping_to_type, recognise, spelt, unit_in
from deeprotect.policy.usual_names import RECORDING
from deeprotect.signals.clock import RATE_TOLERANCE, rate_of_step, usual_step
from deeprotect.tables.checking.cell_watch import CellWatch
from deeprotect.tables.checking.name_watch import RecordingNames, Spellings, column_notes, name_problems
from deeprotect.tables.checking.order import OrderWatch, PieceWatch
from deeprotect.tables.checking.report import CheckReport, Problem, ProblemCount, some
from deeprotect.tables.checking.unit_watch import UnitWatch
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.fields import stated_unit
from deeprotect.tables.reader import Reader, Seen, unique_names
from deeprotect.tables.roles import MOST_LISTED, Roles, roles_of
from deeprotect.tables.source import Source
from deeprotect.tables.sources import open_source


def check(
    table: Any, policy: Policy | None = None, *, mapping: ColumnMap | None = None, columns: Sequence[str] | None = None
) -> CheckReport:
    """Reads every row once. What cannot be read at all raises a TableError; everything else is a problem or a note."""
    if mapping is None:
        mapping = ColumnMap.of(policy) if policy else ColumnMap()
    ragged = ProblemCount()
    with open_source(table, numbers=(), columns=columns, mapping=mapping, ragged=ragged.one) as source:
        checker = Checker(source, policy, mapping, ragged=ragged)
        for seen in checker.reader.read():
            checker.see(seen)
    return checker.report()


def first_look(table: Any, *, mapping: ColumnMap, columns: Sequence[str] | None) -> CheckReport:
    """The same of the first rows only, by which the types of a text file are guessed."""
    ragged = ProblemCount()
    with open_source(table, columns=columns, mapping=mapping, ragged=ragged.one) as source:
        checker = Checker(source, None, mapping, ragged=ragged)
        for seen in islice(checker.reader.read(), 1):
            checker.see(seen)
    return checker.report()


class Checker:
    """With a policy, the table is also held against its channels, ranges, labels and rate."""

    def __init__(
        self,
        source: Source,
        policy: Policy | None,
        mapping: ColumnMap,
        *,
        ragged: ProblemCount,
        by_person: bool = False,
    ) -> None:
        self._source, self._policy, self._mapping = source, policy, mapping
        self._names = unique_names(source.schema.names)
        public = {mapping.get(each.name, each.name): each for each in policy.schema().channels} if policy else {}
        wanted = tuple(public) if policy else None
        self.roles = roles = roles_of(self._names, mapping, channels=wanted, where=source.where)
        self.reader = Reader(source, roles, by_person=by_person)
        self.ragged, self._rows = ragged, 0
        self.step: float | None = None  # the usual one, in the unit of the time column
        self._rate_hz: float | None = None
        self.order = OrderWatch(None)
        self.pieces = PieceWatch(policy.stream.window if policy else None)
        self._cells = CellWatch(roles.channels, public)
        stated = {name: channel.unit for name, channel in public.items()}
        self._units = UnitWatch.of(roles.channels, _units(source.schema, roles.channels, stated))
        taken = {*roles.channels, roles.time, roles.recording}
        labels = tuple(name for name in self._names if name not in taken)
        self._recording_names = RecordingNames(roles.recording, labels)
        self._labels, self.spellings = labels, Spellings()

    def see(self, seen: Seen) -> None:
        if self.order.period is None:
            self._set_clock(seen)
        self._rows += len(seen.samples)
        for watch in (self.order, self.pieces, self._cells, self._recording_names):
            watch.see(seen)
        self._units.see(seen, self.roles.channels)
        for name in self._labels:
            self.spellings.see(name, seen.batch.column(name))

    def report(self) -> CheckReport:
        policy, lines = self._policy, f"lines with too few or too many cells for {len(self._names)} column names"
        problems = (
            *name_problems(self._source.schema.names),
            *self.ragged.problem("ragged", lines, "correct them; `deeprotect prepare` drops them"),
            *(Problem("unclear", each, None, "until then nothing is read from them") for each in self.roles.unclear),
            *([] if self._rows else [Problem("empty", "it has no rows", None, "a table needs some")]),
            *(column_problems(self._names, self.roles, policy, self._mapping) if policy else []),
            *self._rate(),
            *self.pieces.problems(),
            *self.order.problems(),
            *self._cells.problems(),
            *self._units.problems(),
            *self._labels_twice(),
        )
        recordings = self.pieces.recordings if self.roles.recording else min(1, self._rows)
        source, known = self._source, (self._rows, recordings, self._rate_hz, self.roles)
        return CheckReport(source.where, *known, source.schema, problems, tuple(self._notes()))

    def _labels_twice(self) -> list[Problem]:
        unusual = self.spellings.unusual()
        count, fix = sum(map(len, unusual.values())), "`deeprotect prepare` makes them one"
        what = "spellings that differ from another only by case or blanks"
        return [Problem("labels", what, count, fix, tuple(unusual))] if unusual else []

    def _notes(self) -> list[Problem]:
        no_time = Problem(
            "time", "there is no time column", None, "name it with --map time=COLUMN: gaps cannot be seen"
        )
        no_channel = Problem("channels", "no column is named like a sensor", None, mapping_to_type(self._names))
        return [
            *([] if self.roles.time else [no_time]),
            *([] if self.roles.channels else [no_channel]),
            *self.pieces.notes(),
            *self._cells.notes(),
            *column_notes(self._names),
            *self._recording_names.notes(),
        ]

    def _set_clock(self, seen: Seen) -> None:
        """Unit and rate by the first rows; with a policy, gaps are counted at its rate unless the table has another."""
        timeline = self.reader.timeline
        if timeline is None or seen.time is None:
            return
        self.step = self.order.period = usual_step(seen.time, seen.recording)
        found = None if self.step is None else rate_of_step(self.step, timeline.per_second)
        if found is not None:
            self._rate_hz, per_second = found
            self.order.period = per_second / (self._wanted_hz if self._fits else self._rate_hz)

    @property
    def _wanted_hz(self) -> float:
        return self._policy.stream.rate_hz if self._policy else self._rate_hz or 1.0

    @property
    def _fits(self) -> bool:
        return self._rate_hz is not None and abs(self._rate_hz / self._wanted_hz - 1) <= RATE_TOLERANCE

    def _rate(self) -> list[Problem]:
        if self._fits or not self.order.steps or self.order.unread.count:
            return []
        if self._rate_hz is None:
            what = "time advances at no rate that sensors have, in s, ms, µs or ns"
            fix = "days of a spreadsheet are seconds × 86400; or map another column, or none with --map time="
            return [Problem("rate", what, None, fix)]
        what = f"time advances at about {self._rate_hz:g} Hz, the policy's rate_hz is {self._wanted_hz:g}"
        fix = f"correct the policy, or resample with `deeprotect prepare --rate-hz {self._wanted_hz:g}`"
        return [Problem("rate", what, None, fix)]


def _units(schema: pa.Schema, channels: tuple[str, ...], public: dict[str, str]) -> dict[str, str]:
    """The unit of each channel: of the policy, of the column, in its name, or the usual one."""
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
    """What `train` and `protect` would miss or ask: channels, labels, and a recording that is only called so."""
    wanted = [mapping.get(name, name) for name in policy.stream.channels]
    channels = tuple(name for name in wanted if name not in names)
    people = [policy.training.people] if policy.training.people else []
    labels = dict.fromkeys([*policy.inferences.useful, *policy.inferences.sensitive, *people])
    missing = tuple(name for name in labels if name not in names)
    called = (roles.recording,) if roles.recording and RECORDING in roles.guessed else ()
    map_them = f"map them with --map or [stream.columns]; it has: {printable(', '.join(names), MOST_LISTED)}"
    asked = "say so with --map recording=COLUMN, or in the policy to train on ([stream.columns])"
    return [
        *some("columns", "channels that the table lacks", channels, map_them),
        *some("labels", "label columns that the table lacks", missing, "only `protect` does without them"),
        *some("unclear", "columns that may name the recording", called, asked),
    ]
