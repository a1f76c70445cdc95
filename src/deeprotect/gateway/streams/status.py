"""How streams are doing, for the console and for whoever asks; nothing of it is a sample."""

from dataclasses import dataclass
from datetime import datetime


@dataclass
class AppStatus:
    """One app's part of a stream, since the gateway started."""

    name: str
    bundle: str = ""
    released: int = 0
    placeholders: int = 0
    refusal: str | None = None
    dropped: int = 0


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


@dataclass(frozen=True)
class Receipt:
    """What became of a message: how many readings are in time, and what the person should know."""

    accepted: int
    late: int = 0
    refusal: str | None = None
    busy: bool = False
