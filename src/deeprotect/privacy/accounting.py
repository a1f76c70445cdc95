"""Composition: the ε of one draw and of the whole stream, always both."""

from dataclasses import dataclass
from typing import Self

from deeprotect.errors import BudgetError
from deeprotect.privacy.events import Event, Guarantee, shown


@dataclass(frozen=True)
class Spending:
    """A total under one guarantee; `per_draw` is the parallel theorem's, `per_stream` the sequential one's."""

    draws: int
    per_draw: float
    per_stream: float
    guarantee: Guarantee
    delta: float = 0.0
    per: str = "window"

    @classmethod
    def of(cls, event: Event, draws: int) -> Self:
        """`draws` draws under one event, each from windows that no other draw looks at.

        Disjoint parts cost the largest ε, related ones the sum: docs/claims.md#parallel-composition and
        docs/claims.md#sequential-composition
        """
        if type(event) is not Event:
            raise BudgetError(f"cannot account for {type(event).__name__}; charge an Event")
        if type(draws) is not int or draws < 0:
            raise BudgetError("the number of draws must be a whole number, 0 or more")
        return cls(
            draws=draws,
            per_draw=event.epsilon if draws else 0.0,
            per_stream=event.epsilon * draws,
            guarantee=event.guarantee,
            delta=min(1.0, event.delta * draws),
            per=event.per,
        )

    def __str__(self) -> str:
        return (
            f"{self.guarantee}: ε = {shown(self.per_draw)} per {self.per}, "
            f"ε = {shown(self.per_stream)} for the whole stream ({self.draws} {self.per}s)"
        )
