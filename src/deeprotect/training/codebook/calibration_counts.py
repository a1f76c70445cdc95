"""Counting for a named promise: how often each code was given to each class, by coders that had not seen the draws."""

from collections.abc import Sequence

import numpy as np

from deeprotect.privacy.channel.calibration import SensitiveCounts
from deeprotect.privacy.channel.combinations import Tables, tables_of
from deeprotect.training.labelled_windows import Indices, Labels


def classes_of(labels: Labels) -> tuple[str, ...]:
    return tuple(sorted({str(label) for label in labels if label is not None}))


def count(
    inference: str, labels: Labels, coded: Indices, *, classes: Sequence[str], codes: int, epsilon: float
) -> SensitiveCounts:
    """One table, whatever else the draws show; those without a label count nowhere."""
    counts = np.zeros((len(classes), codes), dtype=np.int64)
    known, numbers = _numbered(labels, classes)
    np.add.at(counts, (numbers, coded[known]), 1)
    return SensitiveCounts(inference, tuple(classes), counts, epsilon)


def count_given(
    inference: str,
    labels: Labels,
    coded: Indices,
    *,
    classes: Sequence[str],
    useful: Indices,
    given: Sequence[str],
    codes: int,
    epsilon: float,
) -> Tables:
    """A table for each useful class; `useful` is each draw's as a number of `given`, -1 where it is none of them.

    `classes` are all that are known, in order: what no draw shows is promised nothing, and listed.
    """
    counts = np.zeros((len(given), len(classes), codes), dtype=np.int64)
    known, numbers = _numbered(labels, classes)
    among = useful[known] >= 0
    np.add.at(counts, (useful[known][among], numbers[among], coded[known][among]), 1)
    return tables_of(inference, counts, given=given, classes=classes, epsilon=epsilon)


def _numbered(labels: Labels, classes: Sequence[str]) -> tuple[Indices, Indices]:
    """Which draws have a label, and the number of its class."""
    known = np.flatnonzero([label is not None for label in labels])
    return known, np.searchsorted(np.array(classes, dtype=str), labels[known].astype(str))


def of_draws(labels: Labels, episodes: Indices) -> Labels:
    """The label of each draw: that of all its labelled windows, or none where they do not agree."""
    known = np.flatnonzero([label is not None for label in labels])
    found = np.full(int(episodes.max(initial=-1)) + 1, None, dtype=object)
    first = known[np.unique(episodes[known], return_index=True)[1]]
    found[episodes[first]] = labels[first]
    found[episodes[known[labels[known] != found[episodes[known]]]]] = None
    return found
