"""What an ε is worth, in plain and honest words."""

import math
from collections.abc import Sequence

NAMES = {
    "baseline": "noise on every sample",
    "paper": "the paper's noise on its features",
    "laplace": "certified noise on few features",
    "subspace": "noise along sensitive directions only",
    "channel": "a random channel between few codes",
}

PLAIN = {
    "ldp": "any two windows",
    "rldp": "linear directions only",
    "named": "named inferences",
}


def promise(guarantee: str, epsilon: float | None = None, *, sensitive: Sequence[str] = ()) -> str:
    """One sentence, for one ε or for any; `sensitive` are the inferences the guarantee names."""
    hidden = " and ".join(sensitive) or "the sensitive inferences"
    factor = "e^ε" if epsilon is None else _factor(epsilon)
    if guarantee == "ldp":
        return (
            f"No observer, however clever, can tell any two windows apart by more than a factor {factor}; "
            "this is per window, and T windows of one person cost T times that ε."
        )
    if guarantee == "named":
        return (
            f"No observer of one window can tell classes of {hidden} apart by more than a factor {factor}, "
            "with the stated confidence; other inferences and several windows together are not bound."
        )
    return (
        f"Hides only the straight-line directions that a linear classifier of {hidden} uses; a nonlinear attacker "
        "is not bound, so read the measured attacker and not the ε."
    )


def _factor(epsilon: float) -> str:
    """With its value while a reader can make something of it."""
    return f"e^{epsilon:g} ≈ {math.exp(epsilon):,.3g}" if epsilon < 7 else f"e^{epsilon:g}"
