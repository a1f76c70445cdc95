"""Which colour and marker a line has, the same in every drawing."""

from collections.abc import Sequence

from deeprotect.evaluation.methods import BY_LINE, Look
from deeprotect.evaluation.report.figures.drawing import GREY, INK

LOOKS = {
    **{line: description.look for line, description in BY_LINE.items()},
    "raw": Look(GREY, "."),
    # Kinds of features, without noise.
    "default": Look("#0072b2", "o"),
    "paper": Look("#cc79a7", "^"),
    "pca": Look("#009e73", "D"),
    "dft": Look("#d55e00", "s"),
    "dct": Look("#e69f00", "v"),
    "haar": Look("#8a63d2", "X"),
    "bcs": Look("#56b4e9", "P"),
}
_CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#8a63d2", "#56b4e9", INK)
_SHAPES = "osD^vPX*"


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Known names keep their look; others take what no known name of this drawing has."""
    taken = {LOOKS[name].colour for name in names if name in LOOKS}
    free = [Look(*look) for look in zip(_CYCLE, _SHAPES, strict=True) if look[0] not in taken]
    free = free or [Look(INK, "o")]
    unknown = [name for name in names if name not in LOOKS]
    found = {name: free[place % len(free)] for place, name in enumerate(unknown)}
    return found | {name: LOOKS[name] for name in names if name in LOOKS}
