"""Time stamps as people write them: numbers of s, ms, µs or ns, ISO 8601, a time of day; nanoseconds stay exact."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import TableError, printable
from deeprotect.policy.known_sensors import ticks_per_second
from deeprotect.signals.clock import PER_SECOND, USUAL_RATES_HZ, median
from deeprotect.signals.schema import Floats
from deeprotect.tables.fields import is_number, is_text, plain
from deeprotect.tables.numbers import NUMBER, matches

EPOCHS = (5e8, 5e9)  # seconds since 1970, years 1985 to 2128: too large for a stopwatch
SENSIBLE_RATES_HZ = (0.1, 10_000.0)
DAY = 1 / 86400  # a spreadsheet's unit of time: days per second
_SERIAL_DAYS = (20_000, 80_000)  # days since the end of 1899, years 1954 to 2119
_EPOCH_DAY = 25_569  # 1970-01-01 in these days
DAY_DECIMALS = 6  # decimals of its seconds, the precision of float64
_PER_SECOND_OF = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_STAMP = r"^\s*\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?\s*(Z|UTC|[-+]\d\d:?\d\d)?\s*$"
_TIME_OF_DAY = r"^\s*(?P<hours>\d{1,2}):(?P<minutes>\d\d):(?P<seconds>\d\d(?:[.,]\d+)?)\s*$"


@dataclass
class Timeline:
    """Reads a time column batch by batch as offsets from its first stamp, in its own unit; NaN if missing."""

    name: str
    where: str
    per_second: float | None = None  # units of the column per second; None if only the rate can tell
    _origin: int | float | None = None
    _written: pa.DataType | None = None  # type of recomputed stamps

    def read(self, column: pa.Array) -> Floats:
        """Offsets of consecutive rows; raises a TableError, without quoting cells, if the column is not a time."""
        cells = _text_as_time(self._checked(plain(column)))
        if cells is None:
            raise TableError(
                f"{self.where}: column '{printable(self.name)}' is neither numbers nor ISO 8601 time stamps "
                "(2026-01-31T12:00:00.125Z); convert it"
            )
        return self._offsets(cells)

    def read_some(self, column: pa.Array) -> Floats:
        """Offsets of readable cells; NaN for the others."""
        try:
            return self.read(_understood(column) if is_text(column.type) else column)
        except TableError:
            return np.full(len(column), np.nan)

    @property
    def written(self) -> pa.DataType:
        """The type of recomputed stamps; known once the column has been read."""
        return self._written or pa.float64()

    @property
    def _is_serial(self) -> bool:
        return _SERIAL_DAYS[0] <= (self._origin or 0) <= _SERIAL_DAYS[1]

    def take_as_days(self, step: float) -> bool:
        """Whether a step that fits no other unit is one of days; `stamps` then writes seconds."""
        slowest_hz = 1 if self._is_serial else 5  # without a date, 1 Hz would be taken from recordings at 96 kHz
        if self.per_second is None and slowest_hz <= DAY / step <= USUAL_RATES_HZ[1]:
            self.per_second = DAY
        return self.per_second == DAY

    def stamps(self, offsets: Floats) -> pa.Array:
        """Offsets as stamps of the column's kind."""
        if self._written is None or self._origin is None:
            raise TableError(f"{self.where}: column '{printable(self.name)}' shows no time to count from")
        if self.per_second == DAY:
            first = self._origin - (_EPOCH_DAY if self._is_serial else 0)
            return pa.array(np.round((first + offsets) / DAY, DAY_DECIMALS))
        if isinstance(self._origin, float):
            return pa.array(self._origin + offsets)
        return pa.array(self._origin + np.rint(offsets).astype(np.int64)).cast(self._written)

    def _checked(self, column: pa.Array) -> pa.Array:
        kind = column.type
        temporal = pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind)
        if is_number(kind) or temporal or is_text(kind) or pa.types.is_null(kind):
            return column
        raise TableError(
            f"{self.where}: column '{printable(self.name)}' is {printable(str(kind))}; time is numbers or ISO 8601 "
            "time stamps, convert it"
        )

    @np.errstate(invalid="ignore")  # differences of infinite stamps are NaN, and refused as missing
    def _offsets(self, column: pa.Array) -> Floats:
        temporal = pa.types.is_temporal(column.type)
        whole = _whole_numbers(column)
        numbers = pc.cast(column, pa.float64(), safe=False) if whole is None else whole
        if self._origin is None and numbers.null_count < len(numbers):
            self._origin = pc.drop_null(numbers)[0].as_py()
            self._written = column.type if temporal else numbers.type
        if self._origin is None:
            return np.full(len(column), np.nan)
        origin = self._origin if whole is not None and isinstance(self._origin, int) else float(self._origin)
        # Split whole numbers before converting to float64, whose 53 bits hold 104 days of nanoseconds.
        missing = numbers.null_count > 0
        counted: Any = np.from_dlpack(pc.fill_null(numbers, 0) if missing else numbers)
        offsets = np.asarray(counted - origin, dtype=np.float64)
        if missing:
            offsets[pc.is_null(numbers).to_numpy(zero_copy_only=False)] = np.nan
        if self.per_second is None:
            self.per_second = _PER_SECOND_OF[column.type.unit] if temporal else self._unit_of_numbers(offsets)
        return offsets

    def _unit_of_numbers(self, offsets: Floats) -> float | None:
        """The unit, from the column's name or from values that can only be dates, if it gives plausible steps."""
        stated = ticks_per_second(self.name)
        if stated is not None:
            return float(stated)
        units = [unit for unit in PER_SECOND if EPOCHS[0] <= abs(self._origin or 0) / unit < EPOCHS[1]]
        if not units:
            return None
        steps = np.diff(offsets)
        steps = steps[np.isfinite(steps) & (steps > 0)]
        if not len(steps):
            return None
        rate_hz = units[0] / median(steps)  # Android's nanoseconds since boot look like µs after 12 days
        return units[0] if SENSIBLE_RATES_HZ[0] <= rate_hz <= SENSIBLE_RATES_HZ[1] else None


