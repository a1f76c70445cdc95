"""Calibration recordings for a named promise: which they are, and how often each code was given in each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deeprotect.privacy.channel.calibration import RecordedShares
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import MISSING, Indices, LabelledWindows
from deeprotect.training.splits import Mask


def calibrating(windows: LabelledWindows, useful: Sequence[str], *, seed: int) -> Mask:
    """Which windows are of calibration recordings: half of the recordings, and half of those with the same labels.

    Chosen by labels alone. The coder learns from the others, which show every combination of useful labels.
    """
    known, every = _shown(windows, useful), _shown(windows, tuple(windows.labels))
    order = np.random.default_rng(seed).permutation(list(known)).tolist()
    learnt: set[str] = set()
    sides: tuple[list[int], list[int]] = ([], [])
    for recording in sorted(order, key=lambda each: (sorted(known[each]), sorted(every[each]))):
        side = int(known[recording] <= learnt and len(sides[1]) < len(sides[0]))
        sides[side].append(recording)
        learnt |= known[recording] if side == 0 else set()
    return np.isin(windows.recording, sides[1])


def _shown(windows: LabelledWindows, names: Sequence[str]) -> dict[int, set[str]]:
    """Which combinations of labels each recording has."""
    found: dict[int, set[str]] = {}
    for recording, labels in zip(windows.recording.tolist(), windows.targets(names).tolist(), strict=True):
        found.setdefault(recording, set()).add(repr(labels))
    return found


@dataclass(frozen=True)
class CalibrationDraws:
    """Draws of `windows` that begin at `first`, each with its code out of so many `codes`.

    A draw has the label that its labelled windows agree on; one that has none counts nowhere.
    """

    windows: LabelledWindows
    first: Indices
    coded: Indices
    codes: int

    @classmethod
    def of(cls, windows: LabelledWindows, coded: Indices, *, hold: Hold, codes: int) -> Self:
        """From the code of each window, which is that of its draw."""
        first = np.unique(windows.episodes(hold), return_index=True)[1]
        return cls(windows, first, coded[first], codes)

    def shares(
        self,
        inference: str,
        classes: Sequence[str],
        *,
        epsilon: float,
        useful: Indices | None = None,
        names: Sequence[str] = ("",),
    ) -> RecordedShares:
        """Of each class of the inference; with `useful`, each window's as a number of `names`, for each of those."""
        secret = agreed(self.windows.codes(inference, classes), self.first)
        given = np.zeros(len(secret), dtype=np.int64) if useful is None else agreed(useful, self.first)
        cells = [[self._cell((given == u) & (secret == s)) for s in range(len(classes))] for u in range(len(names))]
        return RecordedShares(inference, tuple(classes), cells, epsilon, tuple(names))

    def _cell(self, chosen: Mask) -> Floats:
        """(recording, code), a row for each recording with such draws."""
        recordings, numbers = np.unique(self.windows.recording[self.first[chosen]], return_inverse=True)
        counts = np.zeros((len(recordings), self.codes))
        np.add.at(counts, (numbers, self.coded[chosen]), 1)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def agreed(numbers: Indices, first: Indices) -> Indices:
    """Of each draw the number that its windows have, leaving out those that have none; missing where they differ."""
    if not len(first):
        return first
    beyond = np.where(numbers == MISSING, np.iinfo(np.int64).max, numbers)
    low, high = np.minimum.reduceat(beyond, first), np.maximum.reduceat(numbers, first)
    return np.where(low == high, high, MISSING)
