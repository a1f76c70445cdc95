"""Synthetic windows for each output code: apps read them as its class, and no participant's window is among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import TableError
from deeprotect.signals.schema import Floats
from deeprotect.training.mixing import Material, distances
from deeprotect.training.readers import Readers, forest, several_kinds
from deeprotect.training.windows import Indices, Labels, LabelledWindows

FEWEST = 4
"""Windows a code needs: two on each side of the cross-fit, so that an output is always a mixture."""
CANDIDATES = 12
"""Mixtures tried for each output, in each round."""
POOL = 2
"""Of the best read, so many for each output; among them the most different are taken."""
TEXTURES = (0.75, 1.0, 1.25, 1.5)
"""Around 1.25 mixtures of real windows are as rough as the windows; at 1.5 nearly all are far enough from each."""
ROUNDS = 6
PIECES = 40
"""Contiguous pieces of each code, which alternate between the sides of the cross-fit."""


@dataclass(frozen=True)
class Outputs:
    """Synthetic windows per output code, and what was measured on them.

    samples: (code, variant, value) in [0, 1], value = time * channels + channel.
    read[inference]: (code, class), how often a forest of fresh seed reads a code's windows as each class.
    classes[inference]: the names of those columns.
    clearance: (code,), the smallest distance from an output to a training window, as a multiple of what is typical
    between windows of different people; at least 1.
    """

    samples: Floats
    read: dict[str, Floats]
    classes: dict[str, tuple[str, ...]]
    clearance: Floats


@dataclass(frozen=True)
class _Task:
    """What one useful inference says: each window's class, -1 where unknown, and the class each code stands for."""

    name: str
    classes: tuple[str, ...]
    targets: Indices
    meaning: Indices

    @classmethod
    def of(cls, name: str, labels: Labels, codes: Indices) -> "_Task":
        known = np.array([label is not None for label in labels], dtype=bool)
        classes, numbers = np.unique(labels[known].astype(str), return_inverse=True)
        targets = np.full(len(labels), -1, dtype=np.int64)
        targets[known] = numbers
        # A code that several classes share is read as the most frequent of them.
        both = known & (codes >= 0)
        counts = np.zeros((int(codes.max()) + 1, len(classes)))
        np.add.at(counts, (codes[both], targets[both]), 1)
        return cls(name, tuple(classes), targets, counts.argmax(axis=1))

    def readers(self, flat: Floats, allowed: NDArray[np.bool_], *, seed: int) -> Readers:
        rows = allowed & (self.targets >= 0)
        return several_kinds(flat[rows], self.targets[rows], classes=len(self.classes), seed=seed)

    def rates(self, flat: Floats, samples: Floats, *, seed: int) -> Floats:
        rows = self.targets >= 0
        return forest(flat[rows], self.targets[rows], classes=len(self.classes), seed=seed).rates(samples)


def synthesise(
    windows: LabelledWindows,
    codes: Indices,
    *,
    useful: Sequence[str],
    people: Indices,
    variants: int = 24,
    seed: int = 0,
) -> Outputs:
    """The outputs of every code 0 … max(codes).

    codes: each window's output code, -1 where it has none (such a window is only kept away from).
    people: the number of the person behind each window, or of the recording where nobody knows the person. A code of
    one person (identity is the useful inference) mixes near windows of that person.
    """
    tasks = [_Task.of(name, windows.labels[name], codes) for name in useful]
    sides, random = _sides(codes), np.random.default_rng(seed)
    # An output mixed from windows of one side is judged by models that learnt from the other.
    juries = [[task.readers(windows.flat, sides == 1 - side, seed=seed + side) for task in tasks] for side in (0, 1)]
    chosen, clearance = [], []
    for code in range(int(codes.max()) + 1):
        members = (codes == code) & np.logical_and.reduce([task.targets == task.meaning[code] for task in tasks])
        if members.sum() < FEWEST:
            raise TableError(_too_few(tasks, code, int(members.sum())))
        material = Material.of(windows.samples, np.flatnonzero(members), people)
        meaning = [int(task.meaning[code]) for task in tasks]
        candidates = [
            _candidates(material, sides, side, juries[side], meaning=meaning, variants=variants, random=random)
            for side in (0, 1)
        ]
        mixtures, scores = (
            np.concatenate([each for each, _ in candidates]),
            np.concatenate([each for _, each in candidates]),
        )
        picked = mixtures[_choose(mixtures * material.ruler, scores, variants)]
        chosen.append(picked)
        clearance.append(material.clearance(picked).min())
    samples = np.stack(chosen)
    read = {task.name: task.rates(windows.flat, samples, seed=seed + 2) for task in tasks}
    return Outputs(samples, read, {task.name: task.classes for task in tasks}, np.array(clearance))


def _candidates(
    material: Material,
    sides: Indices,
    side: int,
    jury: Sequence[Readers],
    *,
    meaning: Sequence[int],
    variants: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Mixtures of one side's windows that are far from every training window, and how well the jury reads them."""
    rows = np.flatnonzero(sides[material.members] == side)
    kept: list[Floats] = []
    wanted, count = POOL * variants, CANDIDATES * variants // 2
    for attempt in range(ROUNDS):
        # Later rounds differ more from their members: where windows lie close together, that is what takes them away.
        textures = random.choice(TEXTURES, count) + 0.25 * attempt
        mixtures = material.mixtures(random.choice(rows, count), rows, textures=textures, random=random)
        kept.append(mixtures[material.clearance(mixtures) >= 1])
        if sum(map(len, kept)) >= wanted:
            break
    found = np.concatenate(kept)
    return found, _score(found, jury, meaning)


def _score(windows: Floats, jury: Sequence[Readers], meaning: Sequence[int]) -> Floats:
    """How many readers see the class meant, ties broken by how sure they are; the worst inference counts."""
    if not len(windows):
        return np.empty(0)
    scores = []
    for readers, wanted in zip(jury, meaning, strict=True):
        probabilities = readers.probabilities(windows)
        votes = (probabilities.argmax(axis=2) == wanted).mean(axis=0)
        scores.append(votes + probabilities[:, :, wanted].mean(axis=0))
    return np.asarray(np.min(scores, axis=0))


def _choose(windows: Floats, scores: Floats, count: int) -> Indices:
    """Of the best read, the most different: each next one is the farthest from those already taken."""
    pool = np.argsort(-scores, kind="stable")[: POOL * count]
    between = distances(windows[pool], windows[pool])
    taken = [0]
    apart = between[0].copy()
    while len(taken) < count:
        taken.append(int(apart.argmax()))
        apart = np.minimum(apart, between[taken[-1]])
    return pool[taken]


def _sides(codes: Indices) -> Indices:
    """0 or 1 for each window: contiguous pieces of each code take turns, so that neighbours are mostly together."""
    sides = np.zeros(len(codes), dtype=np.int64)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        sides[rows] = np.arange(len(rows)) * min(PIECES, len(rows) // 2 * 2 or 1) // len(rows) % 2
    return sides


def _too_few(tasks: Sequence[_Task], code: int, count: int) -> str:
    names = ", ".join(f"{task.name} = {task.classes[task.meaning[code]]}" for task in tasks)
    return f"only {count} training windows have {names}; label at least {FEWEST}, or merge the class with another"
