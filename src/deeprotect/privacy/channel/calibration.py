"""What calibration recordings say about a secret's classes: one confidence set for all classes of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.betting import UNIT, Floats, Integers, lower_ends, needed, upper_ends
from deeprotect.privacy.channel.promises import NamedPromise, Unpromised, miss_of_an_end

Calibrated = tuple[list[NamedPromise], list[Unpromised]]


@dataclass(frozen=True, eq=False)
class RecordedShares:
    """Calibration recordings of a named inference: `shares[u][s]` (recording, code) are of useful class `given[u]` and
    class `classes[s]`, each row the shares of codes among the draws of one recording that has some.

    Where nothing is given, `given` is one empty name.
    """

    inference: str
    classes: tuple[str, ...]
    shares: Sequence[Sequence[Floats]]
    epsilon: float
    given: tuple[str, ...] = ("",)

    @property
    def codes(self) -> int:
        return int(self.shares[0][0].shape[1])

    def calibrated(self, *, confidence: float, inferences: int = 1) -> Calibrated:
        """A promise for each useful class that two classes have enough recordings with; and what is left out of them.

        With probability at least `confidence` all sets of `inferences` that are calibrated alike hold together.
        docs/claims.md#confidence-by-recording
        """
        if not 0.5 <= confidence < 1:
            raise PolicyError(f"confidence = {confidence} must be at least 0.5 and below 1")
        cells = len(self.given) * len(self.classes)
        miss = miss_of_an_end(confidence, inferences=inferences, cells=cells, codes=self.codes)
        promises, rest = [], []
        for given, classes in zip(self.given, self.shares, strict=True):
            enough = [s for s, shares in enumerate(classes) if len(shares) >= needed(miss)]
            enough = enough if len(enough) > 1 else []
            few = [s for s in range(len(classes)) if s not in enough]
            if enough:
                promises.append(self._promise(given, classes, enough, miss=miss))
            if few:
                fewest = min(len(classes[s]) for s in few)
                rest.append(Unpromised(self.inference, given, self._named(few), fewest, needed(miss)))
        return promises, rest

    def _promise(self, given: str, classes: Sequence[Floats], chosen: Sequence[int], *, miss: float) -> NamedPromise:
        """One set around those of all chosen classes: who reads it learns about none of them, but for the extremes."""
        cells = [classes[s] for s in chosen]
        low, high = _ends(cells, miss=miss) if self.codes > 1 else (np.full((1, 1), UNIT),) * 2
        ends = tuple(low.min(axis=0).tolist()), tuple(high.max(axis=0).tolist())
        return NamedPromise(self.inference, self.epsilon, self._named(chosen), min(map(len, cells)), *ends, given=given)

    def _named(self, numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.classes[number] for number in numbers)


def _ends(cells: Sequence[Floats], *, miss: float) -> tuple[Integers, Integers]:
    """The intervals of all cells, (cell, code); those with as many recordings are worked out at once."""
    lengths = np.array(list(map(len, cells)))
    low, high = np.empty((2, len(cells), cells[0].shape[1]), dtype=np.int64)
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length)
        shares = np.hstack([cells[place] for place in some.tolist()])
        low[some] = lower_ends(shares, miss=miss).reshape(len(some), -1)
        high[some] = upper_ends(shares, miss=miss).reshape(len(some), -1)
    return low, high
