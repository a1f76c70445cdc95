"""A live session of a device: its readings on the clock, and the episodes of each app that gets them."""

import hashlib
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from deeprotect.bundle import Bundle
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.streams.track import ClockWindow, Track
from deeprotect.gateway.wire.message import Message
from deeprotect.release.episodes import Episodes
from deeprotect.signals.schema import Schema

MOST_PHASE = 1 << 20
Due = dict[Schema, list[ClockWindow]]
"""Windows that are due, for each form in which somebody wants them."""


def phase_of(stream: str) -> int:
    """Ticks after the clock's own at which a stream's windows and episodes begin: public, by its name alone.

    So that not all streams of a gateway draw in the same instant.
    """
    return int.from_bytes(hashlib.sha256(stream.encode("utf-8", "surrogatepass")).digest()[:4]) % MOST_PHASE


@dataclass(eq=False)
class Session:
    """On the terms that it began with. Readings belong to whoever has its stream's turn, episodes to the thread that
    releases; what is told of it is of its last message, for the next may be in work."""

    device: Device
    name: str  # the producer's
    last_seen: float
    released_as: str = field(default_factory=lambda: str(uuid.uuid4()))  # nothing of the producer's own name
    tracks: dict[Schema, Track] = field(default_factory=dict)
    begun_with: dict[str, App] = field(default_factory=dict)  # by key
    bundles: dict[str, Bundle] = field(default_factory=dict)  # by terms
    episodes: dict[str, Episodes] = field(default_factory=dict)  # by terms
    numbers: dict[str, int] = field(default_factory=dict)  # messages that left, by app
    late_then: int = 0
    missing_then: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        return self.device.stream

    def given(self, app: App) -> App:
        """The app on the terms that this session began with: another ε or hold is for the next one.

        Else two draws would be made for one episode. docs/claims.md#choices-below-a-bundle
        """
        return self.begun_with.setdefault(app.key, app)

    def bundle_of(self, app: App, current: Callable[[App], Bundle]) -> Bundle:
        """The one that it began with, whatever was put in its place since."""
        if app.terms not in self.bundles:
            self.bundles[app.terms] = current(app)
        return self.bundles[app.terms]

    def take(self, message: Message, schemas: Iterable[Schema]) -> Due:
        """Windows that are due now."""
        known = self.tracks
        self.tracks = {each: known.get(each) or Track(each, phase=phase_of(self.stream)) for each in schemas}
        return {schema: track.take(message) for schema, track in self.tracks.items()}

    def finish(self) -> Due:
        """What has begun and will not go on."""
        return {schema: track.finish() for schema, track in self.tracks.items()}

    def next_number(self, app: str) -> int:
        self.numbers[app] = self.numbers.get(app, -1) + 1
        return self.numbers[app]

    @property
    def late(self) -> int:
        return max((track.late for track in self.tracks.values()), default=0)

    def note(self) -> None:
        """What may be told from now on; while nobody works on it."""
        missing = (name for track in self.tracks.values() for name in track.missing)
        self.late_then, self.missing_then = self.late, tuple(dict.fromkeys(missing))
