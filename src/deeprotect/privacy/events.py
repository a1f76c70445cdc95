"""What one release promises: stored as an event, so that totals are always computed and never written down."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from deeprotect.errors import PolicyError

Guarantee = Literal["ldp", "rldp", "named"]


@dataclass(frozen=True)
class Event:
    """One release of one window under a guarantee.

    ldp: any two windows. rldp: windows that differ along the named inferences' linear directions only.
    named: the classes of the named inferences, for one window, with the stated confidence.
    """

    guarantee: Guarantee
    epsilon: float
    per: str = "window"
    inferences: tuple[str, ...] = ()
    delta: float = 0.0
    confidence: float = 1.0

    def __post_init__(self) -> None:
        if self.guarantee not in get_args(Guarantee):
            raise PolicyError(f"guarantee '{self.guarantee}' is unknown; use one of: ldp, rldp, named")
        if self.per != "window":
            raise PolicyError(f"an epsilon per '{self.per}' is unknown; events are per window")
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise PolicyError(f"epsilon = {self.epsilon} must be a positive finite number")
        if not (0 <= self.delta < 1 and 0 < self.confidence <= 1):
            raise PolicyError("delta must be in [0, 1) and confidence in (0, 1]")

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"inferences": list(self.inferences)}

    def __str__(self) -> str:
        against = f" for {', '.join(self.inferences)}" if self.inferences else ""
        return f"ε = {self.epsilon:g} {self.guarantee} per {self.per}{against}"
