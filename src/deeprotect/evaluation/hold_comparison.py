"""What patience buys: the policy's own promise with draws that are held longer and longer."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.experiment import Plan, run
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.settings import Setting
from deeprotect.policy import Policy
from deeprotect.policy.durations import duration
from deeprotect.training.labelled_windows import LabelledWindows

SECONDS = (5, 10, 20, 30, 60, 120)
"""Lengths that are tried, rounded to whole windows."""
MOST = 4
DRAWS = (1, 2, 4, 8)
"""That an attacker puts together."""


def hold_settings(windows: LabelledWindows, policy: Policy) -> list[Setting]:
    """One draw for each window, then for longer, while a recording holds two of them."""
    window = Fraction(policy.stream.window) / Fraction(repr(policy.stream.rate_hz))
    longest = int(np.bincount(windows.recording).max()) // 2
    counts = dict.fromkeys(max(1, round(seconds / window)) for seconds in SECONDS)
    held = [count for count in counts if 1 < count <= longest][:MOST]
    if policy.hold.windows > 1:
        held = sorted({*held, policy.hold.windows})
    return [replace(own_setting(policy), every=duration(count * window)) for count in (1, *held)]


def own_setting(policy: Policy) -> Setting:
    """What the policy itself promises, by the code book's channel."""
    privacy = policy.privacy
    guarantee = "named" if privacy.guarantee == "named" else "ldp"
    return Setting(Method("channel", guarantee), privacy.epsilon)


def compare_holds(windows: LabelledWindows, policy: Policy, plan: Plan) -> Sequence[Row]:
    """By the plan's own apps and attackers, on whole pieces of recordings, so that changes inside episodes count."""
    settings = hold_settings(windows, policy)
    if len(settings) == 1:
        return ()
    setup = replace(plan.setup, pools=DRAWS)
    split = SplitSpec("pieces", held_out=plan.split.held_out, most=plan.split.most)
    return run(windows, policy, Plan(settings, setup, split, plan.jobs)).rows
