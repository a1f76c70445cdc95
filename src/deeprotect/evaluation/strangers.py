"""Strangers: a protector learnt from some people, used by others, and attackers who have enrolled those."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.experiment import Plan, run
from deeprotect.evaluation.hold_comparison import own_setting
from deeprotect.evaluation.results import Row
from deeprotect.policy import Policy
from deeprotect.training.labelled_windows import LabelledWindows

FOLDS = 3
"""Everybody is a stranger once."""


@dataclass(frozen=True)
class Strangers:
    """The policy's own promise, measured on people who were met before, and on people who were not."""

    column: str
    people: int
    met: Row
    strangers: Row


def compare_strangers(windows: LabelledWindows, policy: Policy, plan: Plan, *, column: str) -> Strangers:
    """`windows` carry the people as their groups."""
    people = len(np.unique(windows.groups))
    if people < 2 * FOLDS:
        raise InputError(
            f"--strangers {column}: {people} people; it takes at least {2 * FOLDS} to meet some and not others"
        )
    settings = [own_setting(policy)]

    def measured(split: SplitSpec) -> Sequence[Row]:
        return run(windows, policy, Plan(settings, plan.setup, replace(split, most=plan.split.most), plan.jobs)).rows

    (met,), (strangers,) = measured(SplitSpec()), measured(SplitSpec("strangers", folds=FOLDS))
    return Strangers(column, people, met, strangers)
