"""Repairs of recordings: gather rows, drop duplicates, sort late rows, split at restarts and gaps."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from deeprotect.errors import Argument, InputError, Placeholder, TableError
from deeprotect.signals.clock import GAP_STEPS, RATE_TOLERANCE, clock_runs
from deeprotect.signals.resampling import grid, interpolate, middles, slower
from deeprotect.signals.schema import Floats
from deeprotect.tables.checking.report import problem
from deeprotect.tables.checking.watches import COARSE_SHARE
from deeprotect.tables.fields import plain
from deeprotect.tables.preparing.counts import Counts
from deeprotect.tables.reader import Indices

BUCKETS = 64  # temporary files; one at a time is in memory, at least a recording


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows; samples is (row, channel), `cells` are all other columns, including time as written."""

    key: Indices  # number of the recording
    time: Floats  # offset in the column's unit; place in the recording without a time column
    samples: Floats
    cells: pa.Table

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: Indices) -> "RowBlock":
        return RowBlock(self.key[rows], self.time[rows], self.samples[rows], self.cells.take(pa.array(rows)))

    def part(self, start: int, stop: int) -> "RowBlock":
        rows = slice(start, stop)
        return RowBlock(self.key[rows], self.time[rows], self.samples[rows], self.cells.slice(start, stop - start))

    def by_recording(self) -> Iterator["RowBlock"]:
        """Cut where the recording changes."""
        borders = [0, *(np.flatnonzero(np.diff(self.key)) + 1), len(self)]
        for start, stop in pairwise(borders):
            if stop > start:
                yield self.part(int(start), int(stop))


def joined(pieces: Sequence[RowBlock]) -> RowBlock:
    """Concatenate pieces."""
    if len(pieces) == 1:
        return pieces[0]
    return RowBlock(
        np.concatenate([piece.key for piece in pieces]),
        np.concatenate([piece.time for piece in pieces]),
        np.concatenate([piece.samples for piece in pieces]),
        pa.concat_tables([piece.cells for piece in pieces]).combine_chunks(),
    )


def whole_recordings(pieces: Iterable[RowBlock]) -> Iterator[RowBlock]:
    """Contiguous recordings, each in one piece: the longest must fit in memory."""
    held: list[RowBlock] = []
    for piece in pieces:
        for part in piece.by_recording():
            if held and held[-1].key[0] != part.key[0]:
                yield joined(held)
                held = []
            held.append(part)
    if held:
        yield joined(held)


def gathered_recordings(pieces: Iterable[RowBlock], recordings: int, *, beside: Path | None) -> Iterator[RowBlock]:
    """Scattered recordings, gathered through temporary files in a folder `beside` the output."""
    with tempfile.TemporaryDirectory(prefix=".prepare-", dir=beside) as folder:
        files = [Path(folder) / str(index) for index in range(BUCKETS)]
        _spill(pieces, recordings, files)
        for file in files:
            if file.exists():
                together = _load(file)
                yield from together.take(np.argsort(together.key, kind="stable")).by_recording()


def _spill(pieces: Iterable[RowBlock], recordings: int, files: list[Path]) -> None:
    writers: dict[int, pa.RecordBatchStreamWriter] = {}
    with ExitStack() as stack:
        for piece in pieces:
            bucket = piece.key * len(files) // max(1, recordings)  # in order, so that each recording is in one bucket
            for index in np.unique(bucket):
                table = _as_table(piece.take(np.flatnonzero(bucket == index)))
                if index not in writers:
                    writers[index] = stack.enter_context(pa.ipc.new_stream(str(files[index]), table.schema))
                writers[index].write_table(table)


def _as_table(piece: RowBlock) -> pa.Table:
    samples = pa.FixedSizeListArray.from_arrays(pa.array(piece.samples.reshape(-1)), piece.samples.shape[1])
    kept = {f"cell {name}": piece.cells.column(name) for name in piece.cells.column_names}
    return pa.table({"key": piece.key, "time": piece.time, "samples": samples, **kept})


def _load(file: Path) -> RowBlock:
    with pa.ipc.open_stream(str(file)) as reader:
        table = reader.read_all().combine_chunks()
    key, time = table.column("key").to_numpy(), table.column("time").to_numpy()
    samples = table.column("samples").combine_chunks()
    width = samples.type.list_size
    cells = table.drop_columns(["key", "time", "samples"])
    cells = cells.rename_columns([name.removeprefix("cell ") for name in cells.column_names])
    return RowBlock(key, time, samples.flatten().to_numpy().reshape(len(key), width), cells)


# Shorter than a gap by as much as a policy's rate may differ from the table's, so that split tables have no gaps.
SPLIT_STEPS = GAP_STEPS / (1 + RATE_TOLERANCE)


