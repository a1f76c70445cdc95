"""What a message carries once its wire format is gone: readings of some channels, each group at its own times."""

from dataclasses import dataclass

from deeprotect.signals.readings import Readings
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds


@dataclass(frozen=True)
class Message:
    """Readings of one session, as the producer calls it; in a released message all names are the stream's own."""

    session: str
    readings: tuple[Readings, ...]
    is_test: bool = False  # a producer's test button: it is answered, and nothing is kept


@dataclass(frozen=True)
class ReleasedWindow:
    """One window on its way to an app: its ticks on the clock, and the producer's own times with released values."""

    stream: str
    session: str  # the stream's own name for it: a number
    number: int  # of the message, counted from 0 in the session
    channels: tuple[str, ...]
    times_ns: Nanoseconds  # ticks of the policy's rate
    values: Floats  # (tick, channel), in units
    readings: tuple[Readings, ...]  # the same values under the producer's sensors and time stamps
    placeholder: bool = False
