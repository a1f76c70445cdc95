"""A table on its way to be played: stretches of its recordings, with seconds counted from the beginning of each."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from deeprotect.errors import TableError, printable
from deeprotect.policy import Policy
from deeprotect.policy.known_sensors import recognise
from deeprotect.signals import Channel, Schema
from deeprotect.signals.checks import check_finite
from deeprotect.signals.clock import nearest_unit, rate_of_step, usual_step
from deeprotect.signals.recordings import starts
from deeprotect.signals.schema import Floats
from deeprotect.tables.column_map import ColumnMap
from deeprotect.tables.columns import Columns
from deeprotect.tables.fields import stated_unit
from deeprotect.tables.sources import Source, open_source
from deeprotect.tables.timestamps import EPOCHS, Timeline

SECOND = 10**9


@dataclass(frozen=True)
class Stretch:
    """Consecutive rows of one recording, the `number`th that is played; samples is (row, channel).

    `begun_ns` is when the recording began, where the table's time is UTC.
    """

    number: int
    seconds: Floats
    samples: Floats
    begun_ns: int | None


@dataclass
class Recorded:
    """One source, read once; `only` names the recording that is wanted."""

    source: Source
    columns: Columns
    schema: Schema
    rate_hz: float | None = None
    only: str | None = None
    _row: int = 0
    _number: int = -1
    _last: object = field(default_factory=object)
    _begun: float = 0.0

    @classmethod
    def of(
        cls,
        source: Source,
        schema: Schema | None,
        *,
        mapping: Mapping[str, str],
        rate_hz: float | None = None,
        only: str | None = None,
    ) -> "Recorded":
        """With a policy its channels; without one, the columns that are called like a sensor's."""
        wanted = schema or _guessed(source)
        columns = Columns.of(source.schema, wanted, mapping=mapping, where=source.where)
        rate = rate_hz or (schema.rate_hz if schema else None)
        if columns.time_name is None and rate is None:
            raise TableError(f"{source.where}: it has no time; give --rate-hz, or a policy with --policy")
        if only is not None and columns.recording_name is None:
            raise TableError(f"{source.where}: it has no column 'recording' to choose from; leave --recording out")
        return cls(source, columns, wanted, rate, only)

    def stretches(self) -> Iterator[Stretch]:
        """In the order of the table; a row that cannot be sent raises a TableError."""
        timeline = self.columns.timeline()
        for batch in self.source.only(self.columns.kept).batches:
            if batch.num_rows:
                yield from self._of_batch(batch, timeline)
                self._row += batch.num_rows
        if self.only is not None and self._number < 0:
            raise TableError(f"{self.source.where}: no recording '{printable(self.only)}'; correct --recording")

    def _of_batch(self, batch: pa.RecordBatch, timeline: Timeline | None) -> Iterator[Stretch]:
        seconds, names = self._seconds(batch, timeline), self.columns.recording(batch)
        samples = self.columns.samples(batch)
        check_finite(samples, self.schema, first_row=self._row, where=self.source.where)
        firsts = [0] if names is None else [int(start) for start in starts(names)]
        for start, end in zip(firsts, [*firsts[1:], batch.num_rows], strict=True):
            name = None if names is None else names[start]
            if self.only is None or str(name) == self.only:
                self._begin(name, float(seconds[start]))
                begun = _begun_ns(timeline, self._begun)
                yield Stretch(self._number, seconds[start:end] - self._begun, samples[start:end], begun)

    def _begin(self, name: object, second: float) -> None:
        if self._number < 0 or name != self._last:
            self._number, self._last, self._begun = self._number + 1, name, second

    def _seconds(self, batch: pa.RecordBatch, timeline: Timeline | None) -> Floats:
        """Of each row, from any origin."""
        if timeline is None:
            return (self._row + np.arange(batch.num_rows)) / (self.rate_hz or 1.0)
        offsets = timeline.read(batch.column(timeline.name))
        if not np.isfinite(offsets).all():
            raise TableError(f"{self.source.where}: '{printable(timeline.name)}' is missing in some rows; drop them")
        if timeline.per_second is None:
            timeline.per_second = self._unit(offsets)
        return np.asarray(offsets / timeline.per_second)

    def _unit(self, offsets: Floats) -> float:
        step = usual_step(offsets)
        if step is not None and self.rate_hz is not None:
            return nearest_unit(step, self.rate_hz)
        found = None if step is None else rate_of_step(step)
        if found is None:
            raise TableError(f"{self.source.where}: its time shows no rate that sensors have; give --rate-hz")
        return found[1]


@contextmanager
def recorded(
    table: str,
    policy: Policy | None,
    *,
    mapped: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    rate_hz: float | None = None,
    only: str | None = None,
) -> Iterator[Recorded]:
    """Open a table to be played, whatever its kind; `mapped` says which of its columns are meant."""
    mapping = ColumnMap.of(policy, mapped) if policy else ColumnMap.without_policy(mapped)
    schema = policy.schema() if policy else None
    numbers = [mapping.get(name, name) for name in schema.names] if schema else None
    with open_source(table, numbers=numbers, columns=columns, mapping=mapping) as source:
        yield Recorded.of(source, schema, mapping=mapping, rate_hz=rate_hz, only=only)


def _begun_ns(timeline: Timeline | None, second: float) -> int | None:
    """When a recording began that starts so many seconds after the first stamp; None where that is no date."""
    if timeline is None or timeline.per_second is None:
        return None
    first = timeline.stamps(np.zeros(1))
    if pa.types.is_timestamp(first.type):
        return int(first.cast(pa.timestamp("ns", tz=first.type.tz)).cast(pa.int64())[0].as_py()) + _nanoseconds(second)
    if pa.types.is_temporal(first.type):
        return None
    value, unit = first[0].as_py(), int(timeline.per_second)
    origin = value * (SECOND // unit) if isinstance(value, int) else _nanoseconds(value / unit)
    return origin + _nanoseconds(second) if EPOCHS[0] <= origin / SECOND < EPOCHS[1] else None


def _nanoseconds(seconds: float) -> int:
    return round(seconds * SECOND)


def _guessed(source: Source) -> Schema:
    fields = [field for field in source.schema if _is_number(field.type) and recognise(field.name)]
    if not fields:
        raise TableError(f"{source.where}: no column is called like a sensor's; name the channels with --policy")
    channels = tuple(Channel(field.name, stated_unit(field) or "1", -1.0, 1.0) for field in fields)
    return Schema(channels, 1.0, 1)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
