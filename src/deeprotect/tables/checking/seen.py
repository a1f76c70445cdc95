"""A batch of a table as a check sees it: numbers, names and times as far as they can be understood."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeprotect.signals.schema import Floats
from deeprotect.tables.cells import Indices, Mask, NameIndex, numbers_in, plain
from deeprotect.tables.fields import is_text
from deeprotect.tables.roles import Roles
from deeprotect.tables.source import Source
from deeprotect.tables.timestamps import Timeline


@dataclass(frozen=True)
class Seen:
    """Consecutive rows; samples and text are (row, channel), text where a cell holds something that is no number."""

    first_row: int
    recording: Indices  # running numbers of names; all 0 where the table has none
    time: Floats | None  # offsets in the column's unit, NaN where missing or not understood
    stamped: Mask | None  # rows whose time cell is not empty
    samples: Floats
    text: Mask
    batch: pa.RecordBatch


@dataclass
class Reader:
    """Reads a source as a check does: nothing is refused."""

    roles: Roles
    timeline: Timeline | None
    recordings: NameIndex

    def read(self, source: Source) -> Iterator[Seen]:
        first_row = 0
        names = unique_names(source.schema.names)
        for batch in source.batches:
            if batch.num_rows:
                yield self.see(batch.rename_columns(names), first_row)
                first_row += batch.num_rows

    def see(self, batch: pa.RecordBatch, first_row: int) -> Seen:
        time, stamped = None, None
        if self.timeline is not None:
            cells = plain(batch.column(self.timeline.name))
            time, stamped = self.timeline.read_some(cells), _filled(cells)
        name = self.roles.recording
        recording = self.recordings.numbers(batch.column(name)) if name else np.zeros(batch.num_rows, dtype=np.int64)
        samples = np.empty((batch.num_rows, len(self.roles.channels)))
        text = np.zeros(samples.shape, dtype=bool)
        for index, channel in enumerate(self.roles.channels):
            samples[:, index], text[:, index] = numbers_in(batch.column(channel))
        return Seen(first_row, recording, time, stamped, samples, text, batch)


def unique_names(names: list[str]) -> list[str]:
    """Names by which columns can be told apart, where a table has one twice."""
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return [name if first[name] == place else f"{name} ({place + 1})" for place, name in enumerate(names)]


def _filled(cells: pa.Array) -> Mask:
    filled = pc.match_substring_regex(cells, r"\S") if is_text(cells.type) else pc.is_valid(cells)
    return np.asarray(pc.fill_null(filled, pa.scalar(value=False)).to_numpy(zero_copy_only=False), dtype=bool)
