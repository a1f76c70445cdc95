"""Mixing windows: new windows from several near ones of several people, with at most half of the weight for one
person."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.signals.schema import Floats
from deeprotect.training.codebook.matching import FeatureMatching
from deeprotect.training.labelled_windows import Indices, rank_in_group

MIXED = 12
"""Windows in one mixture: enough that none is recognisable, few enough that they resemble each other."""
FEWEST_PEOPLE = 5
"""People in every mixture, or all people of the class if it has fewer."""
OWN = 2
"""Windows of a class that a person needs to be mixed in: a single one would be in nearly every mixture."""
LARGEST_SHARE = 0.5
"""Largest share of a mixture's absolute weights that one person may have."""


@dataclass(frozen=True)
class Mixtures:
    """Mixed windows (mixture, value); for each, the number of its people, the largest share of one of them, and its
    distance from the nearest window in it, in typical gaps."""

    windows: Floats
    people: Indices
    share: Floats
    clearance: Floats

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, chosen: Indices | NDArray[np.bool_]) -> Self:
        return type(self)(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))


@dataclass(frozen=True)
class Material:
    """All training windows (window, value), and those that one code's outputs may be mixed from.

    groups: each member's person, or the member itself where fewer than two people have windows to mix.
    scales: weights of the values when windows are compared: one over the spread of their channel, and plain.
    gaps: what is typical between different people, with each of the scales.
    matching: gives mixtures the features of the windows in them.
    """

    windows: Floats
    members: Indices
    groups: Indices
    scales: tuple[Floats, Floats]
    gaps: tuple[float, float]
    matching: FeatureMatching | None = None

    @classmethod
    def of(cls, samples: Floats, members: Indices, people: Indices, matching: FeatureMatching | None = None) -> Self:
        flat, spread = samples.reshape(len(samples), -1), samples.std(axis=(0, 1))
        even = np.tile(1 / np.where(spread > 0, spread, 1.0), samples.shape[1])
        scales = (even, np.ones_like(even))
        if len(np.unique(people)) == 1:
            people = np.arange(len(flat))  # without other people, each window counts as a person
        first, second = (typical_gap(flat * each, members, people=people) for each in scales)
        theirs = members[np.isin(people[members], _with_enough(people[members]))]
        if len(np.unique(people[theirs])) > 1:
            return cls(flat, theirs, people[theirs], scales, (first, second), matching)
        return cls(flat, members, np.arange(len(members)), scales, (first, second), matching)

    def people(self, rows: Indices) -> int:
        """Number of people with enough windows among `rows`, which index `members`."""
        own = 1 if len(np.unique(self.groups)) == len(self.members) else OWN
        return len(_with_enough(self.groups[rows], own=own))

    @cached_property
    def fewest_people(self) -> int:
        return min(FEWEST_PEOPLE, self.people(np.arange(len(self.members))))

    @cached_property
    def _scaled(self) -> Floats:
        """Of members."""
        return self.windows[self.members] * self.scales[0]

    @cached_property
    def _places(self) -> Floats:
        """Of members, by features that do not depend on phases."""
        assert self.matching is not None
        return self.matching.places(self.windows[self.members])

    def mixtures(
        self,
        anchors: Indices,
        rows: Indices,
        *,
        textures: Floats,
        random: np.random.Generator,
        wanted: Sequence[int] | None = None,
    ) -> Mixtures:
        """Make one mixture around each anchor, of members among `rows`; both index `members`.

        With `wanted`, the class that they are to show in each useful inference, they get the features of the windows
        in them.
        """
        near = self._neighbours(anchors, rows, self._scaled if wanted is None else self._places)
        weights = draw_weights(near.shape[1], textures, random=random)
        parts = self.windows[self.members[near]]
        mixed = mix(parts, weights)
        if wanted is not None:
            assert self.matching is not None
            mixed = self.matching.match(mixed, parts, wanted)
        same = self.groups[near][:, :, None] == self.groups[near][:, None, :]
        shares = (same @ np.abs(weights)[:, :, None])[:, :, 0] / np.abs(weights).sum(axis=1, keepdims=True)
        people = np.rint((1 / same.sum(axis=2)).sum(axis=1)).astype(np.int64)
        return Mixtures(mixed, people, shares.max(axis=1), self._clearance(mixed, parts))

    def releasable(self, mixtures: Mixtures, *, margin: float) -> NDArray[np.bool_]:
        """Mask of the mixtures with enough people, no dominant person, and no near copy of a window in them.

        Other windows are not compared: a mixture has nothing of theirs, and a person near an output could otherwise
        show that they took no part in training.
        """
        # With equal shares of two people, a mixture lies between them: it cannot be a whole gap away from both.
        enough = margin / 2 if self.fewest_people == 2 else margin
        few, much = mixtures.people < self.fewest_people, mixtures.share > LARGEST_SHARE + 1e-9
        return np.asarray((mixtures.clearance >= enough) & ~few & ~much)

    def _clearance(self, mixed: Floats, parts: Floats) -> Floats:
        """Distance of each mixture to the nearest of its parts (mixture, part, value), in gaps, under the worse
        scale."""
        away = np.full(len(mixed), np.inf)
        for gap, scale in zip(self.gaps, self.scales, strict=True):
            if gap > 0:
                apart = np.linalg.norm((parts - mixed[:, None]) * scale, axis=2).min(axis=1)
                away = np.minimum(away, apart / gap)
        return away

    def _neighbours(self, anchors: Indices, rows: Indices, places: Floats) -> Indices:
        """The nearest window of each of the nearest people, then each one's second nearest, …; (anchor, window).

        places: where each member lies.
        """
        around, place = np.unique(anchors, return_inverse=True)
        near = np.argsort(pairwise(places[around], places[rows]), axis=1, kind="stable")
        ranks = np.stack([rank_in_group(groups) for groups in self.groups[rows[near]]])
        order = np.argsort(ranks, axis=1, kind="stable")[:, : _taken(self.groups[rows])]
        return np.asarray(rows[np.take_along_axis(near, order, axis=1)][place])


