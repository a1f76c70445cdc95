"""How a table is split into folds, each with training and test windows that are never neighbours."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deeprotect.errors import ArgumentError, InputError, quoted
from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import ALL, NONE, Indices, LabelledWindows, place_in, rank_in_group
from deeprotect.training.splits import ONE_WINDOW, Mask, apart, blocks, contiguous, folds, grouped, segments_of

KINDS = ("time", "pieces", "recording", "group", "strangers")
OWN = "own"
ENROLLED = 0.5
"""Share of the strangers' windows that attackers learn from."""
MOST_FOLDS = 100


@dataclass(frozen=True)
class SplitSpec:
    """`kind` says how to split: in time inside recordings and runs of labels, by pieces of recordings, by recordings,
    or by the windows' groups, such as people.

    With `strangers`, no group is on both sides either, but attackers have enrolled the strangers: they learn from the
    earlier windows of the tested groups.

    One fold holds out a share, several are cross-validation; each repeat has its own seed. `most` limits the training
    windows, and the test windows to a third of it. `enrol` is the number of first windows of each combination of labels
    of each stranger that train the stranger's own coder and are not tested. `tested` numbers the held-out recordings,
    if the caller chose them. With `own`, `sides` are the caller's training and test windows, a pair for each fold, and
    `told` describes their origin.
    """

    kind: str = "time"
    folds: int = 1
    repeats: int = 1
    held_out: float = 0.3
    most: int | None = None
    enrol: int = 0
    tested: tuple[int, ...] = ()
    sides: tuple[tuple[Mask, Mask], ...] = field(default=(), compare=False)
    told: str = ""

    def __post_init__(self) -> None:
        if self.kind not in (*KINDS, OWN):
            raise InputError(f"split '{self.kind}' is unknown; use one of: {', '.join(KINDS)}, or COLUMN=VALUE")
        if self.folds < 1 or self.repeats < 1:
            raise InputError("folds and repeats count from 1")
        if self.folds > MOST_FOLDS or self.repeats > MOST_FOLDS:
            raise InputError(f"folds and repeats are {MOST_FOLDS} at most: each fits everything anew")
        if self.enrol < 0 or (self.enrol and self.kind != "strangers"):
            raise InputError("only strangers are enrolled; split by strangers")
        if self.kind == "pieces" and self.folds > 1:
            raise InputError("pieces are held out once; ask for one fold, and for repeats")

    def make_folds(self, windows: LabelledWindows, *, seed: int, hold: Hold = ONE_WINDOW) -> list["Fold"]:
        """The folds of all repeats; episodes of `hold` are not cut."""
        every = [fold for repeat in range(self.repeats) for fold in self._folds(windows, seed + repeat, hold)]
        return every if self.most is None else [fold.thinned(windows, self.most) for fold in every]

    def _folds(self, windows: LabelledWindows, seed: int, hold: Hold) -> Iterator["Fold"]:
        for train, held_out in self._masks(windows, seed, hold):
            enrolled = _first_of_each(windows, held_out, self.enrol)
            test = apart(held_out & ~enrolled, enrolled, windows)
            enrolment = None
            if self.kind == "strangers":  # the earlier part of each segment, and the later one
                enrolment = contiguous(windows[test], held_out=1 - ENROLLED, seed=seed, hold=hold)
            yield Fold(np.flatnonzero(train), np.flatnonzero(test), seed, enrolment, np.flatnonzero(enrolled))

    def _masks(self, windows: LabelledWindows, seed: int, hold: Hold) -> list[tuple[Mask, Mask]]:
        if self.kind == OWN:
            return list(self.sides)
        if self.tested:
            held_out = np.isin(windows.recording, self.tested)
            return [(~held_out, held_out)]
        if self.kind == "pieces":
            return [blocks(windows, held_out=self.held_out, seed=seed, hold=hold)]
        if self.kind != "time":
            groups = windows.recording if self.kind == "recording" else windows.groups
            return grouped(windows, groups, count=self.folds, held_out=self.held_out, seed=seed)
        if self.folds == 1:
            return [contiguous(windows, held_out=self.held_out, seed=seed, hold=hold)]
        return folds(windows, count=self.folds, seed=seed, hold=hold)

    @property
    def words(self) -> str:
        """A description for readers of a report."""
        if self.kind == OWN:
            return self.told + (f", {self.repeats} times" if self.repeats > 1 else "")
        how = {
            "time": "time inside each recording and each run of equal labels, one window left out at the border",
            "pieces": "time, in whole pieces of recordings whatever their labels, one window left out at the border",
            "recording": "recording: each is whole on one side",
            "group": "group: each is whole on one side",
            "strangers": "group: each is whole on one side; attackers learn from the tested groups' earlier windows",
        }[self.kind]
        folds = f"{self.folds}-fold cross-validation" if self.folds > 1 else f"{self.held_out:.0%} held out"
        enrolled = f"; the first {self.enrol} windows of each class enrol them" if self.enrol else ""
        return f"{how}; {folds}{enrolled}" + (f", {self.repeats} times" if self.repeats > 1 else "")


