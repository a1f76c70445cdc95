"""Scores for membership in training: one number for each idea, larger if membership is likelier."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.mixing import CHUNK, pairwise
from deeprotect.training.labelled_windows import Indices
from studies.reproduction.membership.exposed import Exposed

EXACT = 1e-6
"""Relative difference below which two numbers are the same one."""
ENDS = 0.01, 0.99
"""Quantiles of a person's levels that are compared with the outermost edges."""


@dataclass(frozen=True)
class Candidate:
    """Windows of a person who may have taken part, flat (window, value), and their useful classes.

    usual: the mean window of all candidates, which stands for people in general.
    """

    flat: Floats
    targets: Indices
    usual: Floats


Score = Callable[[Exposed, Candidate], float]


def loss(bundle: Exposed, candidate: Candidate) -> float:
    """The coder errs less on what it has learnt (Yeom et al. 2018)."""
    return float(_right(bundle, candidate).mean())


def confidence(bundle: Exposed, candidate: Candidate) -> float:
    """Log odds of the right class, window by window: nearer to normal than the loss (Carlini et al. 2022)."""
    right = np.minimum(_right(bundle, candidate), -EXACT)
    return float((right - np.log(-np.expm1(right))).mean())


def nearness(bundle: Exposed, candidate: Candidate) -> float:
    """Outputs are mixed from windows of people who took part, so they may lie nearer to theirs."""
    return -float(_to_outputs(bundle, candidate).mean())


def closest(bundle: Exposed, candidate: Candidate) -> float:
    """The score of the few nearest windows."""
    return -float(np.quantile(_to_outputs(bundle, candidate), ENDS[0]))


def likeness(bundle: Exposed, candidate: Candidate) -> float:
    """How alike each output is to the person's most similar window, as an angle about the class's mean output."""
    found = []
    for code, outputs in enumerate(bundle.outputs):
        windows = candidate.flat[candidate.targets == code]
        if len(windows):
            centre = outputs.mean(axis=0)
            found.append((_unit(outputs - centre) @ _unit(windows - centre).T).max(axis=1))
    return float(np.concatenate(found).mean()) if found else 0.0


def mean_window(bundle: Exposed, candidate: Candidate) -> float:
    """Members have drawn the mean towards themselves (Homer et al. 2008)."""
    own, usual = candidate.flat.mean(axis=0), candidate.usual
    return float((np.abs(own - usual) - np.abs(own - bundle.mean)).mean() / np.abs(own - usual).mean())


def in_range(bundle: Exposed, candidate: Candidate) -> float:
    """Nobody who took part has many levels beyond the outermost edges."""
    levels = bundle.levels(candidate.flat)
    return -float(((levels < bundle.edges[0]) | (levels > bundle.edges[-1])).mean())


def ends(bundle: Exposed, candidate: Candidate) -> float:
    """The outermost edges are near the ends of a member's levels."""
    own = np.quantile(bundle.levels(candidate.flat), ENDS, axis=0)
    return -float(np.abs(own - bundle.edges[[0, -1]]).min(axis=0).mean())


def exact_edges(bundle: Exposed, candidate: Candidate) -> float:
    """How many edges are one of the person's levels, digit by digit."""
    levels = np.sort(bundle.levels(candidate.flat), axis=0)
    found = 0
    for edges, own in zip(bundle.edges.T, levels.T, strict=True):
        place = np.searchsorted(own, edges).clip(1, len(own) - 1)
        away = np.minimum(np.abs(own[place] - edges), np.abs(own[place - 1] - edges))
        found += int((away <= EXACT * np.abs(edges)).sum())
    return float(found)


SCORES: dict[str, Score] = {
    "loss": loss,
    "confidence": confidence,
    "nearness to outputs": nearness,
    "closest output": closest,
    "likeness of outputs": likeness,
    "mean window": mean_window,
    "levels in range": in_range,
    "ends of levels": ends,
    "exact edges": exact_edges,
}


def _right(bundle: Exposed, candidate: Candidate) -> Floats:
    """Log probability of each window's own class."""
    return bundle.log_probabilities(candidate.flat)[np.arange(len(candidate.flat)), candidate.targets]


def _to_outputs(bundle: Exposed, candidate: Candidate) -> Floats:
    """Distance from each window to the nearest output of its own class, in standard deviations."""
    away = np.empty(len(candidate.flat))
    for code, outputs in enumerate(bundle.outputs):
        here = candidate.targets == code
        away[here] = nearest(candidate.flat[here] / bundle.scale, outputs / bundle.scale)
    return away


def _unit(windows: Floats) -> Floats:
    lengths = np.linalg.norm(windows, axis=1, keepdims=True)
    return np.asarray(windows / np.where(lengths > 0, lengths, 1.0))


def nearest(left: Floats, right: Floats) -> Floats:
    """Distance from each left window to the nearest right one."""
    parts = [pairwise(left[start : start + CHUNK], right).min(axis=1) for start in range(0, len(left), CHUNK)]
    return np.concatenate([np.empty(0), *parts])
