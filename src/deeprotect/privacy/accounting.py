"""Adding up events: what one draw and what the whole stream have spent, always both."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from deeprotect.errors import BudgetError
from deeprotect.privacy.events import Event, Guarantee

Charge = tuple[Event, int]


@dataclass(frozen=True)
class Spending:
    """A total under one guarantee; `per_draw` is the parallel theorem's, `per_stream` the sequential one's."""

    draws: int
    per_draw: float
    per_stream: float
    guarantee: Guarantee
    delta: float = 0.0
    confidence: float = 1.0
    per: str = "window"

    def __str__(self) -> str:
        stream = "no bound" if math.isinf(self.per_stream) else f"ε = {self.per_stream:g}"
        return (
            f"{self.guarantee}: ε = {self.per_draw:g} per {self.per}, "
            f"{stream} for the whole stream ({self.draws} {self.per}s)"
        )


def totals(charges: Iterable[Charge]) -> Spending:
    """Every charge releases what no other charge releases: the largest for a draw, the sum for the stream."""
    charges = _checked(charges)
    doubts = {(event.inferences, event.given, event.confidence) for event, _ in charges}
    return Spending(
        draws=sum(count for _, count in charges),
        per_draw=parallel(charges),
        per_stream=sequential(charges),
        guarantee=_weakest(charges),
        delta=min(1.0, math.fsum(event.delta * count for event, count in charges)),
        # A named promise may fail with its calibration data, once for all windows: union bound over promises.
        confidence=max(0.0, 1.0 - math.fsum(1.0 - confidence for *_, confidence in doubts)),
        per="episode" if any(event.per == "episode" for event, _ in charges) else "window",
    )


def sequential(charges: Iterable[Charge]) -> float:
    """Sequential theorem: releases of related data cost the sum. docs/claims.md#sequential-composition"""
    charges = _checked(charges)
    if not _composes(charges):
        return math.inf
    return math.fsum(event.epsilon * count for event, count in charges)


def parallel(charges: Iterable[Charge]) -> float:
    """Parallel theorem: windows that share nothing cost the largest. docs/claims.md#parallel-composition"""
    return max((event.epsilon for event, count in _checked(charges) if count), default=0.0)


def _checked(charges: Iterable[Charge]) -> list[Charge]:
    charges = list(charges)
    for event, count in charges:
        if type(event) is not Event:
            raise BudgetError(f"cannot account for {type(event).__name__}; charge an Event")
        if type(count) is not int or count < 0:
            raise BudgetError("a charge needs a number of draws that is a whole number from 0 up")
    _weakest(charges)
    return charges


def _composes(charges: list[Charge]) -> bool:
    """A named promise is about one draw: two draws, each silent about a secret, may tell it together."""
    if _weakest(charges) != "named":
        return True
    return sum(count for _, count in charges) <= 1


def _weakest(charges: list[Charge]) -> Guarantee:
    """ldp implies rldp and named; rldp and named imply nothing for each other, nor for other inferences."""
    weaker = {
        (event.guarantee, frozenset(event.inferences), frozenset(event.given))
        for event, _ in charges
        if event.guarantee != "ldp"
    }
    if len(weaker) > 1:
        raise BudgetError(
            "these releases promise different things "
            f"({', '.join(sorted({guarantee for guarantee, *_ in weaker}))} for different inferences); "
            "account for each kind apart"
        )
    return next(iter(weaker))[0] if weaker else "ldp"
