"""Bringing recordings together: as they stand, one in memory at a time, or by way of the disk where they interleave."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from deeprotect.signals.clock import usual_step
from deeprotect.signals.schema import Floats
from deeprotect.tables.preparing.piece import Piece, joined

BUCKETS = 64  # files on the disk; one of them is in memory at a time, and never less than a recording


@dataclass
class Order:
    """How the rows of a table stand: whether recordings interleave, whether time always grows, and by how much."""

    interleaved: bool = False
    unsorted: bool = False
    recordings: int = 0
    period: float | None = None  # the usual step of time, in the column's unit
    _last: Floats = field(default_factory=lambda: np.empty(0))
    _current: int = -1

    def see(self, piece: Piece) -> None:
        if not len(piece):
            return
        if self.period is None:
            self.period = usual_step(piece.time, piece.key)
        for part in piece.by_recording():
            self._see_recording(int(part.key[0]), part.time)

    def _see_recording(self, key: int, time: Floats) -> None:
        if key >= self.recordings:
            self._last = np.concatenate([self._last, np.full(key + 1 - self.recordings, np.nan)])
            self.recordings = key + 1
        begun = np.isfinite(self._last[key])
        self.interleaved |= bool(begun and key != self._current)
        self.unsorted |= bool((np.diff(time) <= 0).any() or (begun and time[0] <= self._last[key]))
        self._last[key], self._current = time[-1], key


def whole_recordings(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Recordings that stand together, each in one piece: the longest must fit in memory."""
    held: list[Piece] = []
    for piece in pieces:
        for part in piece.by_recording():
            if held and held[-1].key[0] != part.key[0]:
                yield joined(held)
                held = []
            held.append(part)
    if held:
        yield joined(held)


def gathered_recordings(pieces: Iterable[Piece], order: Order, *, beside: Path | None) -> Iterator[Piece]:
    """Recordings whose rows stand anywhere, by way of files in a temporary folder `beside` the output."""
    with tempfile.TemporaryDirectory(prefix=".prepare-", dir=beside) as folder:
        files = [Path(folder) / str(index) for index in range(BUCKETS)]
        _spill(pieces, order.recordings, files)
        for file in files:
            if file.exists():
                together = _load(file)
                yield from together.take(np.argsort(together.key, kind="stable")).by_recording()


def _spill(pieces: Iterable[Piece], recordings: int, files: list[Path]) -> None:
    writers: dict[int, pa.RecordBatchStreamWriter] = {}
    with ExitStack() as stack:
        for piece in pieces:
            bucket = piece.key * len(files) // max(1, recordings)  # in order, so that recordings stay in theirs
            for index in np.unique(bucket):
                table = _as_table(piece.take(np.flatnonzero(bucket == index)))
                if index not in writers:
                    writers[index] = stack.enter_context(pa.ipc.new_stream(str(files[index]), table.schema))
                writers[index].write_table(table)


def _as_table(piece: Piece) -> pa.Table:
    samples = pa.FixedSizeListArray.from_arrays(pa.array(piece.samples.reshape(-1)), piece.samples.shape[1])
    kept = {f"cell {name}": piece.cells.column(name) for name in piece.cells.column_names}
    return pa.table({"key": piece.key, "time": piece.time, "samples": samples, **kept})


def _load(file: Path) -> Piece:
    with pa.ipc.open_stream(str(file)) as reader:
        table = reader.read_all().combine_chunks()
    key, time = table.column("key").to_numpy(), table.column("time").to_numpy()
    samples = table.column("samples").combine_chunks()
    width = samples.type.list_size
    cells = table.drop_columns(["key", "time", "samples"])
    cells = cells.rename_columns([name.removeprefix("cell ") for name in cells.column_names])
    return Piece(key, time, samples.flatten().to_numpy().reshape(len(key), width), cells)
