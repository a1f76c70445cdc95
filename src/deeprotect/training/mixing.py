"""Mixing windows: new ones from several near windows of different people, kept away from every single one."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from deeprotect.signals.schema import Floats
from deeprotect.training.windows import Indices

MIXED = 12
"""Windows in one mixture: enough that none of them shows, few enough that they are alike."""
MARGIN = 1.02
"""Mixtures keep this multiple of the typical gap, so that snapping to a sensor's resolution does not undercut it."""
CHUNK = 1024
"""Rows of a distance matrix held at a time: with 15,000 windows they take 120 MB."""


@dataclass(frozen=True)
class Material:
    """All training windows (window, value), and those of them that one code's outputs are mixed from.

    groups: for each member the person, or itself where all are of one person. ruler: the weight of each value when
    windows are compared, one over its channel's spread. gaps: what is typical between different people, with the ruler
    and without.
    """

    windows: Floats
    members: Indices
    groups: Indices
    ruler: Floats
    gaps: tuple[float, float]

    @classmethod
    def of(cls, samples: Floats, members: Indices, people: Indices) -> Self:
        flat = samples.reshape(len(samples), -1)
        spread = samples.std(axis=(0, 1))
        ruler = np.tile(1 / np.where(spread > 0, spread, 1.0), samples.shape[1])
        alone = len(np.unique(people[members])) == 1
        others = np.arange(len(flat)) if alone else members
        gaps = [
            typical_gap(flat[members] * weight, people[members], flat[others] * weight, other_people=people[others])
            for weight in (ruler, np.ones_like(ruler))
        ]
        groups = np.arange(len(members)) if alone else people[members]
        return cls(flat, members, groups, ruler, (gaps[0], gaps[1]))

    def mixtures(self, anchors: Indices, rows: Indices, *, textures: Floats, random: np.random.Generator) -> Floats:
        """One mixture around each anchor, of members among rows (both count within members)."""
        near = self._neighbours(anchors, rows)
        return mix(self.windows[self.members[near]], textures, random=random)

    def clearance(self, mixtures: Floats) -> Floats:
        """Each mixture's distance to the nearest training window over the gap it has to keep; the worse ruler counts."""
        kept = np.full(len(mixtures), np.inf)
        for gap, weight in zip(self.gaps, (self.ruler, np.ones_like(self.ruler)), strict=True):
            if gap > 0:
                kept = np.minimum(kept, nearest(mixtures * weight, self.windows * weight) / (MARGIN * gap))
        return kept

    def _neighbours(self, anchors: Indices, rows: Indices) -> Indices:
        """The nearest window of each of the nearest groups, then the second nearest of each, …; (anchor, MIXED)."""
        scaled = self.windows[self.members] * self.ruler
        near = np.argsort(distances(scaled[anchors], scaled[rows]), axis=1, kind="stable")
        ranks = np.stack([_rank_in_group(groups) for groups in self.groups[rows[near]]])
        order = np.argsort(ranks, axis=1, kind="stable")[:, :MIXED]
        return np.asarray(rows[np.take_along_axis(near, order, axis=1)])


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
    return np.clip(np.einsum("rm,rmv->rv", weights, members), 0.0, 1.0)


def distances(left: Floats, right: Floats) -> Floats:
    """Euclidean distances (left, right)."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def nearest(left: Floats, right: Floats) -> Floats:
    """From each left window to the nearest right one."""
    parts = [distances(left[start : start + CHUNK], right).min(axis=1) for start in range(0, len(left), CHUNK)]
    return np.concatenate([np.empty(0), *parts])


def typical_gap(windows: Floats, people: Indices, others: Floats, *, other_people: Indices) -> float:
    """The median, over windows, of the distance to the nearest window of another person; 0 where there is nobody."""
    gaps = []
    for start in range(0, len(windows), CHUNK):
        part = distances(windows[start : start + CHUNK], others)
        part[people[start : start + CHUNK, None] == other_people] = np.inf
        gaps.append(part.min(axis=1))
    known = np.concatenate(gaps)
    return float(np.median(known)) if np.isfinite(known).all() else 0.0


def _rank_in_group(groups: Indices) -> Indices:
    """0 for the first of each group, 1 for the second, … in the order given."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.searchsorted(ordered, ordered)
    return ranks
