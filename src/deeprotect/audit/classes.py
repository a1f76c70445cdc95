"""Which two classes of a named inference to compare: those that a pilot attack tells apart best."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deeprotect.audit.distinguisher import choose, fit
from deeprotect.audit.pairs import Pair
from deeprotect.audit.trials import outputs_of, released
from deeprotect.audit.views import view
from deeprotect.errors import InputError, quoted, quoted_all
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

_FEWEST_PILOTS = 500


@dataclass(frozen=True)
class ClassComparison:
    """The windows of each class of an inference, all of one useful class where one is given."""

    inference: str
    pools: dict[str, Floats]
    given: str = ""

    @classmethod
    def of(cls, windows: LabelledWindows, inference: str, classes: Sequence[str], *, given: str = "") -> Self:
        labels = windows.labels[inference]
        pools = {label: windows.flat[labels == label] for label in classes if (labels == label).any()}
        return cls(inference, pools, given)

    def pair(self, first: str, second: str) -> Pair:
        both = f", both {quoted(self.given)}" if self.given else ""
        found = f"{quoted(self.inference)} {quoted(first)} and {quoted(second)}{both}"
        return Pair(self.pools[first], self.pools[second], found=found)


def worst_classes(bundle: Pipeline, windows: LabelledWindows, inferences: Sequence[str], *, runs: int) -> Pair:
    """Two classes as pools of their windows; the pilot's releases choose, and are not counted afterwards.

    Given the useful class, both are windows of one, and only combinations that are promised something are compared.
    """
    compared = [each for name in inferences for each in _comparisons(bundle, windows, name)]
    pilots = max(_FEWEST_PILOTS, runs * len(inferences) // max(1, len(compared)))
    pairs = [scored for comparison in compared for scored in _pilot(bundle, comparison, runs=pilots)]
    if not pairs:
        raise InputError(
            f"the table has no two classes of {quoted_all(inferences, ', ')} to compare; give one with labels"
        )
    return max(pairs, key=lambda scored: scored[0])[1]


def _comparisons(bundle: Pipeline, windows: LabelledWindows, inference: str) -> Iterator[ClassComparison]:
    """Classes that are promised to be alike."""
    given = bundle.mechanism.event.given
    useful = _joint(windows, given) if given else None
    for each in view(bundle.mechanism).promises:
        if each.inference == inference:
            alike = windows if useful is None else windows[useful == each.given]
            yield ClassComparison.of(alike, inference, each.classes, given=each.given)


def _joint(windows: LabelledWindows, given: Sequence[str]) -> NDArray[np.object_]:
    """The useful class of each window, named as channels name their outputs; None where a label is missing."""
    rows = windows.targets(given).tolist()
    return np.array([None if None in row else " & ".join(map(str, row)) for row in rows], dtype=object)


def _pilot(bundle: Pipeline, comparison: ClassComparison, *, runs: int) -> Iterator[tuple[float, Pair]]:
    seen = {label: released(bundle, pool, runs) for label, pool in comparison.pools.items()}
    half, outputs = runs // 2, outputs_of(bundle)
    for a, b in combinations(seen, 2):
        scores = fit(seen[a][:half], seen[b][:half], outputs=outputs, strong=False)
        rule = choose(scores, seen[a][half:], seen[b][half:])
        shown = rule.tally(rule.score(seen[a][half:]), rule.score(seen[b][half:])).epsilon
        yield shown, comparison.pair(a, b)
