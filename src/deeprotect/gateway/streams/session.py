"""A live session of a device: its readings on the clock, the episodes of each app that gets them, how it is doing."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from deeprotect.bundle import Bundle
from deeprotect.gateway.registration.addresses import phase_of
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.streams.track import ClockWindow, Track
from deeprotect.gateway.wire.message import Message
from deeprotect.release.episodes import Episodes
from deeprotect.signals.schema import Schema

Due = dict[Schema, list[ClockWindow]]
"""Windows that are due, for each form in which somebody wants them."""


@dataclass(eq=False)
class Session:
    """Under the bundles that it began with. Readings belong to whoever has its stream's turn, episodes to the thread
    that releases; what is told of it is of its last message, for the next may be in work."""

    device: Device
    name: str  # the producer's
    last_seen: float
    released_as: str = field(default_factory=lambda: str(uuid.uuid4()))  # nothing of the producer's own name
    tracks: dict[Schema, Track] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)  # by the app's key
    episodes: dict[str, Episodes] = field(default_factory=dict)  # by the app's key
    numbers: dict[str, int] = field(default_factory=dict)  # messages that left, by app
    late_then: int = 0
    missing_then: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        return self.device.stream

    def bundle_of(self, app: App, current: Callable[[App], Bundle]) -> Bundle:
        """The one that it began with, whatever was put in its place since."""
        if app.key not in self.bundles:
            self.bundles[app.key] = current(app)
        return self.bundles[app.key]

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


LIVE_SECONDS = 10.0
"""A stream that was heard from no longer ago is live."""
State = Literal["live", "quiet", "refused"]


@dataclass
class AppStatus:
    """One app's part of a stream, since the gateway started."""

    name: str
    bundle: str = ""
    released: int = 0
    placeholders: int = 0
    refusal: str | None = None
    dropped: int = 0  # windows that were drawn, and did not reach it
    whys: tuple[str, ...] = ()  # reasons for which windows do not leave now
    withheld: dict[str, int] = field(default_factory=dict)  # windows that did not leave, by the reason
    is_read: bool = False  # somebody is there to get them


@dataclass(frozen=True)
class StreamStatus:
    """One registered stream; `missing` are channels that are awaited in the window that is open."""

    stream: str
    person: str
    session: str | None
    last_reading: datetime | None
    missing: tuple[str, ...]
    late: int
    windows: int
    apps: tuple[AppStatus, ...]


OK, SPENT, FAILING = 200, 499, 503
"""499 is what Sensor Logger shows to the person, once in a recording; after 503 it sends again."""


@dataclass(frozen=True)
class Answer:
    """What a device is told: a status of HTTP and one line, and how many of its readings are in time."""

    status: int = OK
    text: str = ""
    accepted: int = 0
    waits: str | None = None  # for what, where nothing is wrong and nothing leaves
