"""Drawing outputs with probabilities that are exact fractions of 2^64. docs/claims.md#exact-sampling-of-the-channel"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deeprotect.privacy.channel.betting import Integers
from deeprotect.privacy.channel.ratios import Weights
from deeprotect.privacy.entropy import Words


class ExactDraw:
    """Code z becomes output j with probability `weights[z][j]` / 2^64, one 64-bit word for each draw."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def __call__(self, index: NDArray[np.int16], words: Words) -> Integers:
        """The first output whose last word is not below the word drawn."""
        output = np.empty(len(index), dtype=np.int64)
        order = np.argsort(index, kind="stable")
        ends = np.searchsorted(index[order], np.arange(len(self._weights) + 1)).tolist()
        for (columns, last), start, end in zip(self._thresholds, ends, ends[1:], strict=False):
            if start < end:  # a live window has one code, of perhaps hundreds
                here = order[start:end]
                output[here] = columns[np.searchsorted(last, words[here])]
        return output

    @cached_property
    def _thresholds(self) -> list[tuple[NDArray[np.intp], Words]]:
        """For each code its possible outputs and the last word that gives each: 2^64 - 1 for the last of them."""
        rows = []
        for row in self._weights:
            columns = [column for column, weight in enumerate(row) if weight]
            last = [sum(row[: column + 1]) - 1 for column in columns]
            rows.append((np.array(columns, dtype=np.intp), np.array(last, dtype=np.uint64)))
        return rows
