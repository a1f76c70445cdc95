"""Raw windows for their owner's own console; no other code makes them into something that could leave."""

from collections.abc import Iterator, Mapping, Sequence

from deeprotect.gateway.streams.clock_window import ClockWindow
from deeprotect.gateway.wire.message import ReleasedWindow
from deeprotect.signals.schema import Schema


def raw_windows(stream: str, session: str, due: Mapping[Schema, Sequence[ClockWindow]]) -> Iterator[ReleasedWindow]:
    """Whole windows in the form of the first schema, without the producer's names."""
    for schema, windows in due.items():
        for each in windows:
            if each.samples is not None:
                yield ReleasedWindow(stream, session, each.number, schema.names, each.times_ns, each.samples, ())
        return
