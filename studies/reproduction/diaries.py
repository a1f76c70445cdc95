"""Days stitched from real windows along diaries of activity: who does one thing for a while, and then another.

No public set has whole days with labels and samples. A day here is one person's: stays of an exponential length, each
of another activity than the last, filled with that person's own held-out windows of it, one after the other and around
again. What an app and a coder learn from are other windows, as they were recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from deeprotect.attack.split_spec import Fold, SplitSpec
from deeprotect.datasets.dataset import Dataset
from deeprotect.policy import Policy
from deeprotect.policy.sections import seconds
from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from deeprotect.training.splits import ONE_WINDOW
from studies.reproduction.study import Study

DAY_HOURS = 4
RECORDED, STITCHED = 0, 1
"""Groups: windows as they were recorded, to learn from, and days, to test on."""


@dataclass(frozen=True)
class DiarySplit(SplitSpec):
    """Days are tested; what is learnt from is what they were not stitched from."""

    def make_folds(self, windows: LabelledWindows, *, seed: int, hold: Hold = ONE_WINDOW) -> list[Fold]:  # noqa: ARG002
        recorded, stitched = (np.flatnonzero(windows.groups == group) for group in (RECORDED, STITCHED))
        return [Fold(recorded, stitched, seed)]

    @property
    def words(self) -> str:
        return "days stitched from held-out windows; recordings to learn from"


@dataclass(frozen=True)
class DiaryStudy(Study):
    """A study on one day of each person with stays of a mean length of `stay`."""

    stay: str = "20 min"
    split: SplitSpec = field(default_factory=DiarySplit)

    def windows(self, data: Dataset, policy: Policy) -> LabelledWindows:
        """Windows as recorded and days; half of each run of labels is for one side, half for the other."""
        every = super(DiaryStudy, replace(self, split=SplitSpec())).windows(data, policy)
        fold = SplitSpec(held_out=0.5).make_folds(every, seed=policy.training.seed)[0]
        stay = float(seconds(self.stay) / policy.stream.window_seconds)
        length = int(Fraction(DAY_HOURS * 3600) / policy.stream.window_seconds)
        rng, rest = np.random.default_rng(policy.training.seed), every[fold.test]
        days = [fold.test[day] for day in _days(rest, self.useful, stay=stay, length=length, rng=rng)]
        return _joined(every, fold.train, days)


def _days(
    windows: LabelledWindows, activity: str, *, stay: float, length: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """Numbers of the windows of each person's day, for people with at least two activities."""
    for person in np.unique(windows.people):
        done = windows.labels[activity]
        own = {name: np.flatnonzero((windows.people == person) & (done == name)) for name in sorted(set(done.tolist()))}
        known = {name: rows for name, rows in own.items() if len(rows)}
        if len(known) > 1:
            yield np.concatenate(list(_stays(known, stay=stay, length=length, rng=rng)))[:length]


def _stays(own: dict[str, Indices], *, stay: float, length: int, rng: np.random.Generator) -> Iterator[Indices]:
    names, now, filled = list(own), -1, 0
    while filled < length:
        now = (now + int(rng.integers(1, len(names)))) % len(names) if filled else int(rng.integers(len(names)))
        rows, count = own[names[now]], 1 + int(rng.exponential(stay))
        yield rows[(int(rng.integers(len(rows))) + np.arange(count)) % len(rows)]
        filled += count


def _joined(every: LabelledWindows, recorded: Indices, days: list[Indices]) -> LabelledWindows:
    """Windows as they were recorded, and each day as a recording of its own."""
    own, lengths = every[recorded], [len(day) for day in days]
    stitched, count = every[np.concatenate(days)], sum(lengths)
    first = len(every) + int(every.recording.max()) + 1  # beyond all numbers that are taken

    def column(before: Indices | None, after: Indices) -> Indices:
        return np.concatenate([recorded if before is None else before, after])

    return replace(
        own,
        samples=np.concatenate([own.samples, stitched.samples]),
        labels={name: np.concatenate([own.labels[name], stitched.labels[name]]) for name in own.labels},
        recording=column(own.recording, np.repeat(first + np.arange(len(days)), lengths)),
        person=column(own.people, stitched.people),
        place=column(own.place, 2 * len(every) + np.arange(count)),
        position=column(own.position, np.concatenate([np.arange(length) for length in lengths])),
        group=np.repeat([RECORDED, STITCHED], [len(recorded), count]),
    )
