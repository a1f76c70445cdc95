"""A live session of a device: its readings on the clock, the episodes of each of its apps, its state."""

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
"""Due windows, for each requested form."""


@dataclass(eq=False)
class Session:
    """A session with the bundles it started with. Readings belong to the holder of its stream's turn, episodes to the
    releasing thread; its reported state is that after the last message, because the next may be in progress."""

    device: Device
    name: str  # the producer's; without one, a device has one session at a time, all on one clock
    last_seen: float
    last_new: float = 0.0  # time of the last reading in time; long ago, the session is over
    released_as: str = field(default_factory=lambda: str(uuid.uuid4()))  # independent of the producer's name
    clocks: dict[Schema, ByTime] = field(default_factory=dict)
    bundles: dict[str, Bundle] = field(default_factory=dict)  # by the app's key
    episodes: dict[str, Episodes] = field(default_factory=dict)  # by the app's key
    numbers: dict[str, int] = field(default_factory=dict)  # released messages, by app
    late_then: int = 0
    behind_then: float = 0.0
    apart_then: str = ""
    missing_then: tuple[str, ...] = ()

    @property
    def stream(self) -> str:
        return self.device.stream

    def bundle_of(self, app: App, current: Callable[[App], Bundle]) -> Bundle:
        """The bundle that the session started with, whatever replaced it since."""
        if app.key not in self.bundles:
            self.bundles[app.key] = current(app)
        return self.bundles[app.key]

    def take(self, message: Message, schemas: Iterable[Schema]) -> Due:
        """Add readings; returns windows that are due."""
        known = self.clocks
        self.clocks = {each: known.get(each) or ByTime(each, phase=phase_of(self.stream)) for each in schemas}
        return {schema: clock.push(message.readings) for schema, clock in self.clocks.items()}

    def finish(self) -> Due:
        """End the session; returns its remaining windows."""
        return {schema: clock.finish() for schema, clock in self.clocks.items()}

    @property
    def behind(self) -> float:
        """Seconds by which the entire last message was late; 0 if any of it was in time."""
        return min((clock.behind for clock in self.clocks.values()), default=0.0)

    @property
    def apart(self) -> str:
        """The problem with stamps too far apart for any complete window; empty if there is none."""
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
        """Update the reported state, while the session is not being worked on."""
        missing = (name for clock in self.clocks.values() for name in clock.missing)
        self.late_then, self.missing_then = self.late, tuple(dict.fromkeys(missing))
        self.behind_then, self.apart_then = self.behind, self.apart


BEHIND = "they were sent before, or the device's clock was set back: then begin a new session, or use --time arrival"
LIVE_SECONDS = 10.0
"""Seconds since the last message within which a stream is live."""
State = Literal["live", "quiet", "refused"]


@dataclass
class AppStatus:
    """One app's part of a stream, since the gateway started."""

    name: str
    bundle: str = ""
    released: int = 0
    placeholders: int = 0
    refusal: str | None = None
    dropped: int = 0  # drawn windows that did not reach it
    whys: tuple[str, ...] = ()  # current reasons for withholding windows
    withheld: dict[str, int] = field(default_factory=dict)  # withheld windows, by reason
    is_read: bool = False  # has a reader


@dataclass(frozen=True)
class StreamStatus:
    """One registered stream; `missing` channels are awaited in the open window."""

    stream: str
    person: str
    session: str | None
    last_reading: datetime | None
    missing: tuple[str, ...]
    late: int
    windows: int
    apps: tuple[AppStatus, ...]
    behind: float = 0.0  # seconds by which the entire last message was late
    apart: str = ""  # the problem with stamps too far apart


OK, SPENT, FAILING = 200, 499, 503
"""Sensor Logger shows 499 to the person once per recording; after 503 it resends."""


@dataclass(frozen=True)
class Answer:
    """The response to a device: an HTTP status, one line, and the number of readings in time."""

    status: int = OK
    text: str = ""
    accepted: int = 0
    waits: str | None = None  # what is missing for a release, if nothing is wrong
