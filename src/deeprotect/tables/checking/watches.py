"""Row-by-row checks of cells, time, recordings and names."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.errors import printable
from deeprotect.policy.known_sensors import is_telling
from deeprotect.signals import Channel
from deeprotect.signals.clock import GAP_STEPS, RESTART_ROWS, SLACK
from deeprotect.signals.schema import OUTSIDE_SHARE, Floats
from deeprotect.tables.checking.report import Problem, ProblemTally, problem, some
from deeprotect.tables.fields import is_text, plain
from deeprotect.tables.numbers import Mask
from deeprotect.tables.reader import UNNAMED, Indices, Seen

CLIPPED_SHARE = 0.01  # more clipping is not just a saturated sensor
STUCK_ROWS = 100


@dataclass
class CellWatch:
    """Counts per channel; `public` are the policy's channels by column, with a policy."""

    channels: tuple[str, ...]
    public: dict[str, Channel]
    tally: ProblemTally
    rows: int = 0
    _low: Floats = field(init=False)
    _high: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._low, self._high = np.full(len(self.channels), np.inf), np.full(len(self.channels), -np.inf)

    def see(self, seen: Seen) -> None:
        self.rows += len(seen.samples)
        for index, name in enumerate(self.channels):
            values, text = seen.samples[:, index], seen.text[:, index]
            self._add("text", text, seen, name)
            self._add("thousands", seen.grouped[:, index], seen, name)
            self._add("missing", np.isnan(values) & ~text, seen, name)
            self._add("infinite", np.isinf(values), seen, name)
            finite = values[np.isfinite(values)]
            self._low[index] = min(self._low[index], finite.min(initial=np.inf))
            self._high[index] = max(self._high[index], finite.max(initial=-np.inf))
            if name in self.public:
                channel = self.public[name]
                beyond = (values < channel.low) | (values > channel.high)
                self._add(f"outside {name}", beyond & np.isfinite(values), seen, name)

    def _add(self, key: str, hits: Mask, seen: Seen, name: str) -> None:
        self.tally[key].add(hits, seen.first_row, name)

    @property
    def readable(self) -> tuple[str, ...]:
        """Channels in which at least one number was found."""
        return tuple(name for name, low in zip(self.channels, self._low, strict=True) if np.isfinite(low))

    def problems(self) -> list[Problem]:
        stuck = [name for index, name in enumerate(self.channels) if self._low[index] == self._high[index]]
        return [
            *self.tally.problems("missing", "infinite", "text", "thousands"),
            *some("stuck", stuck if self.rows >= STUCK_ROWS else ()),
            *(each for name in self.public if self._share(name) > CLIPPED_SHARE for each in self._clipped(name)),
        ]

    def notes(self) -> list[Problem]:
        return [each for name in self.public if self._share(name) <= CLIPPED_SHARE for each in self._clipped(name)]

    def _share(self, name: str) -> float:
        return self.tally[f"outside {name}"].count / max(1, self.rows)

    def _clipped(self, name: str) -> list[Problem]:
        channel, said = self.public[name], "far-outside" if self._share(name) > OUTSIDE_SHARE else "outside"
        words = {"low": channel.low, "high": channel.high, "unit": channel.unit}
        return self.tally.problems(f"outside {name}", said=said, **words)


UNEVEN_STEP = 0.5  # deviation from one sample, in samples
UNEVEN_SHARE = 0.05
COARSE_SHARE = 0.2  # of rows share their time with others: the clock is too coarse


