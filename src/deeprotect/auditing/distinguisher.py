"""Distinguishes two private inputs by their releases: scores are fitted, one event is chosen, the other runs count it.

Releases are runs of the real pipe: encode, charge, privatise, decode, with the operating system's randomness.

From counts to a lower bound on ε: Clopper–Pearson on both sides of one event that was chosen beforehand.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta
from sklearn.ensemble import HistGradientBoostingClassifier

from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Pipeline, stream, windows_of
from deeprotect.release.ledger import MemoryLedger, Price
from deeprotect.signals import Frame, Schema, Windows
from deeprotect.signals.schema import Floats

CONFIDENCE = 0.95
"""The confidence of all lower bounds of an audit together."""


def confidence_of_each(attacks: int) -> float:
    """So many bounds hold together with CONFIDENCE when each may fail with its share of what is left (Bonferroni)."""
    return 1.0 - (1.0 - CONFIDENCE) / attacks


@dataclass(frozen=True)
class Tally:
    """How often an event followed each of two private inputs; `runs` of each."""

    first: int
    second: int
    runs: int
    confidence: float = CONFIDENCE

    @property
    def epsilon(self) -> float:
        """At most the true ε with probability `confidence` or more; 0 if nothing is shown."""
        return float(lower_bound(self.first, self.second, self.runs, confidence=self.confidence))


def lower_bound(first: ArrayLike, second: ArrayLike, runs: int, *, confidence: float = CONFIDENCE) -> Floats:
    """ln(p/q) with p from below and q from above, each wrong with half of the probability that is left.

    e^ε ≥ P(event | first) / P(event | second) ≥ p/q unless one of the two ends fails (Clopper and Pearson 1934).
    """
    miss = (1.0 - confidence) / 2.0
    hits, others = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    # With no hit the lower end is 0, with nothing but hits the upper end is 1; beta has no such parameters.
    low = np.where(hits > 0, beta.ppf(miss, np.maximum(hits, 1.0), runs - hits + 1.0), 0.0)
    high = np.where(others < runs, beta.ppf(1.0 - miss, others + 1.0, np.maximum(runs - others, 1.0)), 1.0)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(low / high), 0.0)


Score = Callable[[Floats], Floats]
"""Maps observed releases (run, value) to numbers (run,); high values favour the first input."""
Names = Callable[[Floats], NDArray[np.uint64]]
"""Maps released windows (run, value) to integers (run,) whose frequencies are counted."""

_THRESHOLDS = 400
_REPEATS = 4  # if windows repeat this often on average, there are few of them, and their frequencies are counted
_RIDGE = 1e-6


@dataclass(frozen=True)
class Rule:
    """The event: the score is at least `threshold`; with `swapped`, at most that, which favours the second input."""

    score: Score
    threshold: float
    swapped: bool
    kind: str

    def holds(self, scores: Floats) -> NDArray[np.bool_]:
        return np.asarray(scores <= self.threshold if self.swapped else scores >= self.threshold)

    def tally(self, first: Floats, second: Floats, *, confidence: float = CONFIDENCE) -> Tally:
        """Counts the event among the scores of both sides, the likelier side first."""
        counts = int(self.holds(first).sum()), int(self.holds(second).sum())
        return Tally(*(counts[::-1] if self.swapped else counts), runs=len(first), confidence=confidence)


def fit(first: Floats, second: Floats, *, outputs: Names | None = None, strong: bool = True) -> dict[str, Score]:
    """Fits scores to released windows of both sides; `strong` adds a score that takes seconds to fit.

    `outputs` says which public output a window is a variant of, where there are such.
    """
    scores = {
        "difference of means": _projection(first.mean(axis=0) - second.mean(axis=0)),
        "linear discriminant": _projection(_discriminant(first, second)),
    }
    if outputs is not None:
        scores["frequencies of outputs"] = _frequencies(first, second, outputs)
    elif _few_windows(first, second):
        scores["frequencies of windows"] = _frequencies(first, second, names)
    elif strong:
        scores["boosted trees"] = _trees(first, second)
    return scores


def choose(scores: dict[str, Score], first: Floats, second: Floats) -> Rule:
    """The score, threshold and direction with the largest lower bound on windows that no score was fitted on."""
    rules = []
    for kind, score in scores.items():
        sides = np.sort(score(first)), np.sort(score(second))
        rules += [(*_threshold(*sides, swapped=swapped), score, swapped, kind) for swapped in (False, True)]
    _, threshold, score, swapped, kind = max(rules, key=lambda rule: rule[0])
    return Rule(score, threshold, swapped, kind)


def _threshold(first: Floats, second: Floats, *, swapped: bool) -> tuple[float, float]:
    """The best threshold for sorted scores, and the bound that it gives."""
    both = np.unique(np.concatenate([first, second]))
    # Includes as many thresholds in the tails, where ratios are large, as in the middle.
    tail = np.geomspace(1.0, len(both), _THRESHOLDS // 2).astype(np.int64) - 1
    candidates = both[np.unique([tail, len(both) - 1 - tail])]
    if swapped:
        hits = np.searchsorted(second, candidates, side="right")
        others = np.searchsorted(first, candidates, side="right")
    else:
        hits = len(first) - np.searchsorted(first, candidates, side="left")
        others = len(second) - np.searchsorted(second, candidates, side="left")
    bounds = lower_bound(hits, others, len(first))
    best = int(bounds.argmax())
    return float(bounds[best]), float(candidates[best])


def _few_windows(first: Floats, second: Floats) -> bool:
    different = np.unique(np.concatenate([names(first), names(second)]))
    return _REPEATS * len(different) <= len(first) + len(second)


def names(rows: Floats) -> NDArray[np.uint64]:
    """Hashes each row to 64 bits; equal rows have equal hashes, and −0 counts as 0."""
    bits = np.ascontiguousarray(rows + 0.0, dtype=np.float64).view(np.uint64)
    odd = np.random.default_rng(0).integers(1 << 63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = (bits ^ (bits >> np.uint64(32))) * odd
    return np.asarray((mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64))


def _frequencies(first: Floats, second: Floats, name: Names) -> Score:
    """Log-likelihood ratio of each observed name; 0 for others."""
    seen, numbers = np.unique(np.concatenate([name(first), name(second)]), return_inverse=True)
    ours, theirs = (np.bincount(part, minlength=len(seen)) for part in np.split(numbers.ravel(), [len(first)]))
    ratio = np.log((ours + 0.5) / (theirs + 0.5))
    return lambda rows: look_up(name(rows), seen, ratio, missing=0.0)


def look_up(
    wanted: NDArray[np.uint64], known: NDArray[np.uint64], values: NDArray[Any], *, missing: Any
) -> NDArray[Any]:
    """The value for each wanted name in `known`, which is sorted."""
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, values[place], missing)


def _projection(weights: Floats) -> Score:
    return lambda rows: np.asarray(rows @ weights)


def _discriminant(first: Floats, second: Floats) -> Floats:
    spread = np.cov(first, rowvar=False) + np.cov(second, rowvar=False)
    spread = np.atleast_2d(spread)
    spread += _RIDGE * (np.trace(spread) / len(spread) + _RIDGE) * np.eye(len(spread))
    return np.asarray(np.linalg.solve(spread, first.mean(axis=0) - second.mean(axis=0)))


def _trees(first: Floats, second: Floats) -> Score:
    model = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.15, min_samples_leaf=50, random_state=0)
    model.fit(np.concatenate([first, second]), np.repeat([1, 0], [len(first), len(second)]))
    return lambda rows: np.asarray(model.decision_function(rows))


_BATCH = 8_192
_MOST_VARIANTS = 1 << 17


def releases(bundle: Pipeline, pool: Floats, count: int) -> Iterator[Floats]:
    """Released windows (run, value), in parts, of private ones drawn from a pool (window, value); one is repeated.

    Each window counts as one run, which is right if windows are released independently of each other.
    """
    rng = np.random.default_rng()
    sizes = (min(_BATCH, count - start) for start in range(0, count, _BATCH))
    return released_batches(bundle, (pool[rng.integers(len(pool), size=size)] for size in sizes))


def released_batches(bundle: Pipeline, batches: Iterable[Floats], *, hold: int = 1) -> Iterator[Floats]:
    """Releases batches of scaled windows (window, value), in episodes of `hold` windows, one after the other."""
    private = (in_units(bundle.schema, batch, hold=hold) for batch in batches)
    ledger = MemoryLedger(Price.of(bundle.mechanism))
    for released in stream(private, bundle, ledger=ledger, entropy=SystemEntropy()):
        yield released.samples.reshape(len(released), bundle.schema.dim)


def in_units(schema: Schema, scaled: Floats, *, hold: int = 1) -> Windows:
    """Converts scaled windows (window, value) to units, in episodes of `hold` windows."""
    samples = schema.low + scaled.reshape(-1, schema.window, len(schema.channels)) * (schema.high - schema.low)
    places = np.arange(len(samples))
    return Windows(samples, Frame(np.full(len(samples), schema.window), places * schema.window, places // hold))


@dataclass(frozen=True)
class KnownOutputs:
    """Which of `count` public outputs a released window shows; the decoder is public, so attackers know it."""

    count: int
    known: NDArray[np.uint64]  # names of the windows that can be released, sorted
    output: NDArray[np.uint64]

    def __call__(self, rows: Floats) -> NDArray[np.uint64]:
        """Numbers (run,) of released windows (run, value); `count` for a window that no output gives."""
        return look_up(names(rows), self.known, self.output, missing=np.uint64(self.count))


def outputs_of(bundle: Pipeline) -> KnownOutputs | None:
    """The known outputs; None if a release is not one of a few windows."""
    mechanism, schema = bundle.mechanism, bundle.schema
    count = mechanism.public_outputs
    if count is None or count > _MOST_VARIANTS:
        return None
    index = np.arange(count, dtype=np.float64)[:, None]
    output = mechanism.output_of(index)
    if output is None:
        return None
    windows = windows_of(bundle, index).reshape(count, schema.dim)
    known, where = np.unique(names(windows), return_index=True)
    return KnownOutputs(int(output.max()) + 1, known, output[where].astype(np.uint64))
