"""What mending did, in numbers."""

from dataclasses import asdict, dataclass, field
from math import ceil

from deeprotect.errors import TableError, printable

DUPLICATES = "rows that stood there twice"


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
    moved: int = 0
    restarts: int = 0
    gaps: int = 0
    too_slow: int = 0
    resampled_to_hz: float | None = None
    converted: dict[str, str] = field(default_factory=dict)  # column → unit
    respelt: dict[str, int] = field(default_factory=dict)  # column → spellings that became the usual one

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def lines(self) -> list[str]:
        """One per thing that was done; nothing on what was not."""
        done = (
            (self.moved, "rows moved to their place in time"),
            (self.restarts, "clocks that began anew inside a recording, where a new one now begins"),
            (self.gaps, "gaps, after each of which a new recording begins"),
        )
        return [
            *(f"dropped {what}: {count}" for count, what in (*self._lost, (self.duplicates, DUPLICATES)) if count),
            *(f"{what}: {count}" for count, what in done if count),
            *([f"resampled to {self.resampled_to_hz:g} Hz"] if self.resampled_to_hz else []),
            *(f"spellings of {printable(name)} that became the usual one: {n}" for name, n in self.respelt.items()),
            *(f"converted to {unit}: {', '.join(map(printable, names))}" for unit, names in self._by_unit().items()),
        ]

    def refuse_losses(self, most: float, where: str) -> None:
        """A table that loses many of its rows is read wrongly, more often than it is bad; equal rows are no loss."""
        lost, rows = sum(count for count, _ in self._lost), self.rows_in + self.ragged_lines
        if lost <= most * rows:
            return
        count, what = max(self._lost)
        raise TableError(
            f"{where}: {lost} of {rows} rows would be dropped, {count} of them {what}; see `deeprotect check`, mend "
            f"what they have in common, or allow it with --max-dropped {ceil(100 * lost / rows) / 100:g}"
        )

    @property
    def _lost(self) -> tuple[tuple[int, str], ...]:
        return (
            (self.ragged_lines, "lines with a wrong number of cells"),
            (self.without_recording, "rows without a recording"),
            (self.without_time, "rows without a time that can be read"),
            (self.with_missing_cells, "rows with missing, infinite or unreadable samples"),
            (self.repeated_times, "other rows with a time that was taken"),
            (self.too_slow, "rows of stretches that are slower than the rate asked for"),
        )

    def _by_unit(self) -> dict[str, list[str]]:
        return {
            unit: [name for name in self.converted if self.converted[name] == unit] for unit in self.converted.values()
        }
