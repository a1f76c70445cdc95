"""Splits that never put neighbouring windows of one recording on both sides."""

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import TableError
from deeprotect.training.dataset import Indices, LabelledWindows
from deeprotect.training.segments import place_in, runs

Mask = NDArray[np.bool_]


def contiguous(windows: LabelledWindows, *, held_out: float, seed: int) -> tuple[Mask, Mask]:
    """The last part of each stretch is held out, and one window before it is left unused.

    A stretch is a run of windows of one recording with one combination of labels: cut so, every class is on both
    sides even where a recording goes through them one after the other. Stretches too short to be cut go whole to one
    side, a share of each combination of labels.
    """
    stretches = stretches_of(windows)
    counts = np.bincount(stretches)
    place = place_in(stretches)
    border = np.rint(counts * (1 - held_out))[stretches]
    short = counts < _shortest(held_out)
    chosen = _whole_stretches(windows, stretches, np.flatnonzero(short), held_out=held_out, seed=seed)
    whole = chosen[stretches]
    train = np.where(short[stretches], ~whole, place < border - 1)
    test = np.where(short[stretches], whole, place >= border)
    return train, test


def _shortest(held_out: float) -> int:
    """The fewest windows that leave two to train on, one gap and one to test on."""
    return max(4, int(np.ceil(1 / held_out)))


def stretches_of(windows: LabelledWindows) -> Indices:
    """The number of each window's stretch, in order."""
    return runs(windows.recording, *windows.labels.values())


def _whole_stretches(
    windows: LabelledWindows, stretches: Indices, short: Indices, *, held_out: float, seed: int
) -> Mask:
    """Which stretches go to the held-out side: of the short ones a share of each combination, drawn with a seed."""
    combinations = _combinations(windows, np.searchsorted(stretches, short))
    generator = np.random.default_rng(seed)
    chosen = np.zeros(stretches[-1] + 1, dtype=bool)
    for combination in np.unique(combinations):
        members = generator.permutation(short[combinations == combination])
        chosen[members[: round(len(members) * held_out)]] = True
    return chosen


def folds(windows: LabelledWindows, *, count: int, seed: int) -> list[tuple[Mask, Mask]]:
    """Train and test masks of `count` folds; each stretch is cut into as many runs, with a gap around the tested one.

    Stretches too short for that go whole to one fold, each combination of labels spread over all folds.
    """
    stretches = stretches_of(windows)
    counts = np.bincount(stretches)
    place = place_in(stretches)
    long = (counts >= 2 * count)[stretches]
    whole = _dealt(windows, stretches, count=count, seed=seed)[stretches]
    part = np.where(long, place * count // counts[stretches], whole)
    return [(_apart(part != fold, stretches), part == fold) for fold in range(count)]


def grouped(
    windows: LabelledWindows, groups: Indices, *, count: int, held_out: float, seed: int
) -> list[tuple[Mask, Mask]]:
    """Train and test masks that never share a group; `count` folds, or one split with a share of the groups held out.

    Groups of one combination of labels are spread over the folds in an order drawn with a seed.
    """
    names, first, number = np.unique(groups, return_index=True, return_inverse=True)
    parts = count if count > 1 else max(2, round(1 / held_out))
    if len(names) < parts:
        raise TableError(f"{len(names)} groups cannot be cut into {parts} parts; ask for fewer folds")
    combinations = _combinations(windows, first)
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(names))
    order = order[np.argsort(combinations[order], kind="stable")]
    part = np.empty(len(names), dtype=np.int64)
    part[order] = np.arange(len(names)) % parts
    chosen = range(count) if count > 1 else (int(generator.integers(parts)),)
    return [((part != fold)[number], (part == fold)[number]) for fold in chosen]


def _apart(train: Mask, stretches: Indices) -> Mask:
    """Without the windows that touch a tested one of the same stretch."""
    touches = np.zeros(len(train), dtype=bool)
    borders = (stretches[1:] == stretches[:-1]) & (train[1:] != train[:-1])
    touches[1:] |= borders
    touches[:-1] |= borders
    return train & ~touches


def _dealt(windows: LabelledWindows, stretches: Indices, *, count: int, seed: int) -> Indices:
    """A fold for each stretch: those of one combination of labels in turn, in an order drawn with a seed."""
    combinations = _combinations(windows, np.searchsorted(stretches, np.arange(stretches[-1] + 1)))
    generator = np.random.default_rng(seed)
    dealt = np.empty(len(combinations), dtype=np.int64)
    for combination in np.unique(combinations):
        members = generator.permutation(np.flatnonzero(combinations == combination))
        dealt[members] = (np.arange(len(members)) + generator.integers(count)) % count
    return dealt


def _combinations(windows: LabelledWindows, rows: Indices) -> NDArray[np.str_]:
    return np.array([repr([column[row] for column in windows.labels.values()]) for row in rows])