@dataclass
class Mender:
    """Turns whole recordings into runs of strictly increasing time."""

    where: str
    counts: Counts

    def mend(self, recording: RowBlock) -> Iterator[RowBlock]:
        single = recording.take(_first_of_each(recording))
        self.counts.duplicates += len(recording) - len(single)
        runs = clock_runs(single.time)
        self.counts.restarts += len(runs) - 1
        for rows in runs:
            run = single.take(rows)
            self.counts.moved += int(np.count_nonzero(rows != np.sort(rows)))
            grows = np.concatenate([[True], np.diff(run.time) > 0])
            if np.count_nonzero(~grows) > COARSE_SHARE * len(run):
                raise TableError(
                    f"{self.where}: too many rows of a recording share their time; if there are several recordings in "
                    "one, say ",
                    Argument("map", {"recording": Placeholder("COLUMN")}),
                    f"; else {problem('coarse').fix}",
                )
            self.counts.repeated_times += int(np.count_nonzero(~grows))
            yield run.take(np.flatnonzero(grows))


@dataclass
class GapSplitter:
    """Splits rows, in order of recording and time, at gaps; each part says whether it begins a new recording."""

    period: float
    counts: Counts
    _key: int = -1
    _time: float = np.nan

    def begin(self) -> None:
        """Begin a new recording with the next row, whatever its time."""
        self._key = -1

    def split(self, piece: RowBlock) -> Iterator[tuple[RowBlock, bool]]:
        same = np.concatenate([[piece.key[0] == self._key], piece.key[1:] == piece.key[:-1]])
        steps = np.diff(piece.time, prepend=self._time)
        gaps = same & (steps > SPLIT_STEPS * self.period)
        self.counts.gaps += int(np.count_nonzero(gaps))
        begins = ~same | gaps
        borders = np.flatnonzero(begins)
        starts = borders if len(borders) and borders[0] == 0 else np.concatenate([[0], borders])
        for start, stop in zip(starts, [*starts[1:], len(piece)], strict=True):
            yield piece.part(int(start), int(stop)), bool(begins[start])
        self._key, self._time = int(piece.key[-1]), float(piece.time[-1])


def _first_of_each(recording: RowBlock) -> Indices:
    """The first rows with their time, samples and cells, in their original order."""
    cells = [
        codes for name in recording.cells.column_names if (codes := _codes(recording.cells.column(name))) is not None
    ]
    facts = np.column_stack([recording.time, recording.samples, *cells])
    order = np.lexsort(facts.T[::-1])
    ordered = facts[order]
    other = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    return np.sort(order[other])  # the sort is stable: of equal rows the first comes first


def _codes(column: pa.ChunkedArray) -> Indices | None:
    """Equal numbers for equal cells; None for a column that numbers the rows, which would make all of them differ."""
    if pa.types.is_nested(column.type):
        return None
    encoded = plain(column.combine_chunks()).dictionary_encode()
    codes: Indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes if len(encoded.dictionary) < len(column) else None


@dataclass(frozen=True)
class Rate:
    """The requested rate, the table's rate, and the time column's units per second."""

    wanted_hz: float
    found_hz: float
    per_second: float

    @property
    def period(self) -> float:
        """The step at the requested rate, in the unit of the time column."""
        return self.per_second / self.wanted_hz

    def is_above(self, stretch: RowBlock) -> bool:
        """Whether this stretch has a lower rate than requested, so that rows would be invented."""
        span = float(stretch.time[-1] - stretch.time[0])
        return (len(stretch) - 1) * (1 + RATE_TOLERANCE) * self.period < span


def check_rate(wanted_hz: float, found_hz: float, where: str) -> None:
    """Allow only lower rates: others would invent samples."""
    if wanted_hz > (1 + RATE_TOLERANCE) * found_hz:
        raise InputError(
            f"{where}: ",
            Argument("rate_hz", wanted_hz),
            f" is more than its about {found_hz:g} Hz; samples would be invented, so give {found_hz:g} or less",
        )


def resample(stretch: RowBlock, rate: Rate) -> RowBlock:
    """Resample a stretch without gaps: means over time for samples, the middle row for everything else.

    Rows every 1/wanted_hz from the stretch's first; none whose interval would be incomplete.
    """
    seconds = stretch.time / rate.per_second
    near = rate.wanted_hz > rate.found_hz / (1 + RATE_TOLERANCE)
    steady_hz = rate.wanted_hz if near else rate.found_hz
    at = grid(float(seconds[0]), float(seconds[-1]), steady_hz)
    samples = interpolate(seconds, stretch.samples, at)
    if not near:
        at, samples = at[middles(len(at), steady_hz, rate.wanted_hz)], slower(samples, steady_hz, rate.wanted_hz)
    along = stretch.take(_nearest(seconds, at))
    return RowBlock(
        along.key, (seconds[0] + np.arange(len(samples)) / rate.wanted_hz) * rate.per_second, samples, along.cells
    )


def _nearest(times: Floats, at: Floats) -> Indices:
    """The nearest row for each time; times increase."""
    if len(times) == 1:
        return np.zeros(len(at), dtype=np.int64)
    later = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    return np.asarray(later - (at - times[later - 1] < times[later] - at))
