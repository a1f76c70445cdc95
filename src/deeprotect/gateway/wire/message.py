"""The content of a message in any wire format: readings of some channels, each group with its own times."""

from dataclasses import dataclass

from deeprotect.signals.readings import Readings
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds


@dataclass(frozen=True)
class Message:
    """Readings of one session under the producer's names; in a released message all names are the stream's own."""

    session: str
    readings: tuple[Readings, ...]
    is_test: bool = False  # from a producer's test button: answered, but not kept


@dataclass(frozen=True)
class ReleasedWindow:
    """One window on its way to an app: its ticks on the clock, and the producer's own times with released values."""

    stream: str
    session: str  # the stream's own number for the session
    number: int  # number of the message in the session, from 0
    channels: tuple[str, ...]
    times_ns: Nanoseconds  # ticks of the policy's rate
    values: Floats  # (tick, channel), in units
    readings: tuple[Readings, ...]  # the values under the producer's sensors and time stamps
    placeholder: bool = False
