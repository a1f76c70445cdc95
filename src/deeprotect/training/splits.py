"""Splits that never put neighbouring windows of one recording on both sides."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import TableError
from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import Indices, LabelledWindows, place_in, segment_numbers

Mask = NDArray[np.bool_]
ONE_WINDOW = Hold()
PIECES = 10
"""Number of pieces a recording is cut into, some of which are held out."""


def contiguous(windows: LabelledWindows, *, held_out: float, seed: int, hold: Hold = ONE_WINDOW) -> tuple[Mask, Mask]:
    """Hold out the last part of each segment, and leave unused the windows next to held-out ones.

    A segment is a run of windows of one recording with one combination of labels; cutting segments puts every class on
    both sides even if a recording goes through them one after the other. Segments too short to be cut go to one side
    entirely, a share of each combination of labels. An episode goes where its first window goes; if that holds nothing
    out, because no episode begins so late, the last episode of each segment is held out.
    """
    segments = segments_of(windows)
    counts = np.bincount(segments)
    place = place_in(segments)
    border = np.rint(counts * (1 - held_out))[segments]
    short = counts < max(4, int(np.ceil(1 / held_out)))  # two for training, one gap and one for testing
    chosen = _whole_segments(windows, segments, np.flatnonzero(short), held_out=held_out, seed=seed)
    whole = chosen[segments]
    test = _together(np.where(short[segments], whole, place >= border), windows, hold)
    test = test if test.any() else _together(_last_episodes(windows, segments, hold), windows, hold)
    return apart(~test, test, windows), test


def measurable(windows: LabelledWindows, *, held_out: float, seed: int, hold: Hold) -> tuple[Mask, Mask]:
    """Split like `contiguous`, but refuse recordings too short to leave windows on both sides."""
    train, test = contiguous(windows, held_out=held_out, seed=seed, hold=hold)
    if not (train.any() and test.any()):
        shorter = ", or lower `every`" if hold.windows > 1 else ""
        raise TableError(f"{len(windows)} windows are too few to hold some out to measure on; record more{shorter}")
    return train, test


def _last_episodes(windows: LabelledWindows, segments: Indices, hold: Hold) -> Mask:
    """Mask of the windows in the last episode of each segment that has several."""
    episodes, borders = windows.episodes(hold), np.flatnonzero(np.diff(segments))
    first, last = (episodes[places][segments] for places in (np.append(0, borders + 1), np.append(borders, -1)))
    return np.asarray((episodes == last) & (first != last))


def segments_of(windows: LabelledWindows) -> Indices:
    """Number of each window's segment, in order."""
    return segment_numbers(windows.recording, *windows.labels.values())


def _whole_segments(windows: LabelledWindows, segments: Indices, short: Indices, *, held_out: float, seed: int) -> Mask:
    """Choose the short segments to hold out: a seeded random share of each combination of labels."""
    combinations = _combinations(windows, np.searchsorted(segments, short))
    generator = np.random.default_rng(seed)
    chosen = np.zeros(segments[-1] + 1, dtype=bool)
    for combination in np.unique(combinations):
        members = generator.permutation(short[combinations == combination])
        chosen[members[: round(len(members) * held_out)]] = True
    return chosen


def folds(windows: LabelledWindows, *, count: int, seed: int, hold: Hold = ONE_WINDOW) -> list[tuple[Mask, Mask]]:
    """Train and test masks of `count` folds; each segment is cut into `count` parts, with a gap around the tested part.

    Segments too short for that go to one fold entirely, each combination of labels spread over all folds. An episode
    goes where its first window goes; if that leaves a fold without test windows, all segments stay in one piece.
    """
    segments = segments_of(windows)
    counts = np.bincount(segments)
    place = place_in(segments)
    long = (counts >= 2 * count)[segments]
    whole = _dealt(windows, segments, count=count, seed=seed)[segments]
    part = _together(np.where(long, place * count // counts[segments], whole), windows, hold)
    if len(np.unique(part)) < count:
        part = _together(whole, windows, hold)
    return [(apart(part != fold, part == fold, windows), part == fold) for fold in range(count)]


def blocks(windows: LabelledWindows, *, held_out: float, seed: int, hold: Hold = ONE_WINDOW) -> tuple[Mask, Mask]:
    """Hold out entire pieces of recordings, whatever their labels; windows next to a tested one are left unused.

    Each recording is cut into ten pieces, or fewer so that each holds an episode; the held-out ones are spread over it
    from a seeded random start. Changes inside a piece are part of the test, as they are in use.
    """
    recording = segment_numbers(windows.recording)
    counts = np.bincount(recording)
    pieces = np.clip(counts // max(2, hold.windows), 1, PIECES)
    start = np.random.default_rng(seed).random(len(counts))
    piece = place_in(recording) * pieces[recording] // counts[recording]
    # Of n pieces, hold out those where start + i · held_out passes another whole number.
    passed = np.floor((piece + 1) * held_out + start[recording]) > np.floor(piece * held_out + start[recording])
    test = _together(passed, windows, hold)
    return apart(~test, test, windows), test


def grouped(
    windows: LabelledWindows, groups: Indices, *, count: int, held_out: float, seed: int
) -> list[tuple[Mask, Mask]]:
    """Train and test masks that never share a group: `count` folds, or one split with a share of the groups held out.

    Groups with one combination of labels are spread over the folds in a seeded random order.
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


def _together(side: Mask | Indices, windows: LabelledWindows, hold: Hold) -> Any:
    """Move each window to the side, or part, of its episode's first window."""
    if hold.windows == 1:
        return side
    episodes = windows.episodes(hold)
    return side[np.searchsorted(episodes, episodes)]


def apart(train: Mask, test: Mask, windows: LabelledWindows) -> Mask:
    """Remove from `train` the neighbours of tested windows in the same recording, whatever their labels."""
    neighbours = windows.followed[:-1]
    touches = np.zeros(len(train), dtype=bool)
    touches[1:] |= neighbours & test[:-1]
    touches[:-1] |= neighbours & test[1:]
    return train & ~touches


def _dealt(windows: LabelledWindows, segments: Indices, *, count: int, seed: int) -> Indices:
    """Assign a fold to each segment: those with one combination of labels in turn, in a seeded random order."""
    combinations = _combinations(windows, np.searchsorted(segments, np.arange(segments[-1] + 1)))
    generator = np.random.default_rng(seed)
    dealt = np.empty(len(combinations), dtype=np.int64)
    for combination in np.unique(combinations):
        members = generator.permutation(np.flatnonzero(combinations == combination))
        dealt[members] = (np.arange(len(members)) + generator.integers(count)) % count
    return dealt


def _combinations(windows: LabelledWindows, rows: Indices) -> NDArray[np.str_]:
    return np.array([repr([column[row] for column in windows.labels.values()]) for row in rows])