@dataclass
class OrderWatch:
    """Remembers only the last row of every recording."""

    period: float | None  # of a sample, in the time column's unit; None if unknown
    named: bool  # whether a column names the recordings; without one, a clock restart may begin another
    tally: ProblemTally
    steps: int = 0
    _last_time: Floats = field(default_factory=lambda: np.empty(0))
    _last_samples: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def see(self, seen: Seen) -> None:
        if seen.time is None or seen.stamped is None:
            return
        self.tally["time missing"].add(~seen.stamped, seen.first_row)
        self.tally["time not understood"].add(seen.stamped & ~np.isfinite(seen.time), seen.first_row)
        rows = np.flatnonzero(np.isfinite(seen.time) & (seen.recording >= 0))
        if len(rows):
            self._count(rows[np.argsort(seen.recording[rows], kind="stable")], seen, seen.time)

    def _count(self, rows: Indices, seen: Seen, time: Floats) -> None:
        """Count problems in `rows`, grouped by recording, in order inside."""
        names, samples = seen.recording[rows], seen.samples[rows]
        self._make_room(int(names.max()) + 1, samples.shape[1])
        begins = np.concatenate([[True], names[1:] != names[:-1]])
        before_time = np.where(begins, self._last_time[names], np.concatenate([[np.nan], time[rows][:-1]]))
        before = np.where(begins[:, None], self._last_samples[names], np.concatenate([samples[:1], samples[:-1]]))
        self._judge(time[rows] - before_time, _same(before, samples), rows, seen.first_row)
        ends = np.concatenate([begins[1:], [True]])
        self._last_time[names[ends]], self._last_samples[names[ends]] = time[rows][ends], samples[ends]

    def _judge(self, steps: Floats, same: Mask, rows: Indices, first_row: int) -> None:
        known = np.isfinite(steps)
        self.steps += int(np.count_nonzero(known))
        restarts = known & (steps < -RESTART_ROWS * (self.period or np.inf)) & (not self.named)
        found = {
            "restarts": restarts,
            "order": known & (steps < 0) & ~restarts,
            "duplicates": known & (steps == 0) & same,
            "repeated time": known & (steps == 0) & ~same,
        }
        if self.period is not None:
            samples = steps / self.period
            found["gaps"] = known & (samples > GAP_STEPS + SLACK)
            forward = known & (steps > 0) & (samples <= GAP_STEPS + SLACK)
            found["uneven rate"] = forward & (np.abs(samples - 1) > UNEVEN_STEP)
        for key, hits in found.items():
            self.tally[key].add(rows[hits], first_row)

    def _make_room(self, recordings: int, channels: int) -> None:
        more = recordings - len(self._last_time)
        if more > 0:
            self._last_time = np.concatenate([self._last_time, np.full(more, np.nan)])
            old = self._last_samples.reshape(-1, channels) if channels else np.empty((len(self._last_samples), 0))
            self._last_samples = np.concatenate([old, np.full((more, channels), np.nan)])

    @property
    def unsorted(self) -> bool:
        """Whether time does not always increase."""
        return any(self.tally[key].count for key in ("restarts", "order", "duplicates", "repeated time"))

    def problems(self) -> list[Problem]:
        coarse = self.tally["repeated time"].count > COARSE_SHARE * self.steps
        uneven = self.tally["uneven rate"].count > UNEVEN_SHARE * self.steps
        return [
            *self.tally.problems("time missing", "time not understood", "restarts", "order", "duplicates"),
            *self.tally.problems("repeated time", said="coarse" if coarse else None),
            *self.tally.problems("gaps", *(["uneven rate"] if uneven else []), samples=GAP_STEPS),
        ]


@dataclass
class PieceWatch:
    """Rows without a recording, recordings in several pieces, and recordings too short for a window."""

    window: int | None
    tally: ProblemTally
    _rows: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _current: int = UNNAMED - 10

    def see(self, seen: Seen) -> None:
        names = seen.recording
        self.tally["recording missing"].add(names == UNNAMED, seen.first_row)
        starts = np.flatnonzero(np.concatenate([[names[0] != self._current], names[1:] != names[:-1]]))
        named = starts[names[starts] >= 0]
        first_of_batch = np.unique(names[named], return_index=True)[1]
        begun = names[named] < len(self._rows)  # known from an earlier batch
        again = np.ones(len(named), dtype=bool)
        again[first_of_batch] = False
        self.tally["interleaved"].add(named[begun | again], seen.first_row)
        self._current = int(names[-1])
        self._add(names[names >= 0])

    def _add(self, names: Indices) -> None:
        counts = np.bincount(names, minlength=len(self._rows))
        counts[: len(self._rows)] += self._rows
        self._rows = counts.astype(np.int64)

    @property
    def recordings(self) -> int:
        return int(np.count_nonzero(self._rows))

    def notes(self) -> list[Problem]:
        short = int(np.count_nonzero((self._rows > 0) & (self._rows < (self.window or 0))))
        return [problem("short", count=short, window=self.window)] if short else []

    def problems(self) -> list[Problem]:
        return self.tally.problems("recording missing", "interleaved")


