"""Drawing some windows of many: in runs of neighbours, and evenly over people or trips."""

import numpy as np

from deeprotect.training.windows import Indices, LabelledWindows

RUN = 5
"""Neighbouring windows that are drawn together."""


def spread(windows: LabelledWindows, candidates: Indices, over: Indices, *, count: int, seed: int) -> Indices:
    """Numbers of `count` candidates, or all where there are fewer, in order; about as many of each value of `over`.

    Whole runs of one recording and one value are drawn, of each value in turn; only the last one is cut short.
    """
    run = _runs(windows, candidates, over[candidates])
    first = np.unique(run, return_index=True)[1]
    order = np.random.default_rng(seed).permutation(len(first))
    turn = _turns(over[candidates][first][order])
    drawn = order[np.argsort(turn, kind="stable")]
    members = np.concatenate([candidates[run == number] for number in drawn]) if len(drawn) else candidates
    return np.sort(members[:count])


def _runs(windows: LabelledWindows, candidates: Indices, over: Indices) -> Indices:
    """The number of each candidate's run, from 0: neighbours in one recording, RUN at most."""
    place = np.arange(len(windows)) if windows.place is None else windows.place
    breaks = (np.diff(place[candidates]) != 1) | (np.diff(windows.recording[candidates]) != 0) | (np.diff(over) != 0)
    stretch = np.concatenate([[0], np.cumsum(breaks)])[: len(candidates)]
    inside = (np.arange(len(candidates)) - np.searchsorted(stretch, stretch)) // RUN
    return np.unique(stretch * (len(candidates) + 1) + inside, return_inverse=True)[1].astype(np.int64)


def _turns(values: Indices) -> Indices:
    """How many equal values stand before each."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    turns = np.empty(len(values), dtype=np.int64)
    turns[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return turns
