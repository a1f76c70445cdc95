"""Which mechanism a policy gets when it leaves the choice: the one with the best released utility to be expected."""

from collections.abc import Mapping

import numpy as np

from deeprotect.policy import Policy
from deeprotect.training.assembly import PROTECTIONS
from deeprotect.training.measure import measure
from deeprotect.training.parts import Parts
from deeprotect.training.protection import Protection
from deeprotect.training.splits import contiguous
from deeprotect.training.windows import LabelledWindows

CANDIDATES = {
    "ldp": ("channel", "laplace"),
    "named": ("channel", "laplace"),
    "rldp": ("channel", "subspace", "laplace"),
}
"""An ε-LDP release keeps the weaker promises, too."""
HELD_OUT = 0.2


def expectations(windows: LabelledWindows, policy: Policy, parts: Parts) -> Mapping[str, float]:
    """For each mechanism that keeps the policy's promise, how often an unchanged app would read the useful classes."""
    return {
        name: _expected(name, windows, policy.vary(privacy={"mechanism": name}), parts)
        for name in CANDIDATES[policy.privacy.guarantee]
    }


def _expected(name: str, windows: LabelledWindows, policy: Policy, parts: Parts) -> float:
    """The channel's book is cross-fitted over all windows; the others are fitted on a part and measured on the rest."""
    if name == "channel":
        return float(PROTECTIONS[name](windows, policy, parts).made_of["expected_accuracy"])
    fit, rest = contiguous(windows, held_out=HELD_OUT, seed=policy.training.seed)
    if "validation" not in parts:
        parts["validation"] = {}
    protection: Protection = PROTECTIONS[name](windows[fit], policy, parts["validation"])
    useful = measure(protection, windows[fit], windows[rest], policy)["useful"]
    return float(np.mean([numbers["app"] for numbers in useful.values()]))
