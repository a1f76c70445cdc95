"""Rows on their way through mending, and bringing the rows of a recording together.

As they stand, one recording in memory at a time, or by way of the disk where recordings interleave.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from deeprotect.signals.schema import Floats
from deeprotect.tables.reader import Indices

BUCKETS = 64  # files on the disk; one of them is in memory at a time, and never less than a recording


@dataclass(frozen=True)
class Piece:
    """Consecutive rows; samples is (row, channel), `cells` are all other columns, time as it was written included."""

    key: Indices  # number of the recording
    time: Floats  # offset in the column's unit; place in the recording, where the table has no time
    samples: Floats
    cells: pa.Table

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: Indices) -> "Piece":
        return Piece(self.key[rows], self.time[rows], self.samples[rows], self.cells.take(pa.array(rows)))

    def part(self, start: int, stop: int) -> "Piece":
        rows = slice(start, stop)
        return Piece(self.key[rows], self.time[rows], self.samples[rows], self.cells.slice(start, stop - start))

    def by_recording(self) -> Iterator["Piece"]:
        """Cut where the recording changes."""
        borders = [0, *(np.flatnonzero(np.diff(self.key)) + 1), len(self)]
        for start, stop in pairwise(borders):
            if stop > start:
                yield self.part(int(start), int(stop))


def joined(pieces: Sequence[Piece]) -> Piece:
    """One after the other."""
    if len(pieces) == 1:
        return pieces[0]
    return Piece(
        np.concatenate([piece.key for piece in pieces]),
        np.concatenate([piece.time for piece in pieces]),
        np.concatenate([piece.samples for piece in pieces]),
        pa.concat_tables([piece.cells for piece in pieces]).combine_chunks(),
    )


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


def gathered_recordings(pieces: Iterable[Piece], recordings: int, *, beside: Path | None) -> Iterator[Piece]:
    """Recordings whose rows stand anywhere, by way of files in a temporary folder `beside` the output."""
    with tempfile.TemporaryDirectory(prefix=".prepare-", dir=beside) as folder:
        files = [Path(folder) / str(index) for index in range(BUCKETS)]
        _spill(pieces, recordings, files)
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
