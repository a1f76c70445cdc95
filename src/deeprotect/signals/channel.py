"""One sensor channel: its unit and its public range."""

import math
from dataclasses import dataclass

from deeprotect.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel; `low` and `high` are public facts (hardware or policy), never read from protected data."""

    name: str
    unit: str
    low: float
    high: float
    resolution: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise PolicyError(
                f"channel '{self.name}': range [{self.low}, {self.high}] must be two finite numbers, low < high"
            )
        if self.resolution is not None and not 0 < self.resolution <= self.high - self.low:
            raise PolicyError(f"channel '{self.name}': resolution must be positive and smaller than the range")
