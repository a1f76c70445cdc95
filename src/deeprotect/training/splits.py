"""Splits that never put neighbouring windows of one recording on both sides."""

import numpy as np
from numpy.typing import NDArray

from deeprotect.training.windows import Indices, LabelledWindows

Mask = NDArray[np.bool_]


def contiguous(windows: LabelledWindows, *, held_out: float, by: str, seed: int) -> tuple[Mask, Mask]:
    """The last part of each recording is held out, one window before it is left unused.

    Within a recording the cut is made in each stretch of one `by` label, so that every class is on both sides.
    Recordings too short to be cut go whole to one side, stratified by that label.
    """
    stretches = _stretches(windows, by)
    train, test = np.zeros(len(windows), dtype=bool), np.zeros(len(windows), dtype=bool)
    counts = np.bincount(stretches)
    short = counts < _shortest(held_out)
    whole = _whole_stretches(windows, stretches, np.flatnonzero(short), by=by, held_out=held_out, seed=seed)
    for stretch, count in enumerate(counts):
        members = np.flatnonzero(stretches == stretch)
        if short[stretch]:
            (test if stretch in whole else train)[members] = True
        else:
            border = round(count * (1 - held_out))
            train[members[: border - 1]] = True
            test[members[border:]] = True
    return train, test


def _shortest(held_out: float) -> int:
    """The fewest windows that leave two to train on, one gap and one to test on."""
    return max(4, int(np.ceil(1 / held_out)))


def _stretches(windows: LabelledWindows, by: str) -> Indices:
    """Number of the run of windows with one recording and one label, in order."""
    label = windows.labels[by]
    changes = (windows.recording[1:] != windows.recording[:-1]) | (label[1:] != label[:-1])
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)


def _whole_stretches(
    windows: LabelledWindows, stretches: Indices, short: Indices, *, by: str, held_out: float, seed: int
) -> set[int]:
    """Short stretches that go to the held-out side: a share of each class, drawn with a seed."""
    first = np.searchsorted(stretches, short)
    labels = np.array([str(label) for label in windows.labels[by][first]])
    generator = np.random.default_rng(seed)
    chosen: set[int] = set()
    for label in np.unique(labels):
        members = generator.permutation(short[labels == label])
        chosen.update(int(member) for member in members[: round(len(members) * held_out)])
    return chosen
