"""Which two classes of a named inference to compare: those that a pilot attack tells apart best."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from deeprotect.audit.distinguisher import choose, fit
from deeprotect.audit.pairs import Pair
from deeprotect.audit.trials import outputs_of, released
from deeprotect.errors import InputError
from deeprotect.release.pipe import Pipeline
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows


def worst_classes(bundle: Pipeline, windows: LabelledWindows, inferences: Sequence[str], *, runs: int) -> Pair:
    """Two classes as pools of their windows; the pilot's releases choose, and are not counted afterwards."""
    pairs = [scored for name in inferences for scored in _pilot(bundle, windows, name, runs=runs)]
    if not pairs:
        raise InputError(f"the table has no two classes of {', '.join(inferences)}; give one with labels")
    return max(pairs, key=lambda scored: scored[0])[1]


def _pilot(bundle: Pipeline, windows: LabelledWindows, inference: str, *, runs: int) -> Iterator[tuple[float, Pair]]:
    pools = _pools(windows, inference)
    seen = {label: released(bundle, pool, runs) for label, pool in pools.items()}
    half, outputs = runs // 2, outputs_of(bundle)
    for a, b in combinations(pools, 2):
        scores = fit(seen[a][:half], seen[b][:half], outputs=outputs, strong=False)
        rule = choose(scores, seen[a][half:], seen[b][half:])
        shown = rule.tally(rule.score(seen[a][half:]), rule.score(seen[b][half:])).epsilon
        yield shown, Pair(pools[a], pools[b], found=f"{inference} '{a}' and '{b}'")


def _pools(windows: LabelledWindows, inference: str) -> dict[str, Floats]:
    labels = windows.labels[inference]
    classes = sorted({label for label in labels if label is not None})
    return {label: windows.flat[labels == label] for label in classes}
