"""Which mechanism a policy gets when it leaves the choice: the one with the best released utility to be expected."""

from collections.abc import Mapping

import numpy as np

from deeprotect.policy import Policy
from deeprotect.training.builders import PROTECTIONS
from deeprotect.training.dataset import LabelledWindows
from deeprotect.training.fitted import Parts
from deeprotect.training.measure import measure
from deeprotect.training.splits import contiguous
from deeprotect.training.trained import Protection

CANDIDATES = {
    "ldp": ("channel", "laplace"),
    "named": ("channel", "laplace"),
    "rldp": ("channel", "subspace", "laplace"),
}
"""An ε-LDP release keeps the weaker promises, too."""
HELD_OUT = 0.2


def choose(windows: LabelledWindows, policy: Policy, parts: Parts) -> tuple[str, dict[str, Mapping[str, float]]]:
    """The best mechanism, and what was expected of each: accuracy, or what the policy's costs make of misreadings."""
    expected = _expectations(windows, policy, parts)
    if policy.training.cost_matrix:
        return min(expected, key=expected.__getitem__), {"chosen_for_expected_cost": expected}
    return max(expected, key=expected.__getitem__), {"chosen_for_expected_accuracy": expected}


def _expectations(windows: LabelledWindows, policy: Policy, parts: Parts) -> Mapping[str, float]:
    """For each mechanism that keeps the policy's promise, how an unchanged app would read the useful classes."""
    return {
        name: _expected(name, windows, policy.vary(privacy={"mechanism": name}), parts)
        for name in CANDIDATES[policy.privacy.guarantee]
    }


def _expected(name: str, windows: LabelledWindows, policy: Policy, parts: Parts) -> float:
    """The channel's book is cross-fitted over all windows; the others are fitted on a part and measured on the rest."""
    if name == "channel":
        kind = "expected_cost" if policy.training.cost_matrix else "expected_accuracy"
        return float(PROTECTIONS[name](windows, policy, parts).made_of[kind])
    fit, rest = contiguous(windows, held_out=HELD_OUT, seed=policy.training.seed)
    if "validation" not in parts:
        parts["validation"] = {}
    protection: Protection = PROTECTIONS[name](windows[fit], policy, parts["validation"])
    useful = measure(protection, windows[fit], windows[rest], policy)["useful"]
    kind = "app_cost" if policy.training.cost_matrix else "app"
    return float(np.mean([numbers[kind] for numbers in useful.values()]))
