"""Counts of repairs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import ceil

import numpy as np

from deeprotect.errors import Argument, TableError, printable
from deeprotect.tables.checking.check import Checker
from deeprotect.tables.checking.report import CheckReport
from deeprotect.tables.reader import Indices, Seen

# Dropped rows, by counter: what, as a reason, and the kinds under which a check lists them.
_LOST = {
    "ragged_lines": ("lines with a wrong number of cells", "have a wrong number of cells", ("ragged",)),
    "without_recording": ("rows without a recording", "have no recording", ("recording missing",)),
    "without_time": (
        *("rows without a readable time", "have an unreadable time"),
        ("time not understood", "time missing"),
    ),
    "with_missing_cells": (
        *("rows with missing, infinite or unreadable samples", "have missing, infinite or unreadable samples"),
        ("text", "missing", "infinite"),
    ),
    "repeated_times": ("rows with a duplicate time stamp", "have a duplicate time stamp", ("repeated time",)),
    "too_slow": ("rows of stretches slower than the rate asked for", "are slower than the rate asked for", ()),
}
_DONE = {
    "duplicates": "dropped duplicate rows",
    "moved": "rows moved to their place in time",
    "restarts": "places where the clock restarted, and a new recording now begins",
    "grouped": "numbers whose thousands separators were removed",
    "gaps": "gaps, after each of which a new recording begins",
}


@dataclass
class Counts:
    """Rows and recordings, in and out, and reasons for those missing."""

    rows_in: int = 0
    rows_out: int = 0
    recordings_in: int = 0
    recordings_out: int = 0
    ragged_lines: int = 0
    without_recording: int = 0
    without_time: int = 0
    with_missing_cells: int = 0
    duplicates: int = 0
    repeated_times: int = 0
    grouped: int = 0
    moved: int = 0
    restarts: int = 0
    gaps: int = 0
    too_slow: int = 0
    resampled_to_hz: float | None = None
    converted: dict[str, str] = field(default_factory=dict)  # column → unit
    respelt: dict[str, int] = field(default_factory=dict)  # column → number of unified spellings
    left_out: list[str] = field(default_factory=list)  # columns called time that are not a time
    time_from_days: bool = False
    decimal_commas: list[str] = field(default_factory=list)  # columns other than channels that now have points
    sheet: str | None = None  # for a workbook with several sheets, which was read

    def usable(self, seen: Seen) -> Indices:
        """The rows with a recording, a readable time and all samples; the others are counted."""
        named, whole = seen.recording >= 0, np.isfinite(seen.samples).all(axis=1)
        timed = np.isfinite(seen.time) if seen.time is not None else np.ones(len(named), dtype=bool)
        self.rows_in += len(named)
        self.without_recording += int(np.count_nonzero(~named))
        self.without_time += int(np.count_nonzero(named & ~timed))
        self.with_missing_cells += int(np.count_nonzero(named & timed & ~whole))
        self.grouped += int(np.count_nonzero(seen.grouped))
        self.grouped += 0 if seen.time_grouped is None else int(np.count_nonzero(seen.time_grouped))
        return np.flatnonzero(named & timed & whole)

    @property
    def rows_left(self) -> int:
        return self.rows_in - self.without_recording - self.without_time - self.with_missing_cells

    def tell(self, first: Checker, *, converted: dict[str, str], left_out: Sequence[str]) -> None:
        """Record changes of columns."""
        self.time_from_days, self.converted, self.left_out = first.in_days, converted, list(left_out)
        self.respelt = {name: len(each) for name, each in first.spellings.unusual().items()}
        self.decimal_commas, self.sheet = list(first.decimal_commas), first.source.note

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def lines(self) -> list[str]:
        """One line per repair that was made."""
        said = {name: f"dropped {what}" for name, (what, *_) in _LOST.items()} | _DONE
        return [
            *(f"{what}: {getattr(self, name)}" for name, what in said.items() if getattr(self, name)),
            *([self.sheet] if self.sheet else []),
            *(f"left out, as --map time= asked: {printable(name)}" for name in self.left_out),
            *([f"resampled to {self.resampled_to_hz:g} Hz"] if self.resampled_to_hz else []),
            *(["converted from days to seconds: time"] if self.time_from_days else []),
            *(f"spellings of {printable(name)} rewritten as the usual one: {n}" for name, n in self.respelt.items()),
            *(f"converted to {unit}: {', '.join(map(printable, names))}" for unit, names in self._by_unit().items()),
            *(
                f"decimal commas written as points, in a column that is not a channel: {printable(name)}"
                for name in self.decimal_commas
            ),
        ]

    def refuse_losses(self, most: float, report: CheckReport) -> None:
        """Refuse to drop many rows: most often the table was misread; exact duplicates do not count."""
        counts = {name: getattr(self, name) for name in _LOST}
        lost, rows = sum(counts.values()), self.rows_in + self.ragged_lines
        if lost <= most * rows:
            return
        name = max(counts, key=lambda each: counts[each])
        _, reason, kinds = _LOST[name]
        why = next((f" ({each.what}: {each.fix})" for each in report.problems if each.kind in kinds), "")
        if lost == rows:  # no allowed share would help
            raise TableError(f"{report.where}: no usable rows: {counts[name]} {reason}{why}")
        raise TableError(
            f"{report.where}: {lost} of {rows} rows would be dropped, {counts[name]} of them because they "
            f"{reason}{why}; see `deeprotect check`, correct what they have in common, or allow it with ",
            Argument("max_dropped", ceil(100 * lost / rows) / 100),
        )

    def _by_unit(self) -> dict[str, list[str]]:
        return {
            unit: [name for name in self.converted if self.converted[name] == unit] for unit in self.converted.values()
        }
