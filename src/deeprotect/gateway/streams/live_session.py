"""A live session of a device: its readings on the clock, and the episodes of each app that gets them."""

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from deeprotect.bundle import Bundle
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.clock_window import ClockWindow
from deeprotect.gateway.streams.track import Track
from deeprotect.gateway.wire.message import Message
from deeprotect.release.episodes import Episodes
from deeprotect.signals.schema import Schema

MOST_PHASE = 1 << 20


def phase_of(stream: str) -> int:
    """Ticks after the clock's own at which a stream's windows and episodes begin: public, by its name alone.

    So that not all streams of a gateway draw in the same instant.
    """
    return int.from_bytes(hashlib.sha256(stream.encode("utf-8", "surrogatepass")).digest()[:4]) % MOST_PHASE


def own_name() -> str:
    """What a session is called outside: nothing of the producer's own name."""
    return str(uuid.uuid4())


@dataclass(eq=False)
class LiveSession:
    """Readings come in on the loop's thread (`take`); episodes belong to the thread that releases."""

    stream: str
    name: str  # the producer's
    released_as: str = field(default_factory=own_name)
    tracks: dict[Schema, Track] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)  # by app: those that it began with
    episodes: dict[str, Episodes] = field(default_factory=dict)  # by app
    numbers: dict[str, int] = field(default_factory=dict)  # messages that left, by app
    last_seen: float = 0.0

    def bundle_of(self, app: App, current: Callable[[App], Bundle]) -> Bundle:
        """The one that it began with, whatever was put in its place since."""
        if app.terms not in self.bundles:
            self.bundles[app.terms] = current(app)
        return self.bundles[app.terms]

    def take(self, message: Message, schemas: Iterable[Schema]) -> dict[Schema, list[ClockWindow]]:
        """Windows that are due now, for each form in which somebody wants them."""
        wanted = set(schemas)
        self.tracks = {schema: track for schema, track in self.tracks.items() if schema in wanted}
        for schema in wanted - self.tracks.keys():
            self.tracks[schema] = Track(schema, phase=phase_of(self.stream))
        return {schema: track.take(message) for schema, track in self.tracks.items()}

    def finish(self) -> dict[Schema, list[ClockWindow]]:
        """What has begun and will not go on."""
        return {schema: track.finish() for schema, track in self.tracks.items()}

    def next_number(self, app: str) -> int:
        number = self.numbers.get(app, 0)
        self.numbers[app] = number + 1
        return number

    @property
    def late(self) -> int:
        return max((track.late for track in self.tracks.values()), default=0)

    def missing(self) -> Iterator[str]:
        for track in self.tracks.values():
            yield from track.missing
