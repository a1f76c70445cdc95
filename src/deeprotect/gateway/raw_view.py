"""Raw windows for their owner's own console; no other code makes them into something that could leave."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from deeprotect.gateway.track import TrackWindow
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.signals.schema import Schema
from deeprotect.signals.ticks import Ticks


def raw_windows(stream: str, session: str, due: Mapping[Schema, Sequence[TrackWindow]]) -> Iterator[ReleasedWindow]:
    """Whole windows in the form of the first schema, without the producer's names."""
    for schema, windows in due.items():
        for each in windows:
            if each.window.samples is not None:
                ticks = each.window.number * schema.window + np.arange(schema.window, dtype=np.int64)
                times = Ticks.of(schema.rate_hz).times(ticks)
                yield ReleasedWindow(stream, session, each.window.number, schema.names, times, each.window.samples, ())
        return
