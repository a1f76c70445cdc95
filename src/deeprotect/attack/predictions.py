"""Predictions with their true labels: the basis of accuracies, confidence intervals and confusion matrices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, t

from deeprotect.training.labelled_windows import Indices, Labels

DRAWS = 1000
FEWEST_CLUSTERS = 5

Interval = tuple[float, float]


def wilson(correct: int, total: int) -> Interval:
    """Wilson's 95 % score interval (1927); unlike the textbook interval it stays inside [0, 1] and never has zero
    width.

    It treats windows as independent. Neighbouring windows resemble each other, so the true interval is wider: see
    `clustered`.
    """
    if not 0 <= correct <= total or total == 0:
        raise ValueError(f"{correct} correct of {total} is not a share")
    low, high = binomtest(correct, total).proportion_ci(method="wilson")
    return float(low), float(high)


def of_people(accuracies: NDArray[np.float64]) -> Interval | None:
    """Student's (1908) 95 % interval of the mean over people: for people like these, not for these people.

    Few people vary widely, and the interval reflects that; a bootstrap over ten of them would be too narrow. None for
    one.
    """
    count = len(accuracies)
    if count < 2:
        return None
    half = float(t.ppf(0.975, count - 1) * accuracies.std(ddof=1) / np.sqrt(count))
    return max(0.0, float(accuracies.mean()) - half), min(1.0, float(accuracies.mean()) + half)


def clustered(right: NDArray[np.bool_], cluster: NDArray[np.int64], *, seed: int = 0) -> Interval:
    """95 % interval of the share of right predictions whose windows come in clusters (segments of one recording).

    The hull of Wilson's interval and a bootstrap over clusters (Field and Welsh 2007). With fewer than five clusters,
    Wilson's alone: they show too little of how much clusters differ, and their resamples repeat each other; the true
    interval may then be much wider.
    """
    total = len(right)
    low, high = wilson(int(right.sum()), total)
    _, place, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    if len(sizes) < FEWEST_CLUSTERS:
        return low, high
    correct = np.bincount(place, weights=right)
    times = np.random.default_rng(seed).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)
    lowest, highest = np.quantile((times @ correct) / (times @ sizes), [0.025, 0.975])
    return min(low, float(lowest)), max(high, float(highest))


def clustered_mean(values: NDArray[np.float64], cluster: NDArray[np.int64], *, seed: int = 0) -> Interval:
    """95 % interval of a mean over windows that come in clusters, by a bootstrap over clusters; with fewer than five
    clusters, over windows, so the true interval may be much wider."""
    _, place, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    if len(sizes) < FEWEST_CLUSTERS:
        place, sizes = np.arange(len(values)), np.ones(len(values), dtype=np.int64)
    sums = np.bincount(place, weights=values)
    times = np.random.default_rng(seed).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)
    low, high = np.quantile((times @ sums) / (times @ sizes), [0.025, 0.975])
    return float(low), float(high)


Texts = NDArray[np.str_]


@dataclass(frozen=True)
class Predictions:
    """One guess and the truth per tested window (or pool of windows), as numbers of `classes`.

    `segment` numbers runs of neighbouring windows, which resemble each other; `person` numbers people, or other groups,
    with the same numbers in all folds.
    """

    classes: tuple[str, ...]
    truth: Indices
    guess: Indices
    segment: Indices
    person: Indices | None = None

    @classmethod
    def of(cls, truth: Labels | Texts, guess: Labels | Texts, segment: Indices, person: Indices | None = None) -> Self:
        names, numbers = np.unique(np.concatenate([truth.astype(str), guess.astype(str)]), return_inverse=True)
        return cls(tuple(names.tolist()), numbers[: len(truth)], numbers[len(truth) :], segment, person)

    @classmethod
    def join(cls, parts: Sequence["Predictions"]) -> Self:
        """Join predictions of several folds, with distinct segments."""
        first = np.cumsum([0, *(int(part.segment.max(initial=-1)) + 1 for part in parts)])[: len(parts)]
        segment = np.concatenate([part.segment + start for part, start in zip(parts, first, strict=True)])
        truth = np.concatenate([np.array(part.classes, dtype=str)[part.truth] for part in parts])
        guess = np.concatenate([np.array(part.classes, dtype=str)[part.guess] for part in parts])
        people = [part.person for part in parts if part.person is not None]
        return cls.of(truth, guess, segment, np.concatenate(people) if len(people) == len(parts) else None)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def right(self) -> NDArray[np.bool_]:
        return np.asarray(self.truth == self.guess)

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())

    @property
    def interval(self) -> Interval:
        return clustered(self.right, self.segment)

    @property
    def distances(self) -> NDArray[np.float64]:
        """Error of each guess of a numeric inference."""
        values = np.array(self.classes, dtype=np.float64)
        return np.asarray(np.abs(values[self.guess] - values[self.truth]))

    @property
    def by_person(self) -> NDArray[np.float64]:
        """The accuracy on each person, in order."""
        if self.person is None:
            return np.empty(0)
        number = np.unique(self.person, return_inverse=True)[1]
        return np.asarray(np.bincount(number, weights=self.right) / np.bincount(number))

    @property
    def counts(self) -> Indices:
        """Number of tested windows of each class."""
        return np.bincount(self.truth, minlength=len(self.classes))

    @property
    def recall(self) -> list[float]:
        """Share of each class's windows that are recognised; 0 for a class without windows."""
        right: list[float] = (
            np.bincount(self.truth, self.right, len(self.classes)) / np.maximum(1, self.counts)
        ).tolist()
        return right

    @property
    def chance(self) -> float:
        """The share of the most common label."""
        return float(self.counts.max() / len(self))

    @property
    def confusion(self) -> list[list[int]]:
        """How often each class (row) was predicted as each (column)."""
        counts = np.zeros((len(self.classes), len(self.classes)), dtype=np.int64)
        np.add.at(counts, (self.truth, self.guess), 1)
        table: list[list[int]] = counts.tolist()
        return table

    def either_way(self) -> "Predictions":
        """Invert all predictions of two labels if most are wrong: being right in 20 % means knowing 80 %."""
        if len(self.classes) != 2 or self.accuracy >= 0.5:
            return self
        return replace(self, guess=1 - self.guess)
