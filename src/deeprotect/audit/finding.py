"""What an audit has found: for each attack a lower bound on ε, and whether windows keep to themselves."""

from dataclasses import dataclass, field
from typing import Any

from deeprotect.audit.bound import CONFIDENCE, Tally
from deeprotect.audit.distinguisher import Rule
from deeprotect.audit.isolation import Isolation
from deeprotect.audit.pairs import Pair
from deeprotect.privacy.events import Guarantee
from deeprotect.signals.schema import Floats


@dataclass(frozen=True)
class Finding:
    """One attack on one promise: what is claimed, and what at least is true with the tally's confidence."""

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
    """All attacks on a bundle's promises, what could not be attacked, and whether a window can touch another.

    The bounds of all findings hold together with CONFIDENCE.
    """

    findings: tuple[Finding, ...]
    isolation: Isolation
    left_out: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.isolation.holds and all(finding.holds for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "holds": self.holds,
            "confidence": CONFIDENCE,
            "findings": [finding.to_json() for finding in self.findings],
            "isolation": self.isolation.to_json(),
            "left_out": list(self.left_out),
        }

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.findings, self.isolation)))
