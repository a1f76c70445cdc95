"""A batch of windows, and the public facts that travel beside it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats


@dataclass(frozen=True)
class Run:
    """Consecutive windows of one recording, numbered from 0 at its start; text, so that 1 and "1" are one name."""

    recording: str
    first: int
    count: int


@dataclass(frozen=True)
class Frame:
    """Public facts of a batch: how many samples of each window are real, its first row in the source, and its number.

    `runs` number the windows in order, all of them or, where nobody needs to know them again, none.
    """

    lengths: NDArray[np.int64]
    first_rows: NDArray[np.int64]
    runs: tuple[Run, ...] = ()

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class Windows:
    """Windows that do not overlap; samples is (window, time, channel), in units or scaled as the holder says."""

    samples: Floats
    frame: Frame

    def __len__(self) -> int:
        return len(self.frame)

    def rows(self) -> Floats:
        """The samples as table rows (row, channel), padding cut off."""
        real = np.arange(self.samples.shape[1]) < self.frame.lengths[:, None]
        return self.samples[real]
