"""A curve as points of a drawing: useful accuracy against ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deeprotect.gateway.offers.consequences import Accuracy

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460, 220, 46, 38, 14, 14


@dataclass(frozen=True)
class Curve:
    """In the units of the drawing; `accuracies` are (ε, share) for the page to look up what it moves to."""

    points: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    accuracies: tuple[tuple[float, float], ...]
    marker: tuple[float, float]
    now: float
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    bottom: int = HEIGHT - BOTTOM
    right: int = WIDTH - RIGHT
    top: int = TOP

    @classmethod
    def of(cls, found: Sequence[Accuracy], epsilon: float) -> Self | None:
        """None where nothing is known of accuracy."""
        if not found:
            return None
        most = found[-1].epsilon
        pairs = tuple((each.epsilon, each.expected) for each in found)
        now = float(np.interp(epsilon, *np.array(pairs).T))
        step = next(step for step in (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50, 1000) if most / step <= 8)
        return cls(
            " ".join(f"{_x(e, most):.1f},{_y(a):.1f}" for e, a in pairs),
            tuple((_x(e, most), f"{e:g}") for e in np.arange(0, most + step / 100, step).round(3).tolist()),
            tuple((_y(share), f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
            pairs,
            (_x(epsilon, most), _y(now)),
            now,
        )


def _x(epsilon: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * epsilon / most


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share
