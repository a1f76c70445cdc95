"""A batch of windows, and the public facts that travel beside it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.episodes import run_lengths
from deeprotect.signals.schema import Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Consecutive draws of one recording, numbered from 0 at its start; text, so that 1 and "1" are one name."""

    recording: str
    first: int
    count: int


@dataclass(frozen=True)
class Frame:
    """Public facts of a batch: how many samples of each window are real, its first row in the source, its episode.

    Episodes are numbered through the source, and each is whole in its batch; without them, each window is its own.
    `runs` number the draws in order, all of them or, where nobody needs to know them again, none.
    """

    lengths: Integers
    first_rows: Integers
    episodes: Integers | None = None
    runs: tuple[Run, ...] = ()

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def windows_of_episodes(self) -> Integers:
        """How many windows each episode of the batch has, in order."""
        return np.ones(len(self), dtype=np.int64) if self.episodes is None else run_lengths(self.episodes)


@dataclass(frozen=True)
class Windows:
    """Windows that do not overlap; samples is (window, time, channel), in units or scaled as the holder says."""

    samples: Floats
    frame: Frame

    def __len__(self) -> int:
        return len(self.frame)

    def rows(self) -> Floats:
        """The samples as table rows (row, channel), padding cut off."""
        count, time, channels = self.samples.shape
        if (self.frame.lengths == time).all():
            return self.samples.reshape(count * time, channels)
        return self.samples[np.arange(time) < self.frame.lengths[:, None]]
