"""Scripts: sequences of an episode's labels, slot by slot, with few changes; how many there are, and the likeliest one.

"walking throughout" and "walking until slot 7, then sitting" are scripts of an episode. Randomised response over
them is one draw for all labels of an episode, exactly, from integers out of 2^64. docs/claims.md#scripts
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import comb, exp
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.errors import BundleError, InputError, PolicyError
from deeprotect.privacy.channel.betting import Floats, Integers
from deeprotect.privacy.channel.ratios import WHOLE, log_up
from deeprotect.privacy.entropy import Entropy
from deeprotect.privacy.events import Event, Step
from deeprotect.privacy.json_reader import JsonReader
from deeprotect.privacy.sampling import below
from deeprotect.privacy.size_limits import (
    LONGEST_CODE,
    MOST_CODES,
    MOST_SCRIPTS,
    MOST_SLOTS,
    MOST_VARIANTS,
    check_names,
)

MOST_CHANGES = 8
WASTED = 0.05
"""The largest share of draws left to chance; without a number in the policy, scripts get as many changes as keep it."""
_NEVER = -(1 << 62)
KIND = "script"
_DIGITS = re.compile(r"[0-9]{1,20}")
_DOWN = Context(prec=60, rounding=ROUND_FLOOR)


@dataclass(frozen=True)
class Scripts:
    """Sequences of `slots` labels out of 0 .. `labels` - 1 with at most `changes` changes; a slot has `windows`.

    Scripts are numbered by how often they change, then by where, then by their labels.
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
        """With the policy's changes, or with as many as ε allows: more scripts leave more draws to chance."""
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
        """Binomial coefficients (place, how many)."""
        return np.array([[comb(place, each) for each in range(self.changes + 1)] for place in range(self.slots)])

    def numbers(self, labels: Integers) -> Integers:
        """Numbers sequences (script, slot), none with more changes than allowed."""
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
        """The labels (script, slot) of numbered scripts."""
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
        """The label of each window; `counts` are the windows of each episode, and a last one may be short."""
        every = np.repeat(self.sequences(numbers), self.windows, axis=1)
        return np.asarray(every[np.arange(every.shape[1])[None] < counts[:, None]])

    def likeliest(self, support: Integers) -> Integers:
        """The numbers of the scripts with the largest total support, from integers (episode, slot, label).

        Exact, by dynamic programming. Ties go to the script with fewer changes, then to the lowest last label, then to
        the earliest change.
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
    """How many scripts have 0, 1, 2, … changes."""
    return [labels * (labels - 1) ** each * comb(slots - 1, each) for each in range(changes + 1)]


def _count(labels: int, slots: int, changes: int) -> int:
    return sum(_sizes(labels, slots, changes))


def _wasted(count: int, epsilon: float) -> float:
    """The share of draws that randomised response leaves to chance at ε."""
    return count / (count + exp(min(epsilon, 700.0)) - 1.0)


def _best_other(best: Integers) -> tuple[Integers, NDArray[np.int64]]:
    """The best value among all other labels (…, label), and its label."""
    first = best.argmax(axis=-1, keepdims=True)
    most = np.take_along_axis(best, first, axis=-1)
    rest = best.copy()
    np.put_along_axis(rest, first, _NEVER - 1, axis=-1)
    second = rest.argmax(axis=-1, keepdims=True)
    is_first = np.arange(best.shape[-1]) == first
    value = np.where(is_first, np.take_along_axis(rest, second, axis=-1), most)
    return np.asarray(value), np.where(is_first, second, first)


@dataclass(frozen=True, eq=False)
class ScriptResponse:
    """Releases an episode's script as it is with probability `keep` / 2^64, otherwise one drawn uniformly.

    Of N scripts, any two can be told apart by a factor of at most 1 + N keep / (2^64 - keep); a response whose
    factor exceeds e^ε cannot be constructed. Each window shows a variant of its slot's label, drawn uniformly. `prior`
    is P(label) of a window, and `cost` (label, output) what reading the output instead of the label costs.
    docs/claims.md#scripts
    """

    event: Event
    keep: int
    scripts: Scripts
    prior: tuple[float, ...]
    cost: Floats
    variants: int = 1
    outputs: tuple[str, ...] = ()
    name = "channel"
    dim = 1

    def __post_init__(self) -> None:
        labels = self.scripts.labels
        if not (0 <= self.keep < WHOLE and 1 <= self.variants <= MOST_VARIANTS):
            raise PolicyError("a script is kept with a chance below 1, out of 2^64, and has 1 to 2^20 variants")
        if len(self.prior) != labels or self.cost.shape != (labels, labels) or len(self.outputs) not in (0, labels):
            raise PolicyError("a script needs one prior, one row of costs and one name for each label")
        check_names(self.outputs, "the name of a code", longest=LONGEST_CODE)
        if self.event.guarantee != "ldp" or self.event.delta:
            raise PolicyError("a script promises ldp with delta 0; state that")
        if self.real_epsilon > self.event.epsilon:
            raise PolicyError(
                f"the integers give epsilon {self.real_epsilon:.6g}, above the stated {self.event.epsilon:.6g}"
            )

    @classmethod
    def of(cls, scripts: Scripts, epsilon: float, **facts: Any) -> "ScriptResponse":
        """The response that keeps scripts most often at ε."""
        return cls(Event("ldp", epsilon), keep_for(scripts.count, epsilon), scripts, **facts)

    @property
    def real_epsilon(self) -> float:
        """The ε of the integers, rounded up."""
        return log_up(_ratio(self.keep, self.scripts.count))

    @property
    def kept(self) -> float:
        """The probability that a script is released as read."""
        return self.keep / WHOLE

    @property
    def noise(self) -> str:
        return f"of {self.scripts.count:,} scripts, the one read leaves in {self.kept:.4g} of draws, else any alike"

    def privatise(self, code: Floats, *, entropy: Entropy) -> Floats:
        """Numbers of scripts (n, 1) for numbers (n, 1); total in its input: NaN is 0, others go to the nearest."""
        given = np.asarray(code, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != 1:
            raise InputError(f"codes of shape {given.shape} do not fit scripts; give one number for each episode")
        read = np.fmin(np.fmax(np.rint(given), 0.0), self.scripts.count - 1)  # fmax takes 0 where there is NaN
        kept = entropy.words(len(given))[:, None] < np.uint64(self.keep)
        return np.where(kept, read, self.placeholders(len(given), entropy=entropy))

    def placeholders(self, count: int, *, entropy: Entropy) -> Floats:
        """Draws scripts uniformly, without looking at a window."""
        return below(self.scripts.count, count, entropy).astype(np.float64)[:, None]

    def repeat(self, noisy_code: Floats, counts: Integers, *, entropy: Entropy) -> Floats:
        """Indices of windows: a fresh variant of each window's slot label in the one script that was drawn."""
        label = self.scripts.shown(noisy_code[:, 0].astype(np.int64), counts)
        return (label * self.variants + below(self.variants, len(label), entropy)).astype(np.float64)[:, None]

    @property
    def public_outputs(self) -> int:
        """The number of indices that windows can show: labels × variants."""
        return self.scripts.labels * self.variants

    def output_of(self, noisy_code: Floats) -> Integers:
        """The label behind each window's index: public, as the code book is."""
        return np.asarray(noisy_code[:, 0].astype(np.int64) // self.variants)

    def derive(self) -> Iterator[Step]:
        """Derives ε from two integers: the number of scripts, and how many of 2^64 words keep one."""
        ratio = log_up(_ratio(self.keep, self.scripts.count))
        yield Step("scripts", holds=None, found=f"{self.scripts.count:,}: {self.scripts}")
        found = f"largest ratio of integers gives ε = {ratio:.9g} ldp, stated {self.event.epsilon:g}"
        yield Step("ε from integers", holds=ratio <= self.event.epsilon, found=found)
        yield Step("noise", holds=None, found=self.noise)

    def expected_error(self) -> float:
        """The expected cost of one window under the prior."""
        right, any_alike = (
            float(np.array(self.prior) @ each) for each in (self.cost.diagonal(), self.cost.mean(axis=1))
        )
        return self.kept * right + (1.0 - self.kept) * any_alike

    def certificate(self) -> dict[str, Any]:
        """The certificate, derived from the two integers."""
        return self.event.certificate(
            mechanism=self.name,
            method="a ratio of integers out of 2^64",
            derived_epsilon=self.real_epsilon,
            ldp_epsilon=self.real_epsilon,
            scripts=self.scripts.count,
            labels=self.scripts.labels,
            slots=self.scripts.slots,
            changes=self.scripts.changes,
            variants=self.variants,
            noise=self.noise,
            integers_sha256=hashlib.sha256(json.dumps([str(self.keep), self._sizes()]).encode()).hexdigest(),
        )

    def _sizes(self) -> dict[str, int]:
        scripts = self.scripts
        sizes = {"labels": scripts.labels, "slots": scripts.slots, "changes": scripts.changes}
        return sizes | {"windows_per_slot": scripts.windows, "variants": self.variants}

    def to_json(self) -> dict[str, Any]:
        facts = {"kind": KIND, "name": self.name, "event": self.event.to_json(), "keep": str(self.keep)}
        return facts | self._sizes() | {"prior": [*self.prior], "cost": self.cost.tolist(), "outputs": [*self.outputs]}

    @classmethod
    def read(cls, record: JsonReader, event: Event) -> "ScriptResponse":
        keep, sizes = record.text("keep"), ("labels", "slots", "changes", "windows_per_slot")
        if not _DIGITS.fullmatch(keep):
            raise BundleError(f"{record.name}: 'keep' must be a whole number; restore the bundle")
        scripts = Scripts(*map(record.integer, sizes))
        facts = record.floats("prior"), record.matrix("cost"), record.integer("variants"), record.texts("outputs")
        return cls(event, int(keep), scripts, *facts)


def keep_for(count: int, epsilon: float) -> int:
    """The largest keep, out of 2^64, that is ε-LDP for `count` scripts."""
    factor = Fraction(Decimal(epsilon).exp(_DOWN).next_minus(_DOWN))  # below e^ε
    keep = int(WHOLE * (factor - 1) / (factor - 1 + count))
    while log_up(_ratio(keep, count)) > epsilon:
        keep -= 1
    return keep


def _ratio(keep: int, count: int) -> Fraction:
    """P(script | read) / P(script | another read): (keep + rest / N) / (rest / N)."""
    return 1 + Fraction(keep * count, WHOLE - keep)
