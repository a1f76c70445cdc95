"""Rows of a source as numbers, checked against the schema first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.signals import Channel, Schema
from deeprotect.signals.checks import all_inside, check_finite, largely_outside, refuse_outside
from deeprotect.signals.clock import Clock
from deeprotect.signals.recordings import RecordingWatch
from deeprotect.signals.schema import Floats
from deeprotect.tables.columns import Columns
from deeprotect.tables.sources import Source


@dataclass(frozen=True)
class Rows:
    """Consecutive rows: samples (row, channel) in units, their recording names, and their batch."""

    samples: Floats
    recording: NDArray[np.generic] | None
    batch: pa.RecordBatch


def read_rows(
    source: Source, columns: Columns, schema: Schema, *, outside: Callable[[Channel, str], object] = refuse_outside
) -> Iterator[Rows]:
    """Read every row of the source, batch by batch; the first unusable row raises a TableError.

    `outside` is called with every channel that lies largely outside its public range in a batch.
    """
    clock = Clock(schema.rate_hz, source.where, column=columns.time_name or "time")
    watch, timeline, first_row = RecordingWatch(source.where, schema.window), columns.timeline(), 0
    for batch in source.batches:
        if not batch.num_rows:
            continue
        rows = Rows(columns.samples(batch), columns.recording(batch), batch)
        if not all_inside(rows.samples, schema):
            check_finite(rows.samples, schema, first_row=first_row, where=source.where)
            for channel in largely_outside(rows.samples, schema):
                outside(channel, source.where)
        if rows.recording is not None:
            watch.check(rows.recording, first_row=first_row)
        if timeline is not None:
            time = timeline.read(batch.column(timeline.name))
            clock.per_second = clock.per_second or timeline.per_second
            clock.check(time, rows.recording, first_row=first_row)
        first_row += batch.num_rows
        yield rows
    clock.finish()
