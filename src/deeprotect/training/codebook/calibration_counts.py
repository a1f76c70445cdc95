"""Counting for a named promise: how often each code was given to each class, by coders that had not seen the draws."""

from collections.abc import Sequence

import numpy as np

from deeprotect.privacy.channel.calibration import SensitiveCounts
from deeprotect.privacy.channel.combinations import Tables, tables_of
from deeprotect.training.labelled_windows import Indices, Labels
from deeprotect.training.labels import MISSING


class Counted:
    """The draws of a sensitive inference: `labels` of all windows, `coded` of draws, which begin at `first`.

    A draw has the class that its labelled windows agree on; one that has none counts nowhere.
    """

    def __init__(self, inference: str, labels: Labels, coded: Indices, *, first: Indices, codes: int) -> None:
        self.inference, self.coded, self.codes = inference, coded, codes
        self.classes = tuple(sorted({str(label) for label in labels if label is not None}))
        self.numbers = agreed(_numbered(labels, self.classes), first)

    def alone(self, *, epsilon: float) -> SensitiveCounts:
        """One table, whatever else the draws show."""
        known = self.numbers != MISSING
        counts = np.zeros((len(self.classes), self.codes), dtype=np.int64)
        np.add.at(counts, (self.numbers[known], self.coded[known]), 1)
        return SensitiveCounts(self.inference, self.classes, counts, epsilon)

    def given(self, useful: Indices, names: Sequence[str], *, epsilon: float) -> Tables:
        """A table for each useful class; `useful` is each draw's as a number of `names`, or missing."""
        known = (self.numbers != MISSING) & (useful != MISSING)
        counts = np.zeros((len(names), len(self.classes), self.codes), dtype=np.int64)
        np.add.at(counts, (useful[known], self.numbers[known], self.coded[known]), 1)
        return tables_of(self.inference, counts, given=names, classes=self.classes, epsilon=epsilon)


def agreed(numbers: Indices, first: Indices) -> Indices:
    """Of each draw the number that its windows have, leaving out those that have none; missing where they differ."""
    beyond = np.where(numbers == MISSING, np.iinfo(np.int64).max, numbers)
    low, high = np.minimum.reduceat(beyond, first), np.maximum.reduceat(numbers, first)
    return np.where(low == high, high, MISSING)


def _numbered(labels: Labels, classes: Sequence[str]) -> Indices:
    numbers = np.full(len(labels), MISSING, dtype=np.int64)
    known = np.flatnonzero([label is not None for label in labels])
    numbers[known] = np.searchsorted(np.array(classes, dtype=str), labels[known].astype(str))
    return numbers
