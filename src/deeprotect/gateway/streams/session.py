"""A live session of a device: its readings on the clock, the episodes of each app that gets them, how it is doing."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from deeprotect.bundle import Bundle
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.wire.message import Message
from deeprotect.release.by_time import ByTime, ClockWindow, phase_of
from deeprotect.release.episodes import Episodes
from deeprotect.signals.schema import Schema

Due = dict[Schema, list[ClockWindow]]
"""Windows that are due, for each form in which somebody wants them."""


@dataclass(eq=False)
class Session:
    """Under the bundles that it began with. Readings belong to whoever has its stream's turn, episodes to the thread
    that releases; what is told of it is of its last message, for the next may be in work."""

    device: Device
    name: str  # the producer's; without one, a device has one session at a time, and all of them one clock
    last_seen: float
    last_new: float = 0.0  # something came that was not late: without it for long, a session is over
    released_as: str = field(default_factory=lambda: str(uuid.uuid4()))  # nothing of the producer's own name
    clocks: dict[Schema, ByTime] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)  # by the app's key
    episodes: dict[str, Episodes] = field(default_factory=dict)  # by the app's key
    numbers: dict[str, int] = field(default_factory=dict)  # messages that left, by app
    late_then: int = 0
    behind_then: float = 0.0
    apart_then: str = ""
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
        known = self.clocks
        self.clocks = {each: known.get(each) or ByTime(each, phase=phase_of(self.stream)) for each in schemas}
        return {schema: clock.push(message.readings) for schema, clock in self.clocks.items()}

    def finish(self) -> Due:
        """What has begun and will not go on."""
        return {schema: clock.finish() for schema, clock in self.clocks.items()}

    @property
    def behind(self) -> float:
        """Seconds by which all of the last message came after what is over; 0 if any of it was in time."""
        return min((clock.behind for clock in self.clocks.values()), default=0.0)

    @property
    def apart(self) -> str:
        """What is wrong with stamps that are too far apart for any window to be whole; empty while nothing is."""
        found = [(clock.apart, schema) for schema, clock in self.clocks.items() if clock.apart]
        if not found:
            return ""
        apart, schema = found[0]
        finer = "; send finer stamps than whole seconds, or use --time arrival" if apart % 1 == 0 else ""
        return f"they are {apart:g} s apart by their stamps, and the policy is for {schema.rate_hz:g} Hz{finer}"

    def next_number(self, app: str) -> int:
        self.numbers[app] = self.numbers.get(app, -1) + 1
        return self.numbers[app]

    @property
    def late(self) -> int:
        return max((clock.late for clock in self.clocks.values()), default=0)

    def note(self) -> None:
        """What may be told from now on; while nobody works on it."""
        missing = (name for clock in self.clocks.values() for name in clock.missing)
        self.late_then, self.missing_then = self.late, tuple(dict.fromkeys(missing))
        self.behind_then, self.apart_then = self.behind, self.apart


BEHIND = "they were sent before, or the device's clock was set back: then begin a new session, or use --time arrival"
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
    behind: float = 0.0  # seconds by which all of the last message was late
    apart: str = ""  # what is wrong with stamps that are too far apart


OK, SPENT, FAILING = 200, 499, 503
"""499 is what Sensor Logger shows to the person, once in a recording; after 503 it sends again."""


@dataclass(frozen=True)
class Answer:
    """What a device is told: a status of HTTP and one line, and how many of its readings are in time."""

    status: int = OK
    text: str = ""
    accepted: int = 0
    waits: str | None = None  # for what, where nothing is wrong and nothing leaves
