"""Episodes: consecutive windows of one recording that share one draw, cut by a public rule, never by the data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Hold:
    """One draw for `windows` windows, made from `listen` of them, spread evenly over the episode."""

    windows: int = 1
    listen: int = 1

    @property
    def per(self) -> str:
        """What one draw covers: a window or an episode."""
        return "window" if self.windows == 1 else "episode"

    def heard(self, counts: Counts) -> tuple[NDArray[np.int64], Counts]:
        """Which windows a draw looks at, and how many in each episode, for episodes of the given lengths.

        A last episode may be short, and is then looked at over its own length; lengths are public.
        """
        if counts.max(initial=0) <= self.listen:
            return np.arange(counts.sum()), counts
        starts = np.cumsum(counts) - counts
        places = [_spread(int(length), self.listen) + starts[counts == length, None] for length in np.unique(counts)]
        every = np.concatenate([place.ravel() for place in places]) if places else np.empty(0, dtype=np.int64)
        return np.sort(every), np.minimum(counts, self.listen)


def _spread(length: int, listen: int) -> NDArray[np.int64]:
    """The middles of `listen` equal parts, or every place if there are no more than `listen`."""
    parts = min(length, listen)
    return (2 * np.arange(parts, dtype=np.int64) + 1) * length // (2 * parts)


def run_lengths(episodes: NDArray[np.int64]) -> Counts:
    """The number of windows of each episode, from the episode of each window, in order."""
    if not len(episodes):
        return np.empty(0, dtype=np.int64)
    borders = np.flatnonzero(np.diff(episodes)) + 1
    return np.diff(np.concatenate([[0], borders, [len(episodes)]]))
