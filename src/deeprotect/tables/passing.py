"""Time and recording in a release: recordings by name or number, time unchanged or from the start of each recording."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deeprotect.policy.known_sensors import RECORDING, TIME
from deeprotect.signals.recordings import starts
from deeprotect.tables.columns import Columns, Rows
from deeprotect.tables.fields import from_numpy, is_text, plain
from deeprotect.tables.timestamps import Timeline

DECIMALS = 6  # digits of fractions: float64 has no more for seconds since 1970
_WIDE_ENOUGH = (pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())  # for a million


@dataclass(frozen=True)
class PassThrough:
    """How recordings and time stamps are released: unchanged, or as 1, 2, … and counted from 0."""

    recording: Literal["named", "numbered"] = "numbered"
    time: Literal["absolute", "relative"] = "absolute"
    after: int = 0  # the last number used: numbering continues over many files
    labels: tuple[str, ...] = ()  # label columns, released only for research on the user's own table

    @property
    def untouched(self) -> tuple[str, ...]:
        """The columns among time and recording that are released unchanged."""
        return (*((TIME,) if self.time == "absolute" else ()), *((RECORDING,) if self.recording == "named" else ()))

    def unchanged(self, columns: Columns) -> tuple[str, ...]:
        """The columns that are released unchanged, in the order of the table."""
        found = {TIME: columns.time_name, RECORDING: columns.recording_name}
        passed = {*self.labels, *(found[each] for each in self.untouched)}
        return tuple(name for name in columns.kept if name in passed)

    def schema(self, output: pa.Schema, columns: Columns) -> pa.Schema:
        """The output schema; numbers need a type that holds them, time keeps its own."""
        name = columns.recording_name
        if self.recording == "named" or name is None:
            return output
        index = output.get_field_index(name)
        return output.set(index, output.field(index).with_type(_numbered_type(output.field(index).type)))


@dataclass
class BesideCells:
    """The unprotected cells of one source to release, batch by batch, in the columns of `schema`."""

    columns: Columns
    passing: PassThrough
    schema: pa.Schema
    _numbers: "_RecordingNumbers" = field(init=False)
    _time: "_RelativeTime" = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = _RecordingNumbers(self.passing.after)
        self._time = _RelativeTime(self.columns.timeline())

    @property
    def last_number(self) -> int:
        """The last number used."""
        return self._numbers.last

    def of(self, rows: Rows) -> pa.Table:
        """Cells for rows, which must come in order and checked: time increases, and no recording reappears."""
        names = [name for name in self.columns.kept if name not in self.columns.channels]
        cells = dict(zip(names, self.columns.beside(rows.batch), strict=True)) | self._changed(rows)
        return pa.table([cells[each.name] for each in self.schema], schema=self.schema)

    def _changed(self, rows: Rows) -> dict[str, pa.Array]:
        changed, time = {}, self.columns.time_name
        if self.passing.recording == "numbered" and self.columns.recording_name is not None:
            kind = self.schema.field(self.columns.recording_name).type
            changed[self.columns.recording_name] = self._numbers.of(rows.recording, kind)
        if self.passing.time == "relative" and time is not None:
            changed[time] = self._time.of(rows.batch.column(time), rows.recording, self.schema.field(time).type)
        return changed


@dataclass
class _RecordingNumbers:
    last: int
    _current: object = field(default_factory=object)

    def of(self, names: Any, kind: pa.DataType) -> pa.Array:
        new = np.zeros(len(names), dtype=np.int64)
        new[starts(names)] = 1
        new[0] = names[0] != self._current
        numbers = self.last + np.cumsum(new)
        self._current, self.last = names[-1], int(numbers[-1])
        return from_numpy(numbers).cast(kind)


@dataclass
class _RelativeTime:
    """Stamps minus the first of their recording, in the unit and the type of the column."""

    timeline: Timeline | None
    _current: object = field(default_factory=object)
    _first: Any = None

    def of(self, column: pa.Array, names: NDArray[np.generic] | None, kind: pa.DataType) -> pa.Array:
        column = plain(column)
        if is_text(column.type) and self.timeline is not None:
            return self._as_text(self._since(self.timeline.read(column), names)).cast(kind)
        if pa.types.is_temporal(kind):
            whole = pa.int32() if kind.bit_width == 32 else pa.int64()
            since = self._since(column.cast(whole).to_numpy(), names)
            return pa.array(since).cast(whole).cast(kind)
        if pa.types.is_decimal(kind):
            column = column.cast(pa.float64())
        since = self._since(column.to_numpy(zero_copy_only=False), names)
        return pa.array(np.round(since, DECIMALS)).cast(kind, safe=False)

    def _since(self, values: NDArray[Any], names: NDArray[np.generic] | None) -> NDArray[Any]:
        names = np.zeros(len(values), dtype=np.int64) if names is None else names
        begins = starts(names)
        firsts = values[begins]
        if names[0] == self._current:
            firsts[0] = self._first
        self._current, self._first = names[-1], firsts[-1]
        return np.asarray(values - np.repeat(firsts, np.diff(begins, append=len(values))))

    def _as_text(self, since: NDArray[Any]) -> pa.Array:
        """Numbers as numbers; date stamps from the beginning of 1970, times of day from midnight."""
        kind = self.timeline.written if self.timeline else pa.float64()
        if pa.types.is_temporal(kind):
            stamps = pa.array(np.rint(since / 1e3).astype(np.int64)).cast(pa.timestamp("us"))
            zone = "Z" if pa.types.is_timestamp(kind) and kind.tz else ""
            return pc.strftime(stamps, ("%H:%M:%S" if pa.types.is_duration(kind) else f"%Y-%m-%dT%H:%M:%S{zone}"))
        rounded = np.round(since, DECIMALS)
        fractions, whole = from_numpy(rounded), from_numpy(np.rint(rounded))
        # Cell by cell: a common notation for a batch would show where batches end.
        texts = (pc.cast(each, pa.string()) for each in (whole.cast(pa.int64()), fractions))
        return pc.if_else(pc.equal(fractions, whole), *texts)


def _numbered_type(kind: pa.DataType) -> pa.DataType:
    return kind if is_text(kind) or kind in _WIDE_ENOUGH else pa.int64()
