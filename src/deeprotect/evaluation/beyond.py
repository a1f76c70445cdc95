"""What a release reveals beyond the useful label, on tested windows: misclassified draws and the resulting bound.

docs/claims.md#what-leaves-beyond-the-useful-label
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np

from deeprotect.attack.predictions import Interval, clustered
from deeprotect.privacy.channel.betting import UNIT
from deeprotect.privacy.channel.beyond import Excess, apart, excesses, misread_draws
from deeprotect.signals.schema import Floats
from deeprotect.training.fitting.kept_aside import Coding, SlotReadings, coder_levels
from deeprotect.training.labelled_windows import MISSING, Indices, LabelledWindows
from deeprotect.training.levels import distances
from deeprotect.training.splits import Mask

WHOLE = 1 << 40
"""Stands for a whole recording in a number of draws."""


@dataclass(frozen=True)
class Beyond:
    """For one row: the share of misclassified draws, and how much more often than by guessing anything else can be
    named.

    `at_most` is estimated on the tested windows, for one draw and for all of a recording; `surely` is its 95 % upper
    end over recordings, if there are enough of them.
    """

    misread: float
    ci: Interval
    labelled: float  # share of draws with a useful label; others count as misclassified
    at_most: Mapping[str, float]
    surely: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class Misread:
    """For each slot of released test windows: whether it is misclassified, its draw and its recording.

    `off` holds, for each numeric useful inference, the error of the coder's own level, window by window.
    """

    tau: Fraction
    wrong: Mask
    draw: Indices
    recording: Indices
    known: Mask
    off: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, windows: LabelledWindows, *, coding: Coding, useful: Sequence[str]) -> Self | None:
        """Classify slots; None for noise on features, which has no codes."""
        tau = apart(coding.mechanism)
        if tau is None:
            return None
        found = SlotReadings.of(coding, windows, useful)
        off = {}
        for name in windows.numeric:
            seen, levels = windows.labelled(name), coder_levels(coding, windows, useful, name)
            if levels is not None:
                off[name] = distances(windows.labels[name][seen], levels[seen])
        return cls(tau, found.misread, found.draw, found.recording, found.truth != MISSING, off)

    def stretches(self, size: int) -> Iterator[tuple[int, np.ndarray[tuple[int], np.dtype[np.float64]]]]:
        """For each recording, 1 − (1 − τ)^N over its stretches of `size` slots."""
        for recording in np.unique(self.recording):
            here = self.recording == recording
            counts = misread_draws(self.wrong[here], self.draw[here], length=size)
            yield int(recording), excesses(self.tau, int(counts.max()))[counts] / UNIT


def excess(folds: Sequence[Misread], size: int) -> float:
    """The mean over all stretches of `size` slots."""
    return float(np.concatenate([part for fold in folds for _, part in fold.stretches(size)]).mean())


def excess_of_labelled(folds: Sequence[Misread]) -> float:
    """The mean over single draws that have a useful label."""
    return float(np.concatenate([float(fold.tau) * fold.wrong[fold.known] for fold in folds]).mean())


def sum_up(folds: Sequence[Misread]) -> Beyond:
    """Summarise all folds; a recording tested in several of them counts once."""
    wrong = np.concatenate([fold.wrong for fold in folds])
    recording = np.concatenate([fold.recording for fold in folds])
    known = np.concatenate([fold.known for fold in folds])
    sizes = {"1": 1, "recording": WHOLE}
    return Beyond(
        float(wrong.mean()),
        clustered(wrong, recording),
        float(known.mean()),
        {name: excess(folds, size) for name, size in sizes.items()}
        | ({"1, labelled": excess_of_labelled(folds)} if known.any() else {}),
        {name: _surely(folds, size) for name, size in sizes.items()},
    )


def _surely(folds: Sequence[Misread], size: int) -> float | None:
    found: dict[int, list[float]] = {}
    for fold in folds:
        for recording, parts in fold.stretches(size):
            found.setdefault(recording, []).append(float(parts.mean()))
    end = Excess.of([Fraction(min(1.0, float(np.mean(each)))) for each in found.values()]).end
    return None if end is None else float(end)
