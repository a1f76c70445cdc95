"""Attackers: static ones know raw windows only, adaptive ones are retrained on released windows and are what counts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.evaluation.intervals import Interval, wilson
from deeprotect.evaluation.models import Labels, Trained, train
from deeprotect.signals.schema import Floats

Indices = NDArray[np.int64]
Score = tuple[int, int]
"""Right guesses, and guesses made."""


@dataclass(frozen=True)
class Targets:
    """Windows (window, value) whose label is to be guessed, and the recording each comes from."""

    windows: Floats
    labels: Labels
    recording: Indices

    def released(self, windows: Floats) -> "Targets":
        """The same targets, seen through a release."""
        return Targets(windows, self.labels, self.recording)


@dataclass(frozen=True)
class Attack:
    """What the best of several attackers achieved; `pooled` is its accuracy over T windows of one recording.

    The best is chosen on the test windows themselves: if anything, that flatters the attacker.
    """

    accuracy: float
    interval: Interval
    attacker: str
    pooled: dict[int, float]


def adaptive(train_on: Targets, test: Targets, *, models: Iterable[str], pools: Sequence[int], seed: int) -> Attack:
    """Retrained on released windows, tested on released windows."""
    trained = [train(name, train_on.windows, train_on.labels, seed=seed) for name in models]
    return best(trained, test, pools=pools)


def best(attackers: Sequence[Trained], test: Targets, *, pools: Sequence[int] = ()) -> Attack:
    """The strongest of fitted attackers, window by window; pools are each taken from whoever does best there."""
    scores = [attacker.scores(test.windows) for attacker in attackers]
    guesses = [attacker.choose(score) for attacker, score in zip(attackers, scores, strict=True)]
    right = [int((guess == test.labels.astype(str)).sum()) for guess in guesses]
    winner, total = int(np.argmax(right)), len(test.labels)
    pooled = {
        size: max(_share(pool(*each, test, size=size)) for each in zip(attackers, scores, strict=True))
        for size in pools
    }
    return Attack(right[winner] / total, wilson(right[winner], total), attackers[winner].name, pooled)


def pool(attacker: Trained, scores: Floats, test: Targets, *, size: int) -> Score:
    """One guess for `size` neighbouring windows of one recording by adding up scores; the rest of it counts as one."""
    groups = _groups(test, size)
    totals = np.zeros((groups.max() + 1, scores.shape[1]))
    np.add.at(totals, groups, scores)
    first = np.unique(groups, return_index=True)[1]
    guesses = attacker.choose(totals)
    return int((guesses == test.labels[first].astype(str)).sum()), len(guesses)


def _groups(test: Targets, size: int) -> Indices:
    """Running number of the pool of each window; pools never cross a recording or a change of label."""
    labels = test.labels.astype(str)
    change = (test.recording[1:] != test.recording[:-1]) | (labels[1:] != labels[:-1])
    stretch = np.concatenate([[0], np.cumsum(change)])
    place = np.arange(len(stretch)) - np.searchsorted(stretch, stretch)
    starts = np.concatenate([[False], (place[1:] % size == 0)])
    return np.cumsum(starts).astype(np.int64)


def majority(labels: Labels) -> float:
    """Chance: the share of the most common label."""
    return Counter(labels.tolist()).most_common(1)[0][1] / len(labels)


def from_useful(useful: Labels, sensitive: Labels, *, test_useful: Labels, test_sensitive: Labels) -> float:
    """Guessing the sensitive label from the true useful labels (window, inference) alone.

    The rule is learnt on training labels. No protection that keeps the useful inferences can hide this much.
    """
    seen: dict[tuple[object, ...], Counter[object]] = {}
    for key, label in zip(useful.tolist(), sensitive.tolist(), strict=True):
        seen.setdefault(tuple(key), Counter())[label] += 1
    anything = Counter(sensitive.tolist())
    guesses = [seen.get(tuple(key), anything).most_common(1)[0][0] for key in test_useful.tolist()]
    return float(np.mean([guess == label for guess, label in zip(guesses, test_sensitive.tolist(), strict=True)]))


def _share(score: Score) -> float:
    right, total = score
    return right / total
