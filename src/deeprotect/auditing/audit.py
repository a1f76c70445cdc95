"""The audit: attacks the release path as it runs, and reports a lower bound on the privacy loss."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from deeprotect.auditing.batches import Batch, OneDiffers, batches, episodes, most_telling, observed, scripts_apart
from deeprotect.auditing.distinguisher import (
    CONFIDENCE,
    KnownOutputs,
    Names,
    Rule,
    Tally,
    choose,
    confidence_of_each,
    fit,
    outputs_of,
    releases,
)
from deeprotect.auditing.isolation import Isolation, isolation
from deeprotect.auditing.pairs import Pair, candidates, farthest
from deeprotect.errors import InputError
from deeprotect.privacy.events import Guarantee
from deeprotect.release.engine import Pipeline
from deeprotect.signals.schema import Floats


@dataclass(frozen=True)
class Finding:
    """One attack on one promise: the claimed ε, and the lower bound shown with the tally's confidence."""

    guarantee: Guarantee
    claim: float
    observed: str
    tally: Tally
    runs: int
    pair: Pair = field(repr=False)
    rule: Rule = field(repr=False)
    scores: tuple[Floats, Floats] = field(repr=False)

    @property
    def epsilon(self) -> float:
        return self.tally.epsilon

    @property
    def holds(self) -> bool:
        return self.epsilon <= self.most

    @property
    def most(self) -> float:
        """The most that a sound protector shows: the claim, or less if the mechanism allows less for these inputs."""
        return self.claim if self.pair.allowed is None else min(self.claim, self.pair.allowed)

    @property
    def verdict(self) -> str:
        if self.holds:
            return "no attack above the claim"
        above = "THE CLAIM" if self.epsilon > self.claim else "WHAT THESE INPUTS ALLOW"
        return f"ABOVE {above}, which a sound protector comes to by chance in at most {1 - CONFIDENCE:.0%} of audits"

    def to_json(self) -> dict[str, Any]:
        return {
            "guarantee": self.guarantee,
            "claim": self.claim,
            "observed": self.observed,
            "lower_bound": self.epsilon,
            "confidence": self.tally.confidence,
            "runs_per_side": self.runs,
            "event": {"first": self.tally.first, "second": self.tally.second, "of": self.tally.runs},
            "inputs": self.pair.found,
            "allowed_by_inputs": self.pair.allowed,
            "distinguisher": self.rule.kind,
            "holds": self.holds,
        }

    def __str__(self) -> str:
        allowed = "" if self.pair.allowed is None else f", which allow ε = {self.pair.allowed:.4g}"
        tally = f"{self.tally.first} and {self.tally.second} times in {self.tally.runs} runs not learnt from"
        lines = (
            f"{self.guarantee}: claimed ε = {self.claim:g}, shown ε ≥ {self.epsilon:.3f} "
            f"with {100 * self.tally.confidence:.4g}% confidence: {self.verdict}",
            f"  {self.runs} runs of each input: {self.pair.found}{allowed}; {self.observed}",
            f"  {self.rule.kind}: the event came {tally}",
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Audit:
    """All attacks on a bundle's promises, and whether one window can affect another.

    The bounds of all findings hold together with CONFIDENCE, so a sound protector fails in at most 1 - CONFIDENCE of
    audits, however many values each bound is compared with.
    """

    findings: tuple[Finding, ...]
    isolation: Isolation

    @property
    def holds(self) -> bool:
        return self.isolation.holds and all(finding.holds for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": 2,
            "holds": self.holds,
            "confidence": CONFIDENCE,
            "findings": [finding.to_json() for finding in self.findings],
            "isolation": self.isolation.to_json(),
        }

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.findings, self.isolation)))


_MOST_LEARNT = 50_000  # runs per side that fit the scores; as many again choose the event
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Observer:
    """`see` maps a pool of private windows and a number of runs to what the observer sees, (run, value), in parts.

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
    """Attack one promise. Runs that fit the scores and choose the event, at most half, are not counted in the bound."""
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


RUNS = 100_000
FEWEST_RUNS, MOST_RUNS = 1_000, 1_000_000
_BATCHES = 0.025  # share of the runs that are repeated with whole batches, each a separate release
_FEWEST_BATCHES = 400
_OBSERVERS = 2  # one sees single windows, one sees batches


def audit(
    bundle: Pipeline, *, runs: int = RUNS, windows: Floats | None = None, progress: Progress = lambda _: None
) -> Audit:
    """Attack every promise: the stated one, and the ε-LDP that the certificate derives with it.

    `windows` are scaled (window, value), and tried as inputs, too.
    """
    if not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise InputError(f"runs = {runs} must be between {FEWEST_RUNS} and {MOST_RUNS}")
    with threadpool_limits(1):  # products and trees are small: waiting for a second thread costs 10× on busy cores
        tried = candidates(bundle, given=windows)
        apart = isolation(bundle, tried)
        progress(0.1)
        return Audit(tuple(_findings(bundle, _claims(bundle), tried, runs=runs, progress=progress)), apart)


def _claims(bundle: Pipeline) -> dict[Guarantee, float]:
    event, beside = bundle.mechanism.event, bundle.mechanism.certificate()["ldp_epsilon"]
    claims: dict[Guarantee, float] = {} if beside is None else {"ldp": beside}
    claims[event.guarantee] = event.epsilon
    return claims


def _findings(
    bundle: Pipeline, claims: dict[Guarantee, float], tried: Floats, *, runs: int, progress: Progress
) -> Iterator[Finding]:
    """For each claim, one attack on windows and one on batches; confidence is split evenly over all attacks."""
    outputs, attacks = outputs_of(bundle), _OBSERVERS * len(claims)
    for number, (guarantee, claim) in enumerate(claims.items()):
        press = partial(attack, guarantee=guarantee, claim=claim, confidence=confidence_of_each(attacks))
        pair = farthest(bundle, tried, runs=runs // 2)
        shown = partial(_part, progress, _OBSERVERS * number, attacks)
        yield press(of_windows(bundle, outputs), pair, runs=runs, progress=shown)
        batch = most_telling(bundle, pair, _batches(bundle, pair, tried), outputs=outputs)
        shown = partial(_part, progress, _OBSERVERS * number + 1, attacks)
        few = max(_FEWEST_BATCHES, int(_BATCHES * runs))
        # What is allowed between two windows does not apply to two episodes.
        told = pair if isinstance(batch, OneDiffers) else replace(pair, allowed=None)
        yield press(of_batches(bundle, batch, outputs), told, runs=few, progress=shown)


def _batches(bundle: Pipeline, pair: Pair, tried: Floats) -> Iterator[Batch]:
    if bundle.mechanism.scripts is None:  # one window of a script reveals no more than by itself
        yield from batches(pair, tried)
    else:
        yield from scripts_apart(pair, bundle.mechanism.scripts)
    if bundle.hold.windows > 1:
        yield from episodes(tried, bundle.hold.windows)


def _part(progress: Progress, number: int, count: int, share: float) -> None:
    progress(0.1 + 0.9 * (number + share) / count)
