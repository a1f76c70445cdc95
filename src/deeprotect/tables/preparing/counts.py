"""What mending did, in numbers."""

from collections.abc import Mapping, Sized
from dataclasses import asdict, dataclass, field
from math import ceil

import numpy as np

from deeprotect.errors import TableError, printable
from deeprotect.tables.checking.report import CheckReport
from deeprotect.tables.preparing.tidy import Tidy
from deeprotect.tables.reader import Indices, Seen

UNREADABLE = ("text", "missing", "infinite")


@dataclass
class Counts:
    """Rows and recordings, in and out, and why some are not there."""

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
    respelt: dict[str, int] = field(default_factory=dict)  # column → spellings that became the usual one
    left_out: list[str] = field(default_factory=list)  # columns called time that are none

    def usable(self, seen: Seen) -> Indices:
        """The rows that have a recording, a time that can be read and all samples; the others are counted."""
        named, whole = seen.recording >= 0, np.isfinite(seen.samples).all(axis=1)
        timed = np.isfinite(seen.time) if seen.time is not None else np.ones(len(named), dtype=bool)
        self.rows_in += len(named)
        self.without_recording += int(np.count_nonzero(~named))
        self.without_time += int(np.count_nonzero(named & ~timed))
        self.with_missing_cells += int(np.count_nonzero(named & timed & ~whole))
        self.grouped += int(np.count_nonzero(seen.grouped))
        return np.flatnonzero(named & timed & whole)

    @property
    def rows_left(self) -> int:
        return self.rows_in - self.without_recording - self.without_time - self.with_missing_cells

    def tell(self, tidy: Tidy, rate_hz: float | None, spellings: Mapping[str, Sized]) -> None:
        """What is done to columns."""
        self.resampled_to_hz, self.respelt = rate_hz, {name: len(each) for name, each in spellings.items()}
        self.converted = {name: change.unit for name, change in tidy.changes.items()}
        self.left_out = list(tidy.left_out)

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def lines(self) -> list[str]:
        """One per thing that was done; nothing on what was not."""
        done = (
            (self.moved, "rows moved to their place in time"),
            (self.restarts, "clocks that began anew inside a recording, where a new one now begins"),
            (self.grouped, "numbers with thousands separators, which are written without them"),
            (self.gaps, "gaps, after each of which a new recording begins"),
        )
        return [
            *(f"dropped {what}: {count}" for count, what, _ in self._lost if count),
            *([f"dropped rows that stood there twice: {self.duplicates}"] if self.duplicates else []),
            *(f"{what}: {count}" for count, what in done if count),
            *(f"left out, for --map time= says that it is no time: {printable(name)}" for name in self.left_out),
            *([f"resampled to {self.resampled_to_hz:g} Hz"] if self.resampled_to_hz else []),
            *(f"spellings of {printable(name)} that became the usual one: {n}" for name, n in self.respelt.items()),
            *(f"converted to {unit}: {', '.join(map(printable, names))}" for unit, names in self._by_unit().items()),
        ]

    def refuse_losses(self, most: float, report: CheckReport) -> None:
        """A table that loses many of its rows is read wrongly, more often than it is bad; equal rows are no loss."""
        lost, rows = sum(count for count, *_ in self._lost), self.rows_in + self.ragged_lines
        if lost <= most * rows:
            return
        count, what, kinds = max(self._lost)
        why = next((f"{each.what}: {each.fix}" for each in report.problems if each.kind in kinds), "")
        said = f"{count} of them {what}{f' ({why})' if why else ''}"
        if lost == rows:  # and no share that is allowed would help
            raise TableError(f"{report.where}: of {rows} rows it has no row that can be used, {said}")
        raise TableError(
            f"{report.where}: {lost} of {rows} rows would be dropped, {said}; see `deeprotect check`, mend what they "
            f"have in common, or allow it with --max-dropped {ceil(100 * lost / rows) / 100:g}"
        )

    @property
    def _lost(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        """How many rows, why, and what a check calls it."""
        return (
            (self.ragged_lines, "lines with a wrong number of cells", ("ragged",)),
            (self.without_recording, "rows without a recording", ("recording missing",)),
            (self.without_time, "rows without a time that can be read", ("time not understood", "time missing")),
            (self.with_missing_cells, "rows with missing, infinite or unreadable samples", UNREADABLE),
            (self.repeated_times, "other rows with a time that was taken", ("repeated time",)),
            (self.too_slow, "rows of stretches that are slower than the rate asked for", ()),
        )

    def _by_unit(self) -> dict[str, list[str]]:
        return {
            unit: [name for name in self.converted if self.converted[name] == unit] for unit in self.converted.values()
        }
