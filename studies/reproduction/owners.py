"""Authentication: one person against the rest, for several people one after the other."""

from dataclasses import dataclass, replace

import numpy as np

from deeprotect.attack.split_spec import Fold, SplitSpec
from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import Indices, LabelledWindows
from deeprotect.training.splits import ONE_WINDOW
from studies.reproduction.subsampling import RUN, spread

OWNER, OTHER = "owner", "other"


def choose(windows: LabelledWindows, *, person: str, count: int, seed: int) -> list[str]:
    """The people who take part as owners of a device, drawn with a seed."""
    people = sorted({str(name) for name in windows.labels[person]})
    drawn = np.random.default_rng(seed).permutation(people)[:count]
    return sorted(drawn.tolist())


def against_the_rest(
    windows: LabelledWindows, *, person: str, owners: list[str], seed: int, run: int = RUN
) -> LabelledWindows:
    """Each owner's windows and as many of others, so that chance is one half; the group is the owner.

    The label `owner` replaces `person`. A window of someone who is `other` in several experiments stands here several
    times, and must not be learnt from in one and tested in another: split with EachGroupSplit. `run` neighbours of
    others are drawn together.
    """
    drawn = [_drawn(windows, windows.labels[person] == name, seed=seed, run=run) for name in owners]
    rows = np.concatenate(drawn)
    group = np.repeat(np.arange(len(owners)), [len(each) for each in drawn])
    chosen = windows[rows]
    own = chosen.labels[person] == np.array(owners, dtype=object)[group]
    labels = {OWNER: np.where(own, OWNER, OTHER).astype(object)}
    labels |= {name: column for name, column in chosen.labels.items() if name != person}
    return replace(chosen, labels=labels, group=group)


def _drawn(windows: LabelledWindows, own: Indices, *, seed: int, run: int) -> Indices:
    """All windows of the owner, and others in runs of neighbours spread over all other people."""
    others = np.flatnonzero(~own)
    drawn = spread(windows, others, windows.people, count=int(own.sum()), seed=seed, run=run)
    return np.sort(np.concatenate([np.flatnonzero(own), drawn]))


@dataclass(frozen=True)
class EachGroupSplit(SplitSpec):
    """Each group is an experiment of its own, with folds of its own; results join them all."""

    def make_folds(self, windows: LabelledWindows, *, seed: int, hold: Hold = ONE_WINDOW) -> list[Fold]:
        found = []
        for group in np.unique(windows.groups):
            rows = np.flatnonzero(windows.groups == group)
            for fold in super().make_folds(windows[rows], seed=seed, hold=hold):
                found.append(Fold(rows[fold.train], rows[fold.test], fold.seed))
        return found

    @property
    def words(self) -> str:
        return f"each owner on their own: {super().words}"
