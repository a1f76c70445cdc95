"""What an ε is worth, in one plain and honest sentence."""

from collections.abc import Sequence

NAMES = {
    "baseline": "noise on every sample",
    "paper": "the paper's noise on features",
    "laplace": "certified noise on features",
    "subspace": "noise along sensitive directions",
    "channel": "random channel between codes",
}


def promise(guarantee: str, epsilon: float, *, sensitive: Sequence[str] = ()) -> str:
    """For a row of results; `sensitive` are the inferences the guarantee names."""
    hidden = " and ".join(sensitive) or "the sensitive inferences"
    if guarantee == "ldp":
        return (
            f"No observer, however clever, can tell any two windows apart by more than a factor e^{epsilon:g}; "
            f"{epsilon:g} is per window, and T windows of one person add up to T times as much."
        )
    if guarantee == "named":
        return (
            f"No observer of one window can tell classes of {hidden} apart by more than a factor e^{epsilon:g}, "
            "with the stated confidence; other inferences and several windows together are not bound."
        )
    return (
        f"Hides only the straight-line directions that a linear classifier of {hidden} uses; an attacker who "
        "learns otherwise is not bound, so read the measured attacker and not the ε."
    )
