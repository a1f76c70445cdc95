"""Subclasses: to know the owner of a device, a coder learns to tell all people apart, and a threshold decides.

"Other" is a mixture of people. Asked only whether it is the owner, a coder learns one bit from each window; asked who
it is, it learns from everybody what makes people differ.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from deeprotect.bundle.layers.decision import Argmax
from deeprotect.bundle.layers.layer import Layer
from deeprotect.bundle.layers.rounding import Bounds, Quantise
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.coder import LARGEST_SCORE, SCORE_BITS
from deeprotect.training.labelled_windows import Indices
from deeprotect.training.labels import MISSING, Targets
from deeprotect.training.misclassification import matrix

MOST_PEOPLE = 128
RUN = 10
THRESHOLD_BITS = 4
"""Thresholds are multiples of 2^4 of a score's own steps: none of them is where one participant's window lies."""
FURTHEST = int(2 * LARGEST_SCORE) << SCORE_BITS
"""No two scores are further apart."""


@dataclass(frozen=True)
class Subclasses:
    """People as classes of the coder: who each window is of, the class that each person belongs to, who is alone in
    theirs, and what it costs to take one class for the other."""

    people: Targets
    classes: Indices
    owner: int
    costs: Floats

    @classmethod
    def of(cls, people: Targets, useful: Targets, policy: Policy) -> Self | None:
        """None unless people are known, and one of two useful classes is one person's alone."""
        if useful.counts != (2,) or len(people.counts) != 1 or not 3 <= people.counts[0] <= MOST_PEOPLE:
            return None
        seen = np.zeros((people.counts[0], 2), dtype=bool)
        known = (people.codes[:, 0] != MISSING) & (useful.codes[:, 0] != MISSING)
        seen[people.codes[known, 0], useful.codes[known, 0]] = True
        if (seen.sum(axis=1) != 1).any() or seen.sum(axis=0).min() != 1:
            return None
        (name,) = policy.inferences.useful
        costs = matrix([str(each) for each in useful.classes[0]], policy.training.cost_matrix.get(name, {}))
        return cls(people, seen.argmax(axis=1), int(seen[:, seen.sum(axis=0).argmin()].argmax()), costs)

    @property
    def balanced(self) -> Indices:
        """The owner's windows and about as many of others, in runs of neighbours spread over all of them: what apps
        learn from, for whom a class of one window in thirty would hardly be there."""
        own = np.flatnonzero(self.people.codes[:, 0] == self.owner)
        others = np.flatnonzero((self.people.codes[:, 0] != self.owner) & (self.people.codes[:, 0] != MISSING))
        runs = np.arange(len(others)) // RUN
        wanted = min(int(runs[-1]) + 1, -(-len(own) // RUN))
        chosen = np.linspace(0, runs[-1], wanted).astype(np.int64)
        return np.sort(np.concatenate([own, others[np.isin(runs, chosen)]]))

    def margins(self, scores: Floats) -> Floats:
        """Scores (row, person): how far the owner lies below the likeliest other."""
        return np.asarray(np.delete(scores, self.owner, axis=1).max(axis=1) - scores[:, self.owner])

    def threshold(self, margins: Floats, truth: Indices) -> int:
        """What is added to the owner's score, so that misreadings of windows of these classes cost least."""
        margins, truth = margins[truth != MISSING], truth[truth != MISSING]
        own = self.classes[self.owner]
        # A threshold that rises past a margin reads the owner there: one miss less, or one false alarm more.
        change = np.where(truth == own, -self.costs[own, 1 - own], self.costs[1 - own, own])
        order = np.argsort(margins, kind="stable")
        ends = np.concatenate([[-FURTHEST], margins[order], [FURTHEST]])
        costs = np.cumsum(np.append(0.0, change[order]))
        best = int(np.where(np.diff(ends) > 0, costs, np.inf).argmin())  # none lies between equal margins
        step = 1 << THRESHOLD_BITS
        return step * int(np.rint((ends[best] + ends[best + 1]) / 2 / step))

    def layers(self, codes: Indices, threshold: int) -> tuple[Layer, Argmax]:
        """The owner's score raised by the threshold; then the code of the likeliest person's class."""
        shift = np.where(np.arange(len(self.classes)) == self.owner, -(threshold >> THRESHOLD_BITS), 0)[None]
        bounds = Bounds(-2 * FURTHEST, 2 * FURTHEST)
        moved = Quantise(shift.astype(np.int32), -THRESHOLD_BITS, np.ones_like(shift, dtype=np.int32), 0, bounds)
        return moved, Argmax((len(self.classes),), codes[self.classes].astype(np.int32))
