"""Readings of channels as sensors send them, each group of channels at its own times."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import Nanoseconds


@dataclass(frozen=True)
class Readings:
    """Channels of the policy that one sensor reads together; `values` is (reading, channel), in the policy's units.

    `sensor` identifies the sensor on the wire, so that released values are sent under the same names.
    """

    sensor: Any
    channels: tuple[str, ...]
    times_ns: Nanoseconds
    values: Floats

    def __len__(self) -> int:
        return len(self.times_ns)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> "Readings":
        """Some of them."""
        return Readings(self.sensor, self.channels, self.times_ns[chosen], self.values[chosen])

    def numbers(self) -> "Readings":
        """The readings that are finite in all channels; the others are dropped."""
        finite = np.asarray(np.isfinite(self.values).all(axis=1))
        return self if finite.all() else self.where(finite)

    def only(self, names: Collection[str]) -> "Readings":
        """Selects some of the channels, in the same order."""
        if not set(self.channels).difference(names):
            return self
        places = [place for place, name in enumerate(self.channels) if name in names]
        channels = tuple(self.channels[place] for place in places)
        return Readings(self.sensor, channels, self.times_ns, self.values[:, places])
