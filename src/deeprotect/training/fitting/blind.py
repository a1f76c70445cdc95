"""A guesser that knows only the true useful labels: its accuracy cannot be hidden by protection that preserves them.

For several draws together it knows the sequence of labels, because the most common label is not enough: a secret may
show in their mix, in how often they change, or in their order.

docs/claims.md#what-leaves-beyond-the-useful-label
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.naive_bayes import MultinomialNB

from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import Indices, LabelledWindows, place_in, segment_numbers

TREES = 100
MOST_PAIRS = 144
"""Number of consecutive labels up to which each pair has a share of its own."""
Texts = NDArray[np.str_]


@dataclass(frozen=True)
class KnownLabels:
    """For each window the number of its useful labels, its secret, its recording, and its draw."""

    number: Indices
    secret: Texts
    recording: Indices
    draw: Indices

    @classmethod
    def of(
        cls, sides: Sequence[LabelledWindows], draws: Sequence[Indices], useful: Sequence[str], secret: str
    ) -> list[Self]:
        """Collect several tables with a common numbering of useful labels; leave out windows without a secret."""
        kinds: dict[tuple[object, ...], int] = {}
        told = []
        for side, draw in zip(sides, draws, strict=True):
            number = np.array([kinds.setdefault(tuple(row), len(kinds)) for row in side.targets(useful).tolist()], int)
            known = side.labelled(secret)
            text = side.labels[secret][known].astype(str)
            told.append(cls(number[known], text, side.recording[known], draw[known]))
        return told

    @property
    def segment(self) -> Indices:
        """The number of each window's run of one secret in one recording."""
        return segment_numbers(self.recording, self.secret)

    def pools(self, size: int) -> Indices:
        """The number of each window's pool of `size` neighbouring draws; never across a change of the secret."""
        segment = self.segment
        draw = segment_numbers(segment, self.draw)
        first = np.unique(draw, return_index=True)[1]
        return (np.cumsum(place_in(segment[first]) % size == 0).astype(np.int64) - 1)[draw]

    def counts(self, pool: Indices, kinds: int) -> Floats:
        """Number of windows, (pool, useful label)."""
        return _counts(pool, self.number, kinds, pools=int(pool[-1]) + 1)

    def sequence(self, pool: Indices, kinds: int) -> Floats:
        """For each pool, shares of labels and of transitions, the rate of changes, the first and the last label."""
        first, count = np.unique(pool, return_index=True, return_counts=True)[1:]
        number, together = self.number, pool[1:] == pool[:-1]
        changed = together & (number[1:] != number[:-1])
        found = [self.counts(pool, kinds), np.bincount(pool[1:][changed], minlength=len(first))[:, None]]
        if kinds**2 <= MOST_PAIRS:
            pairs = (number[:-1] * kinds + number[1:])[together]
            found.append(_counts(pool[1:][together], pairs, kinds**2, pools=len(first)))
        ends = [np.eye(kinds)[number[place]] for place in (first, first + count - 1)]
        return np.hstack([*(each / count[:, None] for each in found), *ends])


def _counts(pool: Indices, number: Indices, kinds: int, *, pools: int) -> Floats:
    counts = np.zeros((pools, kinds))
    np.add.at(counts, (pool, number), 1)
    return counts


class Guesses(NamedTuple):
    """For each pool the secret, one guesser's answer, and the pool's run of one secret."""

    truth: Texts
    guess: Texts
    segment: Indices

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.truth == self.guess))


def blind(learn: KnownLabels, test: KnownLabels, *, size: int, seed: int = 0) -> Guesses:
    """The most accurate of several guessers, for pools of `size` draws.

    A lower estimate, like every attacker: a better guesser may be right more often.
    """
    return max(_guesses(learn, test, size=size, seed=seed), key=lambda each: each.accuracy)


def _guesses(learn: KnownLabels, test: KnownLabels, *, size: int, seed: int) -> Iterator[Guesses]:
    """Guess by the most common answer, by each label separately, and by the sequence."""
    kinds = 1 + int(max(learn.number.max(), test.number.max()))
    seen, asked = learn.pools(size), test.pools(size)
    known = learn.secret[np.unique(seen, return_index=True)[1]]
    first = np.unique(asked, return_index=True)[1]
    truth, segment = test.secret[first], test.segment[first]
    commonest = Counter(truth.tolist()).most_common(1)[0][0]
    yield Guesses(truth, np.full(len(truth), commonest), segment)
    labels = MultinomialNB().fit(learn.counts(seen, kinds), known)
    yield Guesses(truth, labels.predict(test.counts(asked, kinds)), segment)
    trees = ExtraTreesClassifier(TREES, min_samples_leaf=2, random_state=seed).fit(learn.sequence(seen, kinds), known)
    yield Guesses(truth, trees.predict(test.sequence(asked, kinds)), segment)