def _same(one: Floats, other: Floats) -> Mask:
    return np.asarray(np.all((one == other) | (np.isnan(one) & np.isnan(other)), axis=1))


SHORTEST_LABEL = 2  # characters; a single digit is in many names by chance
MOST_OF_THEM = 0.5
MOST_LABELS = 1000  # a column with more distinct cells does not hold labels


def name_problems(names: list[str]) -> list[Problem]:
    """Duplicate, unprintable or missing names."""
    twice = tuple(name for name, count in Counter(names).items() if count > 1)
    odd = tuple(name for name in names if not name.isprintable())
    empty = [place for place, name in enumerate(names) if not name and place > 0]
    return [
        *some("twice", map(printable, twice)),
        *some("unprintable", map(printable, odd)),
        *([problem("nameless", count=len(empty))] if empty else []),
    ]


def column_notes(names: list[str]) -> list[Problem]:
    return some("telling", (printable(name) for name in names if is_telling(name)))


@dataclass
class RecordingNames:
    """Detects recordings named after their labels: p07-PEN-right reveals person, exercise and side."""

    column: str | None
    labels: tuple[str, ...]
    _seen: int = 0
    _told: Counter[str] = field(default_factory=Counter)

    def see(self, seen: Seen) -> None:
        if self.column is None:
            return
        numbers, firsts = np.unique(seen.recording, return_index=True)
        for row in firsts[numbers >= self._seen]:
            self._look(seen.batch, int(row))
        self._seen = max(self._seen, int(numbers.max(initial=-1)) + 1)

    def _look(self, batch: pa.RecordBatch, row: int) -> None:
        name = str(batch.column(self.column)[row].as_py())
        for label in self.labels:
            value = str(batch.column(label)[row].as_py() or "")
            if len(value) >= SHORTEST_LABEL and value in name:
                self._told[label] += 1

    def notes(self) -> list[Problem]:
        told = (label for label, count in self._told.items() if self._seen > 1 and count > MOST_OF_THEM * self._seen)
        return some("told", told)


@dataclass
class Spellings:
    """Collects label spellings: `Walk`, `walk ` and `WALK` are one class, but would be learnt as three."""

    _seen: dict[str, Counter[str] | None] = field(default_factory=dict)

    def see(self, name: str, column: pa.Array | pa.ChunkedArray) -> None:
        known = self._seen.setdefault(name, Counter())
        if known is None or not is_text(column.type):
            return
        for each in pc.value_counts(plain(column)).to_pylist():
            if each["values"] is not None:
                known[each["values"]] += each["counts"]
        if len(known) > MOST_LABELS:
            self._seen[name] = None

    def unusual(self) -> dict[str, dict[str, str]]:
        """For each column, spellings that differ from the usual one only by case or spaces, and the usual one."""
        found = {name: _unusual(counts) for name, counts in self._seen.items() if counts}
        return {name: spellings for name, spellings in found.items() if spellings}


def respelt(column: pa.ChunkedArray, usual: dict[str, str]) -> pa.ChunkedArray:
    """The column with usual spellings."""
    places = pc.index_in(column, pa.array(usual, column.type))
    return pc.coalesce(pc.take(pa.array(usual.values(), column.type), places), column)


def _unusual(counts: Counter[str]) -> dict[str, str]:
    usual: dict[str, str] = {}
    for text, _ in counts.most_common():
        usual.setdefault(_plain(text).casefold(), _plain(text))
    ways = Counter(_plain(text).casefold() for text in counts)
    return {text: usual[key] for text in counts if ways[key := _plain(text).casefold()] > 1 and text != usual[key]}


def _plain(text: str) -> str:
    return " ".join(text.split())