def _taken(groups: Indices) -> int:
    """Number of windows in a mixture when people take turns: MIXED, or fewer so that nobody has more than half.

    For two people it is even: with paired signs + and -, both then have exactly half.
    """
    sizes = np.unique(groups, return_counts=True)[1]
    each = np.arange(1, MIXED // 2 + 1)
    total = np.minimum(sizes[:, None], each).sum(axis=0)
    most = np.minimum(sizes.max(), each)
    fair = 2 * most <= total
    if len(sizes) == 2:
        fair &= most % 2 == 0
    return int(min(MIXED, total[fair].max(initial=2)))


def _with_enough(groups: Indices, *, own: int = OWN) -> Indices:
    names, sizes = np.unique(groups, return_counts=True)
    return np.asarray(names[sizes >= own])


def draw_weights(count: int, textures: Floats, *, random: np.random.Generator) -> Floats:
    """Weights (texture, count) that sum to one: equal ones, plus a share of the windows' differences.

    A plain mean is smoother than any sensor. Texture 1 restores the variance that the mean removed: the differences
    enter with random signs and equal weight, so that no window counts for more than another.
    """
    signs = random.permuted(np.tile(np.arange(count) % 2 * 2.0 - 1.0, (len(textures), 1)), axis=1)
    signs -= signs.mean(axis=1, keepdims=True)
    signs /= np.linalg.norm(signs, axis=1, keepdims=True)
    return np.asarray(1 / count + textures[:, None] * np.sqrt(1 - 1 / count) * signs)


def mix(parts: Floats, weights: Floats) -> Floats:
    """Mix each row of parts (row, part, value) into one window in the public range."""
    return np.asarray(np.clip(np.matmul(weights[:, None, :], parts)[:, 0], 0.0, 1.0))


CHUNK, CELLS = 1024, 1 << 24
"""Rows of a distance matrix in memory at a time, and the most numbers in them: 128 MB for any number of windows."""
MEMBERS = 8192
"""Number of a class's windows, spread over its recordings, that a median is estimated from."""


def pairwise(left: Floats, right: Floats) -> Floats:
    """Distances, (left, right)."""
    return np.asarray(np.sqrt(np.maximum(_squares(left, right), 0.0)))


def typical_gap(windows: Floats, members: Indices, *, people: Indices) -> float:
    """Median over members of the distance to the nearest window of another person, of any class.

    Large classes are sampled, so that the work grows with the windows and not with their square. Other people of the
    same class would not do: a class may have so few that no window could keep the resulting distance.
    """
    gaps, rows = [], max(1, min(CHUNK, CELLS // len(windows)))
    if len(members) > MEMBERS:
        members = members[np.linspace(0, len(members) - 1, MEMBERS).astype(np.int64)]
    for start in range(0, len(members), rows):
        chunk = members[start : start + rows]
        between = _squares(windows[chunk], windows)
        between[people[chunk, None] == people] = np.inf
        gaps.append(between.min(axis=1))
    return float(np.median(np.sqrt(np.maximum(np.concatenate(gaps), 0.0))))


def _squares(left: Floats, right: Floats) -> Floats:
    """Squared distances from one matrix product; rounding may leave them a little below zero."""
    squares = left @ (-2 * right.T)
    squares += (left**2).sum(axis=1)[:, None]
    squares += (right**2).sum(axis=1)
    return np.asarray(squares)
