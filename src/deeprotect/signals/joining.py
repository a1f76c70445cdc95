"""Joining released windows: of a code's public variants, one that starts near where the window before it ended."""

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats

NEAREST = 4
"""So many variants compete for a place; the variant that was drawn says which of them gets it."""


class Joiner:
    """Changes only the variant of a released index, and looks at nothing but released indices: post-processing."""

    def __init__(self, outputs: Floats) -> None:
        """Public windows, (code, variant, time, channel)."""
        codes, self._variants = outputs.shape[:2]
        starts, ends = outputs[:, :, 0], outputs[:, :, -1].reshape(codes * self._variants, -1)
        jumps = ((ends[:, None, None, :] - starts[None]) ** 2).sum(axis=-1)  # (window before, code, variant)
        nearest = np.argsort(jumps, axis=2, kind="stable")[:, :, :NEAREST]
        self._nearest = nearest + self._variants * np.arange(codes)[:, None]

    def join(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices (code * variants + variant) in the order of release; the first stays as it is."""
        codes, drawn = index // self._variants, index % self._variants % self._nearest.shape[2]
        joined = index.copy()
        for place in range(1, len(index)):
            joined[place] = self._nearest[joined[place - 1], codes[place], drawn[place]]
        return joined