def split_of_column(windows: LabelledWindows, column: str, values: Sequence[str]) -> SplitSpec:
    """Test windows all of whose rows have one of the values; train on windows none of whose rows has.

    Mixed windows and training windows next to a tested one are left out.
    """
    assert windows.tested is not None
    test = windows.tested == ALL
    train = apart(windows.tested == NONE, test, windows)
    shown = ", ".join(values)
    if not (train.any() and test.any()):
        which = "every" if test.any() else "no whole"
        reason = f"{which} window has that; nothing is left to train or to test on"
        raise ArgumentError("split", reason, {column: shown})
    told = f"the column {quoted(column)}: {quoted(shown)} is tested, one window left out at the border"
    return SplitSpec(OWN, sides=((train, test),), told=told)


def split_of_masks(windows: LabelledWindows, given: Iterable[Any]) -> SplitSpec:
    """Split by a pair of masks or window numbers for training and testing, or by several pairs, as scikit-learn
    yields."""
    pairs = list(given)
    if not all(isinstance(each, list | tuple) and len(each) == 2 and not np.isscalar(each[0]) for each in pairs):
        pairs = [tuple(pairs)]
    if not pairs or len(pairs[0]) != 2:
        raise ArgumentError("split", _PAIRS)
    sides = [(_mask(train, len(windows)), _mask(test, len(windows))) for train, test in pairs]
    if any((train & test).any() or not (train.any() and test.any()) for train, test in sides):
        raise ArgumentError("split", "there must be windows to train on, and others to test on")
    counted = "windows that the caller chose" if len(sides) == 1 else f"{len(sides)} folds that the caller chose"
    return SplitSpec(OWN, sides=tuple(sides), told=counted)


_PAIRS = "give the windows to train on and to test on, as a pair of masks or numbers, or several such pairs"


def _mask(given: Any, count: int) -> Mask:
    side = np.asarray(given)
    if side.ndim == 1 and side.dtype == bool and len(side) == count:
        return np.asarray(side)
    if side.ndim == 1 and side.dtype.kind in "iu" and (not len(side) or 0 <= side.min() <= side.max() < count):
        chosen = np.zeros(count, dtype=bool)
        chosen[side] = True
        return chosen
    raise ArgumentError("split", f"{_PAIRS}, of the {count} windows of deeprotect.windows(policy, table)")


@dataclass(frozen=True)
class Fold:
    """Numbers of the training and test windows, and the seed of everything random on them.

    `enrolment`: the tested windows that attackers learn from and those that they are tested on, if they enrol.
    `enrolled`: numbers of untested windows from which tested people's own coders learn.
    """

    train: Indices
    test: Indices
    seed: int
    enrolment: tuple[Mask, Mask] | None = None
    enrolled: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def thinned(self, windows: LabelledWindows, most: int) -> "Fold":
        test = _some(windows, self.test, most // 3, seed=self.seed)
        kept = np.isin(self.test, test)
        enrolment = self.enrolment and (self.enrolment[0][kept], self.enrolment[1][kept])
        return replace(self, train=_some(windows, self.train, most, seed=self.seed), test=test, enrolment=enrolment)


def _first_of_each(windows: LabelledWindows, strangers: Mask, count: int) -> Mask:
    """The first windows, in time, of each combination of labels of each stranger; all labels must occur."""
    if not count:
        return np.zeros(len(windows), dtype=bool)
    complete = strangers & np.logical_and.reduce([windows.labelled(name) for name in windows.labels])
    rows = np.flatnonzero(complete)
    names = np.array([repr((windows.groups[row], *(each[row] for each in windows.labels.values()))) for row in rows])
    chosen = np.zeros(len(windows), dtype=bool)
    chosen[rows[rank_in_group(np.unique(names, return_inverse=True)[1]) < count]] = True
    return chosen


def _some(windows: LabelledWindows, chosen: Indices, most: int, *, seed: int) -> Indices:
    """Sample a run in every segment, the same share of each, so that everyone is included and neighbours stay
    together."""
    if len(chosen) <= most:
        return chosen
    random = np.random.default_rng(seed)
    segment = segments_of(windows[chosen])
    sizes = np.bincount(segment)
    # Shares are rounded so that the total over the first k segments is off by less than one window.
    kept = np.diff(np.floor(np.cumsum(sizes) * (most / len(chosen)) + random.random()).astype(np.int64), prepend=0)
    starts = random.integers(sizes - kept + 1)
    place = place_in(segment)
    return np.asarray(chosen[(place >= starts[segment]) & (place < (starts + kept)[segment])])
