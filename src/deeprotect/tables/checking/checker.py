"""All watches over one table: each sees every batch once, and says in the end what it saw."""

import pyarrow as pa

from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import recognise, spelt, unit_in
from deeprotect.signals.clock import RATE_TOLERANCE, rate_of_step, usual_step
from deeprotect.tables.cells import NameIndex
from deeprotect.tables.checking.against_policy import column_problems
from deeprotect.tables.checking.cell_watch import CellWatch
from deeprotect.tables.checking.name_watch import RecordingNames, column_notes, name_problems
from deeprotect.tables.checking.order import OrderWatch, PieceWatch
from deeprotect.tables.checking.problems import Problem
from deeprotect.tables.checking.report import CheckReport
from deeprotect.tables.checking.seen import Reader, Seen, unique_names
from deeprotect.tables.checking.unit_watch import UnitWatch
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.fields import stated_unit
from deeprotect.tables.roles import Roles
from deeprotect.tables.source import Source
from deeprotect.tables.spellings import Spellings
from deeprotect.tables.timestamps import Timeline


class Checker:
    """With a policy, the table is also held against its channels, ranges, labels and rate."""

    def __init__(self, source: Source, roles: Roles, policy: Policy | None, mapping: ColumnMap) -> None:
        self._source, self._roles, self._policy, self._mapping = source, roles, policy, mapping
        self._names = unique_names(source.schema.names)
        timeline = Timeline(roles.time, source.where) if roles.time else None
        self.reader = Reader(roles, timeline, NameIndex())
        self._rows = 0
        self._rate_hz: float | None = None
        self._order = OrderWatch(None)
        self._pieces = PieceWatch(policy.stream.window if policy else None)
        public = {mapping.get(each.name, each.name): each for each in policy.schema().channels} if policy else {}
        self._cells = CellWatch(roles.channels, public)
        stated = {name: channel.unit for name, channel in public.items()}
        self._units = UnitWatch.of(roles.channels, _units(source.schema, roles.channels, stated))
        taken = {*roles.channels, roles.time, roles.recording}
        labels = tuple(name for name in self._names if name not in taken)
        self._recording_names = RecordingNames(roles.recording, labels)
        self._labels, self._spellings = labels, Spellings()

    def see(self, seen: Seen) -> None:
        if self._order.period is None:
            self._set_clock(seen)
        self._rows += len(seen.samples)
        for watch in (self._order, self._pieces, self._cells, self._recording_names):
            watch.see(seen)
        self._units.see(seen, self._roles.channels)
        for name in self._labels:
            self._spellings.see(name, seen.batch.column(name))

    def report(self, lines: list[Problem]) -> CheckReport:
        """`lines` is what was found before cells could be read."""
        policy = self._policy
        problems = (
            *name_problems(self._source.schema.names),
            *lines,
            *(Problem("unclear", each, None, "until then nothing is read from them") for each in self._roles.unclear),
            *([] if self._rows else [Problem("empty", "it has no rows", None, "a table needs some")]),
            *(column_problems(self._names, self._roles, policy, self._mapping) if policy else []),
            *self._rate(),
            *self._pieces.problems(),
            *self._order.problems(),
            *self._cells.problems(),
            *self._units.problems(),
            *self._labels_twice(),
        )
        recordings = self._pieces.recordings if self._roles.recording else min(1, self._rows)
        where, rate_hz = self._source.where, self._rate_hz
        return CheckReport(where, self._rows, recordings, rate_hz, self._roles, problems, tuple(self._notes()))

    def _labels_twice(self) -> list[Problem]:
        unusual = self._spellings.unusual()
        count, fix = sum(map(len, unusual.values())), "`deeprotect prepare` makes them one"
        what = "spellings that differ from another only by case or blanks"
        return [Problem("labels", what, count, fix, tuple(unusual))] if unusual else []

    def _notes(self) -> list[Problem]:
        no_time = Problem("time", "there is no time column", None, "gaps cannot be seen without one")
        no_channel = Problem("channels", "no column is named like a sensor", None, "name them acc_x, gyro_z, …")
        return [
            *([] if self._roles.time else [no_time]),
            *([] if self._roles.channels else [no_channel]),
            *self._pieces.notes(),
            *self._cells.notes(),
            *column_notes(self._names),
            *self._recording_names.notes(),
        ]

    def _set_clock(self, seen: Seen) -> None:
        """Unit and rate by the first rows; with a policy, gaps are counted at its rate unless the table has another."""
        timeline, step = self.reader.timeline, None
        if seen.time is not None:
            step = usual_step(seen.time, seen.recording)
        if timeline is None or step is None:
            return
        self._order.period = step
        found = rate_of_step(step, timeline.per_second)
        if found is not None:
            self._rate_hz, per_second = found
            self._order.period = per_second / (self._wanted_hz if self._fits else self._rate_hz)

    @property
    def _wanted_hz(self) -> float:
        return self._policy.stream.rate_hz if self._policy else self._rate_hz or 1.0

    @property
    def _fits(self) -> bool:
        return self._rate_hz is not None and abs(self._rate_hz / self._wanted_hz - 1) <= RATE_TOLERANCE

    def _rate(self) -> list[Problem]:
        if self._fits or not self._order.steps or self._order.unread.count:
            return []
        if self._rate_hz is None:
            what = "time advances at no rate that sensors have, in s, ms, µs or ns"
            return [Problem("rate", what, None, "is that column the time? Map another, or none with --map time=")]
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
