"""The app's sensors that stand for some channels, spelt as one line, so that a release needs nothing else to go out."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

Kind = Literal["plain", "total"]
Style = Literal["apple", "android"]
"""How the app writes a reading: name, time, values; or name, values, accuracy, time."""


@dataclass(frozen=True)
class WireSensor:
    """Names under which the same readings are sent, each with the factor from policy units to its own.

    `total`: channels are acceleration with gravity, of which `accelerometer` and `gravity` are parts.
    """

    factors: tuple[tuple[str, float], ...]
    keys: tuple[str, ...]  # of the app's `values`, one for each channel
    kind: Kind = "plain"
    style: Style = "apple"

    def __str__(self) -> str:
        return _line(self)

    def spell(self) -> str:
        return json.dumps([self.kind, self.style, dict(self.factors), list(self.keys)], separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Self:
        kind, style, factors, keys = json.loads(text)
        return cls(tuple(factors.items()), tuple(keys), kind, style)


@lru_cache(maxsize=4096)
def _line(sensor: WireSensor) -> str:
    return sensor.spell()


@lru_cache(maxsize=4096)
def spelt(text: str) -> WireSensor:
    """What a line says; lines repeat with every window."""
    return WireSensor.parse(text)
