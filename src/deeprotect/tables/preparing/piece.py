"""Rows on their way through mending: recording number, time, samples, and the cells that go along."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from deeprotect.signals.schema import Floats
from deeprotect.tables.cells import Indices


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
