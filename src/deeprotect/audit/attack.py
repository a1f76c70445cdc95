"""One attack on one promise: learn to tell two private inputs apart, choose an event, count it in fresh runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from deeprotect.audit.batches import Batch, observed
from deeprotect.audit.bound import CONFIDENCE
from deeprotect.audit.distinguisher import Names, choose, fit
from deeprotect.audit.finding import Finding
from deeprotect.audit.pairs import Pair
from deeprotect.audit.trials import KnownOutputs, releases
from deeprotect.privacy.events import Guarantee
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats

_MOST_LEARNT = 50_000  # runs of each side that fit the scores, and as many that choose the event
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Observer:
    """`see`: a pool of private windows and a number of runs to what the observer sees of them, (run, value) in parts.

    `outputs` says which public output a window is a variant of, where windows are seen and there are such.
    """

    watches: str
    see: Callable[[Floats, int], Iterator[Floats]]
    outputs: Names | None = None

    def at_once(self, pool: Floats, count: int) -> Floats:
        return np.concatenate(list(self.see(pool, count)))


def of_windows(bundle: Pipeline, outputs: KnownOutputs | None) -> Observer:
    return Observer("one window is seen", partial(releases, bundle), outputs)


def of_batches(bundle: Pipeline, batch: Batch, outputs: KnownOutputs | None) -> Observer:
    return Observer(batch.found, partial(observed, bundle, batch=batch, outputs=outputs))


def attack(
    observer: Observer,
    pair: Pair,
    *,
    guarantee: Guarantee,
    claim: float,
    runs: int,
    confidence: float = CONFIDENCE,
    progress: Progress = lambda _: None,
) -> Finding:
    """Runs that fit the scores and choose the event, at most half of all, have no part in the bound: it is valid."""
    learnt, sides, scored = min(runs // 4, _MOST_LEARNT), (pair.first, pair.second), []
    scores = fit(*(observer.at_once(side, learnt) for side in sides), outputs=observer.outputs)
    progress(0.3)
    rule = choose(scores, *(observer.at_once(side, learnt) for side in sides))
    progress(0.5)
    for side in sides:
        scored.append(np.concatenate([rule.score(part) for part in observer.see(side, runs - 2 * learnt)]))
        progress(0.5 + 0.25 * len(scored))
    tally = rule.tally(*scored, confidence=confidence)
    return Finding(guarantee, claim, observer.watches, tally, runs, pair, rule, (scored[0], scored[1]))
