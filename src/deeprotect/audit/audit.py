"""The audit: attack the release path as it runs, and say how much privacy loss the attack has shown at least."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from deeprotect.audit.bound import CONFIDENCE, Tally
from deeprotect.audit.classes import worst_classes
from deeprotect.audit.distinguisher import Rule, choose, fit
from deeprotect.audit.pairs import Pair, farthest, neighbours
from deeprotect.audit.trials import outputs_of, released, releases
from deeprotect.errors import InputError
from deeprotect.privacy.events import Guarantee
from deeprotect.release.pipe import Protects
from deeprotect.signals.schema import Floats
from deeprotect.training.dataset import LabelledWindows
from deeprotect.training.threads import single_thread

RUNS = 100_000
FEWEST_RUNS, MOST_RUNS = 1_000, 1_000_000
_MOST_LEARNT = 50_000  # runs of each side that fit the scores, and as many that choose the event
_PILOT = 0.1  # share of the runs that finds the pair of classes worth attacking
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Finding:
    """One promise attacked: what is claimed, and what at least is true with confidence CONFIDENCE."""

    guarantee: Guarantee
    claim: float
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
        return self.epsilon <= self.claim

    @property
    def verdict(self) -> str:
        if self.holds:
            return "no attack above the claim"
        doubt = f"{1 - CONFIDENCE:.0%}"
        return f"ABOVE THE CLAIM, which a sound protector comes to by chance in at most {doubt} of audits"

    def to_json(self) -> dict[str, Any]:
        return {
            "guarantee": self.guarantee,
            "claim": self.claim,
            "lower_bound": self.epsilon,
            "confidence": CONFIDENCE,
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
            f"with {CONFIDENCE:.0%} confidence: {self.verdict}",
            f"  {self.runs} runs of each input: {self.pair.found}{allowed}",
            f"  {self.rule.kind}: the event came {tally}",
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Audit:
    """All promises of a bundle that could be attacked, and what could not."""

    findings: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return all(finding.holds for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        findings = [finding.to_json() for finding in self.findings]
        return {"schema": 1, "holds": self.holds, "findings": findings, "left_out": list(self.left_out)}


def audit(
    bundle: Protects,
    *,
    runs: int = RUNS,
    windows: LabelledWindows | None = None,
    progress: Progress = lambda _: None,
) -> Audit:
    """Attack every promise: the stated one, and the ε-LDP that the certificate derives beside it.

    `windows` are labelled; a named promise needs them, an LDP promise takes them as candidates.
    """
    if not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise InputError(f"runs = {runs} must be between {FEWEST_RUNS} and {MOST_RUNS}")
    claims, left_out = _claims(bundle), []
    if "named" in claims and windows is None:
        left_out.append(f"{bundle.mechanism.event}: give a labelled table (--data) to attack this promise")
        del claims["named"]
    if not claims:
        raise InputError(f"{left_out[0]}; the bundle makes no other")
    findings = []
    with single_thread():
        for number, (guarantee, claim) in enumerate(claims.items()):
            shown = partial(_part, progress, number, len(claims))
            pair = _pair(bundle, guarantee, runs=runs, windows=windows)
            shown(0.1)
            findings.append(attack(bundle, pair, guarantee=guarantee, claim=claim, runs=runs, progress=shown))
    return Audit(tuple(findings), tuple(left_out))


def attack(
    bundle: Protects,
    pair: Pair,
    *,
    guarantee: Guarantee,
    claim: float,
    runs: int,
    progress: Progress = lambda _: None,
) -> Finding:
    """Runs that fit the scores and choose the event, at most half of all, have no part in the bound: it is valid."""
    learnt, sides = min(runs // 4, _MOST_LEARNT), (pair.first, pair.second)
    scores = fit(*(released(bundle, side, learnt) for side in sides), outputs=outputs_of(bundle))
    progress(0.3)
    rule = choose(scores, *(released(bundle, side, learnt) for side in sides))
    progress(0.5)
    scored = []
    for side in sides:
        scored.append(np.concatenate([rule.score(part) for part in releases(bundle, side, runs - 2 * learnt)]))
        progress(0.5 + 0.25 * len(scored))
    return Finding(guarantee, claim, rule.tally(*scored), runs, pair, rule, (scored[0], scored[1]))


def _claims(bundle: Protects) -> dict[Guarantee, float]:
    event, beside = bundle.mechanism.event, bundle.mechanism.certificate()["ldp_epsilon"]
    claims: dict[Guarantee, float] = {} if beside is None else {"ldp": beside}
    claims[event.guarantee] = event.epsilon
    return claims


def _pair(bundle: Protects, guarantee: Guarantee, *, runs: int, windows: LabelledWindows | None) -> Pair:
    if guarantee == "rldp":
        return neighbours(bundle)
    if guarantee == "named" and windows is not None:
        pilot = max(FEWEST_RUNS, int(_PILOT * runs))
        return worst_classes(bundle, windows, bundle.mechanism.event.inferences, runs=pilot)
    return farthest(bundle, runs=runs // 2, given=None if windows is None else windows.flat)


def _part(progress: Progress, number: int, count: int, share: float) -> None:
    progress((number + share) / count)
