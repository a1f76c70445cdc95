"""Scripts: what an episode's labels may be, slot by slot, with few changes; how many there are, and which is likeliest.

"walking throughout" and "walking until slot 7, then sitting" are scripts of an episode. docs/claims.md#scripts
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb, exp
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import PolicyError
from deeprotect.privacy.channel.betting import Integers
from deeprotect.privacy.size_limits import MOST_CODES, MOST_SCRIPTS, MOST_SLOTS

MOST_CHANGES = 8
WASTED = 0.05
"""Share of draws that tell nothing, up to which a script may have one change more, where the policy does not say."""
_NEVER = -(1 << 62)


@dataclass(frozen=True)
class Scripts:
    """Sequences of `slots` labels out of 0 .. `labels` - 1 with at most `changes` changes; a slot has `windows`.

    Numbers go by how often a script changes, then by where, then by which labels.
    """

    labels: int
    slots: int
    changes: int
    windows: int

    def __post_init__(self) -> None:
        if not (2 <= self.labels <= MOST_CODES and 2 <= self.slots <= MOST_SLOTS and self.windows >= 1):
            raise PolicyError(f"a script needs 2 to {MOST_CODES} labels and 2 to {MOST_SLOTS} slots; change `slots`")
        if not 0 <= self.changes <= min(MOST_CHANGES, self.slots - 1):
            raise PolicyError(f"changes = {self.changes} must be between 0 and {min(MOST_CHANGES, self.slots - 1)}")
        if self.count > MOST_SCRIPTS:
            raise PolicyError(
                f"{self.labels} labels, {self.slots} slots and {self.changes} changes are {self.count:.2g} scripts, "
                f"more than {MOST_SCRIPTS:.2g}; use longer slots or fewer changes"
            )

    @classmethod
    def fitting(cls, labels: int, slots: int, *, changes: int | None, windows: int, epsilon: float) -> Self:
        """With the policy's changes, or with as many as ε pays for: a larger alphabet wastes more draws."""
        if changes is not None:
            return cls(labels, slots, changes, windows)
        chosen = cls(labels, slots, 1, windows)
        for each in range(2, min(MOST_CHANGES, slots - 1) + 1):
            if _wasted(_count(labels, slots, each), epsilon) <= WASTED:
                chosen = cls(labels, slots, each, windows)
        return chosen

    def __str__(self) -> str:
        often = f"{self.changes} change{'' if self.changes == 1 else 's'}"
        return f"{self.labels} labels, {self.slots} slots, at most {often}"

    @cached_property
    def count(self) -> int:
        return _count(self.labels, self.slots, self.changes)

    @cached_property
    def _starts(self) -> Integers:
        return np.concatenate([[0], np.cumsum(_sizes(self.labels, self.slots, self.changes))])

    @cached_property
    def _chosen(self) -> Integers:
        """(place, how many): comb(place, how many)."""
        return np.array([[comb(place, each) for each in range(self.changes + 1)] for place in range(self.slots)])

    def numbers(self, labels: Integers) -> Integers:
        """Of sequences (script, slot), none of more changes than there may be."""
        changed = labels[:, 1:] != labels[:, :-1]
        rank = np.cumsum(changed, axis=1) * changed  # 1 at the first change, 2 at the second, 0 where there is none
        often = changed.sum(axis=1)
        where = np.where(changed, self._chosen[np.arange(self.slots - 1)[None], rank], 0).sum(axis=1)
        number = where * self.labels + labels[:, 0]
        steps = (labels[:, 1:] - labels[:, :-1] - 1) % self.labels
        for place in range(self.slots - 1):
            number = np.where(changed[:, place], number * (self.labels - 1) + steps[:, place], number)
        return np.asarray(number + self._starts[often])

    def sequences(self, numbers: Integers) -> Integers:
        """(script, slot): the labels behind numbers."""
        often = np.searchsorted(self._starts, numbers, side="right") - 1
        rest, offsets = numbers - self._starts[often], np.zeros((len(numbers), self.slots), dtype=np.int64)
        steps = []
        for each in range(self.changes, 0, -1):  # the last change is the lowest digit
            has = often >= each
            steps.append(np.where(has, rest % (self.labels - 1) + 1, 0))
            rest = np.where(has, rest // (self.labels - 1), rest)
        first, where = rest % self.labels, rest // self.labels
        for each, step in zip(range(self.changes, 0, -1), steps, strict=True):
            has = often >= each
            place = np.searchsorted(self._chosen[:, each], where, side="right") - 1
            where = np.where(has, where - self._chosen[place, each], where)
            offsets[np.flatnonzero(has), place[has] + 1] = step[has]
        return np.asarray((first[:, None] + np.cumsum(offsets, axis=1)) % self.labels)

    def shown(self, numbers: Integers, counts: Integers) -> Integers:
        """The label of each window, where episodes have so many windows each; a last one may be short."""
        every = np.repeat(self.sequences(numbers), self.windows, axis=1)
        return np.asarray(every[np.arange(every.shape[1])[None] < counts[:, None]])

    def likeliest(self, support: Integers) -> Integers:
        """The numbers of the scripts that whole-numbered support (episode, slot, label) adds up to most for.

        By dynamic programming, exact. Of equal ones, the one with fewer changes, then that of the lowest last label,
        then that which changes earliest.
        """
        episodes, places = len(support), np.arange(len(support))
        best = np.full((episodes, self.changes + 1, self.labels), _NEVER, dtype=np.int64)
        best[:, 0] = support[:, 0]
        came = np.zeros((self.slots, *best.shape), dtype=np.int16)
        for slot in range(1, self.slots):
            came[slot] = np.arange(self.labels)
            above, source = _best_other(best[:, :-1])
            better = above > best[:, 1:]
            came[slot, :, 1:][better] = source[better]
            best[:, 1:] = np.maximum(best[:, 1:], above)
            best += support[:, slot, None]
        often, label = np.divmod(best.reshape(episodes, -1).argmax(axis=1), self.labels)
        labels = np.empty((episodes, self.slots), dtype=np.int64)
        for slot in range(self.slots - 1, -1, -1):
            labels[:, slot] = label
            before = came[slot, places, often, label].astype(np.int64) if slot else label
            often, label = often - (before != label), before
        return self.numbers(labels)


def _sizes(labels: int, slots: int, changes: int) -> list[int]:
    """Scripts of 0, 1, 2, … changes."""
    return [labels * (labels - 1) ** each * comb(slots - 1, each) for each in range(changes + 1)]


def _count(labels: int, slots: int, changes: int) -> int:
    return sum(_sizes(labels, slots, changes))


def _wasted(count: int, epsilon: float) -> float:
    """The share of draws that are any script alike, where randomised response keeps ε."""
    return count / (count + exp(min(epsilon, 700.0)) - 1.0)


def _best_other(best: Integers) -> tuple[Integers, NDArray[np.int64]]:
    """For each label (…, label) the best of all others, and which it is."""
    first = best.argmax(axis=-1, keepdims=True)
    most = np.take_along_axis(best, first, axis=-1)
    rest = best.copy()
    np.put_along_axis(rest, first, _NEVER - 1, axis=-1)
    second = rest.argmax(axis=-1, keepdims=True)
    is_first = np.arange(best.shape[-1]) == first
    value = np.where(is_first, np.take_along_axis(rest, second, axis=-1), most)
    return np.asarray(value), np.where(is_first, second, first)
