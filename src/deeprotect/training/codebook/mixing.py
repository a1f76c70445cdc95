"""Mixing windows: new ones from several near windows of different people, kept away from every single one."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats
from deeprotect.training.dataset import Indices
from deeprotect.training.segments import rank_in_group

MIXED = 12
"""Windows in one mixture: enough that none of them shows, few enough that they are alike."""
CHUNK = 1024
"""Rows of a distance matrix held at a time: with 15,000 windows they take 120 MB."""


@dataclass(frozen=True)
class Material:
    """All training windows (window, value), and those of them that one code's outputs are mixed from.

    groups: each member's person, or the member itself where all are of one person. rulers: weights of the values when
    windows are compared: one over the spread of their channel, and plain. gaps: what is typical between different
    people, with each ruler.
    """

    windows: Floats
    members: Indices
    groups: Indices
    rulers: tuple[Floats, Floats]
    gaps: tuple[float, float]

    @classmethod
    def of(cls, samples: Floats, members: Indices, people: Indices) -> Self:
        flat, spread = samples.reshape(len(samples), -1), samples.std(axis=(0, 1))
        even = np.tile(1 / np.where(spread > 0, spread, 1.0), samples.shape[1])
        rulers = (even, np.ones_like(even))
        if len(np.unique(people)) == 1:
            people = np.arange(len(flat))  # nobody else to compare with: each window stands for itself
        alone = len(np.unique(people[members])) == 1
        first, second = (typical_gap(flat * ruler, members, people=people) for ruler in rulers)
        return cls(flat, members, np.arange(len(members)) if alone else people[members], rulers, (first, second))

    def mixtures(self, anchors: Indices, rows: Indices, *, textures: Floats, random: np.random.Generator) -> Floats:
        """One mixture around each anchor, of members among rows (both count within members)."""
        return mix(self.windows[self.members[self._neighbours(anchors, rows)]], textures, random=random)

    def far(self, mixtures: Floats, *, margin: float) -> NDArray[np.bool_]:
        """Which mixtures are farther than margin × gap from every training window, with both rulers."""
        far = np.arange(len(mixtures))
        for others in (self.members, slice(None)):  # nearly all that are too near are too near to a member: first those
            for gap, ruler in zip(self.gaps, self.rulers, strict=True):
                far = far[nearest(mixtures[far] * ruler, self.windows[others] * ruler) >= margin * gap]
        return np.isin(np.arange(len(mixtures)), far)

    def clearance(self, mixtures: Floats) -> float:
        """The smallest distance from a mixture to a training window, in gaps; the worse ruler counts."""
        kept = [
            nearest(mixtures * ruler, self.windows * ruler).min() / gap
            for gap, ruler in zip(self.gaps, self.rulers, strict=True)
            if gap > 0
        ]
        return float(min(kept, default=np.inf))

    def _neighbours(self, anchors: Indices, rows: Indices) -> Indices:
        """The nearest window of each of the nearest groups, then the second nearest of each, …; (anchor, MIXED)."""
        scaled = self.windows[self.members] * self.rulers[0]
        around, place = np.unique(anchors, return_inverse=True)
        near = np.argsort(distances(scaled[around], scaled[rows]), axis=1, kind="stable")
        ranks = np.stack([rank_in_group(groups) for groups in self.groups[rows[near]]])
        order = np.argsort(ranks, axis=1, kind="stable")[:, :MIXED]
        return np.asarray(rows[np.take_along_axis(near, order, axis=1)][place])


def mix(members: Floats, textures: Floats, *, random: np.random.Generator) -> Floats:
    """One window from each row of members (row, member, value): their mean, and a share of their differences.

    A plain mean is smoother than any sensor. Texture 1 gives back the variance that the mean took away: the
    differences enter with random signs and equal weight, so that no member counts for more than another.
    """
    rows, count = members.shape[:2]
    signs = random.permuted(np.tile(np.arange(count) % 2 * 2.0 - 1.0, (rows, 1)), axis=1)
    signs -= signs.mean(axis=1, keepdims=True)
    signs /= np.linalg.norm(signs, axis=1, keepdims=True)
    weights = 1 / count + textures[:, None] * np.sqrt(1 - 1 / count) * signs
    return np.asarray(np.clip(np.matmul(weights[:, None, :], members)[:, 0], 0.0, 1.0))


def distances(left: Floats, right: Floats) -> Floats:
    """Euclidean distances (left, right)."""
    return np.asarray(np.sqrt(np.maximum(_squares(left, right), 0.0)))


def nearest(left: Floats, right: Floats) -> Floats:
    """From each left window to the nearest right one."""
    parts = [_squares(left[start : start + CHUNK], right).min(axis=1) for start in range(0, len(left), CHUNK)]
    return np.asarray(np.sqrt(np.maximum(np.concatenate([np.empty(0), *parts]), 0.0)))


def _squares(left: Floats, right: Floats) -> Floats:
    """Squared distances, by one product; rounding may leave them a little below zero."""
    squares = left @ (-2 * right.T)
    squares += (left**2).sum(axis=1)[:, None]
    squares += (right**2).sum(axis=1)
    return np.asarray(squares)


def typical_gap(windows: Floats, members: Indices, *, people: Indices) -> float:
    """The median over members of the distance to the nearest window of another person, whatever that one does.

    Within one class there may be hardly anyone else: its few strangers would set a distance that no window can keep.
    """
    gaps = []
    for start in range(0, len(members), CHUNK):
        chunk = members[start : start + CHUNK]
        between = _squares(windows[chunk], windows)
        between[people[chunk, None] == people] = np.inf
        gaps.append(between.min(axis=1))
    return float(np.median(np.sqrt(np.maximum(np.concatenate(gaps), 0.0))))
