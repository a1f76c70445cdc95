"""What a message carries once its wire format is gone: readings of some channels, each group at its own times."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds


@dataclass(frozen=True)
class Readings:
    """Channels of the policy that one sensor reads together; values is (reading, channel), in the policy's units.

    `sensor` is the wire's own name for it, so that what is released goes out under the same name.
    """

    sensor: str
    channels: tuple[str, ...]
    times_ns: Nanoseconds
    values: Floats

    def __len__(self) -> int:
        return len(self.times_ns)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> "Readings":
        """Some of them."""
        return Readings(self.sensor, self.channels, self.times_ns[chosen], self.values[chosen])

    def numbers(self) -> "Readings":
        """Those that say nothing but finite numbers; the others count as never read."""
        finite = np.asarray(np.isfinite(self.values).all(axis=1))
        return self if finite.all() else self.where(finite)

    def only(self, names: Collection[str]) -> "Readings":
        """Some of the channels, in the same order."""
        if not set(self.channels).difference(names):
            return self
        places = [place for place, name in enumerate(self.channels) if name in names]
        channels = tuple(self.channels[place] for place in places)
        return Readings(self.sensor, channels, self.times_ns, self.values[:, places])


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
