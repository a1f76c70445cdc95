"""A messy table as pieces: every cell read as far as it can be, rows that cannot be used left out and counted."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from deeprotect.errors import TableError
from deeprotect.signals.recordings import MOST_RECORDINGS
from deeprotect.signals.schema import Floats
from deeprotect.tables.cells import UNNAMED, UNTRACKED, Indices, NameIndex, numbers_in, plain
from deeprotect.tables.preparing.counts import Counts
from deeprotect.tables.preparing.piece import Piece
from deeprotect.tables.roles import Roles
from deeprotect.tables.timestamps import Timeline


@dataclass
class PieceReader:
    """One pass over a source. Recordings are told by name and person: numbers often start anew with each person."""

    roles: Roles
    where: str
    counts: Counts
    factors: Floats  # by which each channel is multiplied
    timeline: Timeline | None = field(init=False)
    _recordings: NameIndex = field(default_factory=NameIndex)
    _people: NameIndex = field(default_factory=NameIndex)
    _pairs: dict[tuple[int, int], int] = field(default_factory=dict)
    _places: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.roles.time, self.where) if self.roles.time else None

    def pieces(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Piece]:
        for batch in batches:
            if batch.num_rows:
                yield self._piece(batch)
        self.counts.recordings_in = len(self._pairs)

    def _piece(self, batch: pa.RecordBatch) -> Piece:
        key = self._keys(batch)
        time = self.timeline.read_some(plain(batch.column(self.timeline.name))) if self.timeline else self._place(key)
        samples = np.empty((batch.num_rows, len(self.roles.channels)))
        for index, name in enumerate(self.roles.channels):
            samples[:, index] = numbers_in(batch.column(name))[0] * self.factors[index]
        named, timed, whole = key >= 0, np.isfinite(time), np.isfinite(samples).all(axis=1)
        self.counts.rows_in += batch.num_rows
        self.counts.without_recording += int(np.count_nonzero(~named))
        self.counts.without_time += int(np.count_nonzero(named & ~timed))
        self.counts.with_missing_cells += int(np.count_nonzero(named & timed & ~whole))
        cells = pa.table({name: plain(batch.column(name)) for name in batch.schema.names}).drop_columns(
            list(self.roles.channels)
        )
        return Piece(key, time, samples, cells).take(np.flatnonzero(named & timed & whole))

    def _keys(self, batch: pa.RecordBatch) -> Indices:
        none = np.zeros(batch.num_rows, dtype=np.int64)
        recording = self._recordings.numbers(batch.column(self.roles.recording)) if self.roles.recording else none
        person = self._people.numbers(batch.column(self.roles.person)) if self.roles.person else none
        if (recording == UNTRACKED).any() or (person == UNTRACKED).any() or len(self._pairs) > MOST_RECORDINGS:
            raise TableError(f"{self.where}: more than {MOST_RECORDINGS} recordings; is that column something else?")
        pairs, rows = np.unique(np.stack([recording, person], axis=1), axis=0, return_inverse=True)
        first = np.full(len(pairs), len(rows))
        np.minimum.at(first, rows.reshape(-1), np.arange(len(rows)))
        numbers = np.full(len(pairs), UNNAMED, dtype=np.int64)
        for place in np.argsort(first):
            numbers[place] = self._number(int(pairs[place, 0]), int(pairs[place, 1]))
        return np.asarray(numbers[rows.reshape(-1)])

    def _number(self, recording: int, person: int) -> int:
        nameless = recording == UNNAMED or (self.roles.recording is None and person == UNNAMED)
        return UNNAMED if nameless else self._pairs.setdefault((recording, person), len(self._pairs))

    def _place(self, key: Indices) -> Floats:
        """Without time: how many rows of the same recording came before, so that rows left out leave a gap."""
        known = np.where(key >= 0, key, 0)
        more = int(known.max()) + 1 - len(self._places)
        self._places = np.concatenate([self._places, np.zeros(max(0, more), dtype=np.int64)])
        order = np.argsort(known, kind="stable")
        begins = np.searchsorted(known[order], known[order])
        place = np.empty(len(key))
        place[order] = np.arange(len(key)) - begins + self._places[known[order]]
        self._places += np.bincount(known, minlength=len(self._places))
        return place
