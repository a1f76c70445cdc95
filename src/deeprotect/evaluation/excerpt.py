"""A segment of one channel to look at: raw, and as each mechanism releases it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from deeprotect.signals import Channel, Schema
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

SHOWN_WINDOWS = 10


@dataclass(frozen=True)
class Excerpt:
    """Neighbouring test windows (window, value) and the channel to draw of them; released ones by name of their line.

    `epsilon` is the one at which they were released.
    """

    windows: Floats
    schema: Schema
    place: int
    epsilon: float
    released: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def channel(self) -> Channel:
        return self.schema.channels[self.place]

    def line(self, windows: Floats) -> Floats:
        """The channel's samples in its unit, one after the other."""
        samples = windows.reshape(-1, self.schema.window, len(self.schema.channels))
        return self.schema.unscale(samples)[:, :, self.place].ravel()

    @classmethod
    def choose(cls, test: LabelledWindows, schema: Schema, *, epsilon: float) -> "Excerpt":
        """The liveliest channel, in the recording where it is liveliest among those long enough to show."""
        place = int(test.samples.std(axis=(0, 1)).argmax())
        counts = np.bincount(test.recording)
        long_enough = np.flatnonzero(counts >= min(SHOWN_WINDOWS, counts.max()))
        spreads = [test.samples[test.recording == number][:, :, place].std() for number in long_enough]
        chosen = test.recording == long_enough[int(np.argmax(spreads))]
        return cls(test.flat[chosen][:SHOWN_WINDOWS], schema, place, epsilon)