def _whole_numbers(column: pa.Array) -> pa.Array | None:
    """As int64, without a detour through float; None if there are fractions."""
    kind = column.type
    if pa.types.is_temporal(kind):
        return pc.cast(column, pa.int64() if kind.bit_width == 64 else pa.int32()).cast(pa.int64())
    if not pa.types.is_integer(kind):
        return None
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:  # beyond 2⁶³
        return None


def _text_as_time(column: pa.Array) -> pa.Array | None:
    """Numbers or stamps from text; None if it is neither."""
    if pa.types.is_null(column.type):
        return column.cast(pa.float64())
    if not is_text(column.type):
        return column
    for text in (column, _normalised(column)):
        for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", tz="UTC")):
            try:
                return pc.cast(text, kind)
            except pa.ArrowInvalid:
                continue
    return _time_of_day(column)


def _normalised(column: pa.Array) -> pa.Array:
    """Convert spaces, decimal commas, `UTC`, zones without colon and slashes to ISO 8601."""
    text = pc.replace_substring(pc.utf8_trim_whitespace(column), ",", ".")
    text = pc.replace_substring_regex(text, r"^(\d{4})/(\d\d)/(\d\d)", r"\1-\2-\3")
    text = pc.replace_substring_regex(text, r"(:\S*)\s*(?:UTC|Z)$", r"\1Z")
    text = pc.replace_substring_regex(text, r"(:\S*?)\s*([-+]\d\d):?(\d\d)$", r"\1\2:\3")
    return pc.replace_substring_regex(text, r"^\+", "")


def _time_of_day(column: pa.Array) -> pa.Array | None:
    """Hours, minutes and seconds as whole nanoseconds; None if a cell is something else."""
    parts = pc.extract_regex(column, _TIME_OF_DAY)
    if parts.null_count > column.null_count or column.null_count == len(column):
        return None
    hours, minutes = (pc.cast(parts.field(index), pa.int64()) for index in (0, 1))
    seconds = pc.cast(pc.replace_substring(parts.field(2), ",", "."), pa.float64())
    whole = pc.add(pc.multiply(hours, 3600), pc.multiply(minutes, 60))
    nanoseconds = pc.cast(pc.round(pc.multiply(seconds, 1e9)), pa.int64(), safe=False)
    return pc.add(pc.multiply(whole, 10**9), nanoseconds).cast(pa.duration("ns"))


def _understood(column: pa.Array) -> pa.Array:
    """The cells of the most common kind, numbers or stamps or times of day; null for the others."""
    text = plain(column)
    masks = [matches(text, kind) for kind in (rf"^\s*{NUMBER}\s*$", _STAMP, _TIME_OF_DAY)]
    most = max(masks, key=lambda mask: pc.sum(mask).as_py() or 0)
    return pc.if_else(most, text, pa.scalar(None, text.type))
