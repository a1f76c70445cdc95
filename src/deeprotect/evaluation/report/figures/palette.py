"""Which colour and marker a line has, the same in every drawing."""

from collections.abc import Sequence
from typing import NamedTuple

from deeprotect.evaluation.report.figures.drawing import GREY, INK

MAIN = ("baseline", "paper ldp", "paper rldp", "laplace", "subspace", "channel ldp", "channel named")
"""The mechanisms that curves show; more lines than these cannot be told apart."""

# Okabe and Ito (2008): told apart by colour-blind readers, on light and on dark ground.
COLOURS = {
    "raw": GREY,
    "baseline": "#d55e00",
    "paper ldp": "#cc79a7",
    "paper rldp": "#e69f00",
    "laplace": "#0072b2",
    "subspace": "#009e73",
    "channel ldp": "#56b4e9",
    "channel named": "#8a63d2",
    # Classical features in the colour of the noise they get, told apart by marker; peers in muted tones.
    **dict.fromkeys((f"laplace {name}" for name in ("pca", "dft", "dct", "haar", "bcs")), "#5b8db8"),
    "opendp": "#a0522d",
    "downsampling": "#7f8c3b",
    "leace": "#b0486b",
    "adversarial": "#3f8f8a",
    "features": GREY,
    # Kinds of features, without noise.
    "default": "#0072b2",
    "paper": "#cc79a7",
    "pca": "#009e73",
    "dft": "#d55e00",
    "dct": "#e69f00",
    "haar": "#8a63d2",
    "bcs": "#56b4e9",
}
MARKERS = {
    "raw": ".",
    "baseline": "s",
    "paper ldp": "^",
    "paper rldp": "v",
    "laplace": "o",
    "subspace": "D",
    "channel ldp": "P",
    "channel named": "X",
    "laplace pca": "1",
    "laplace dft": "2",
    "laplace dct": "3",
    "laplace haar": "4",
    "laplace bcs": "+",
    "opendp": "|",
    "downsampling": "<",
    "leace": ">",
    "adversarial": "h",
    "features": "*",
    "default": "o",
    "paper": "^",
    "pca": "D",
    "dft": "s",
    "dct": "v",
    "haar": "X",
    "bcs": "P",
}
_CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8a63d2", "#56b4e9", INK)
_SHAPES = "osD^vPX*"


class Look(NamedTuple):
    colour: str
    marker: str


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Known names keep their look; others take what no known name of this drawing has."""
    taken = {COLOURS[name] for name in names if name in COLOURS}
    free = [Look(*look) for look in zip(_CYCLE, _SHAPES, strict=True) if look[0] not in taken]
    free = free or [Look(INK, "o")]
    unknown = [name for name in names if name not in COLOURS]
    found = {name: free[place % len(free)] for place, name in enumerate(unknown)}
    return found | {name: Look(COLOURS[name], MARKERS[name]) for name in names if name in COLOURS}
