"""The app's sensors that stand for some channels, spelt as one line, so that a release needs nothing else to go out."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

Kind = Literal["plain", "total"]


@dataclass(frozen=True)
class WireSensor:
    """Names under which the same readings are sent, each with the factor from policy units to its own.

    `total`: channels are acceleration with gravity, of which `accelerometer` and `gravity` are parts.
    """

    factors: tuple[tuple[str, float], ...]
    keys: tuple[str, ...]  # of the app's `values`, one for each channel
    kind: Kind = "plain"

    def __str__(self) -> str:
        return _line(self)

    def spell(self) -> str:
        return json.dumps([self.kind, dict(self.factors), list(self.keys)], separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        kind, factors, keys = json.loads(text)
        return cls(tuple(factors.items()), tuple(keys), kind)


@lru_cache(maxsize=4096)
def _line(sensor: WireSensor) -> str:
    return sensor.spell()


@lru_cache(maxsize=4096)
def spelt(text: str) -> WireSensor:
    """What a line says; lines repeat with every window."""
    return WireSensor.parse(text)
