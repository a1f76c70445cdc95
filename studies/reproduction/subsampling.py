"""Drawing some windows of many: in runs of neighbours, and evenly over people or trips."""

import numpy as np

from deeprotect.training.labelled_windows import Indices, LabelledWindows, place_in, rank_in_group, segment_numbers

RUN = 5
"""Neighbouring windows that are drawn together."""


def spread(
    windows: LabelledWindows, candidates: Indices, over: Indices, *, count: int, seed: int, run: int = RUN
) -> Indices:
    """Numbers of `count` candidates, or all where there are fewer, in order; about as many of each value of `over`.

    Whole runs of one recording and one value are drawn, of each value in turn; only the last one is cut short.
    """
    runs = _runs(windows, candidates, over[candidates], longest=run)
    first = np.unique(runs, return_index=True)[1]
    order = np.random.default_rng(seed).permutation(len(first))
    turn = rank_in_group(over[candidates][first][order])
    drawn = order[np.argsort(turn, kind="stable")]
    members = np.concatenate([candidates[runs == number] for number in drawn]) if len(drawn) else candidates
    return np.sort(members[:count])


def _runs(windows: LabelledWindows, candidates: Indices, over: Indices, *, longest: int) -> Indices:
    """The number of each candidate's run, from 0: at most this many neighbours in one recording."""
    place = np.arange(len(windows)) if windows.place is None else windows.place
    gapless = place[candidates] - np.arange(len(candidates))  # the same while no window is missing between them
    segment = segment_numbers(gapless, windows.recording[candidates], over)
    inside = place_in(segment) // longest
    return segment_numbers(segment, inside)
