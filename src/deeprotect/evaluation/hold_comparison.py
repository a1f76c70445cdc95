"""What patience buys: draws that are held longer and longer, and draws that are scripts of a longer time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, log

import numpy as np

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.evaluation.experiment import Plan, run
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.settings import Setting
from deeprotect.policy import Policy
from deeprotect.policy.durations import duration
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.training.labelled_windows import LabelledWindows

SECONDS = (5, 10, 20, 30, 60, 120)
"""Lengths that are tried, rounded to whole windows."""
MOST = 4
SCRIPT_SECONDS = (60, 120, 300, 600, 1200)
"""Episodes of scripts that are tried, in slots of a twelfth."""
SLOTS, CHANGES = 12, 2
WASTED = 0.02
"""Share of draws that tell nothing, at the ε that a script is tried with."""
DRAWS = (1, 2, 4, 8)
"""That an attacker puts together."""


def hold_settings(windows: LabelledWindows, policy: Policy) -> list[Setting]:
    """One draw for each window, then for longer, while a recording holds two of them."""
    window, longest = policy.stream.window_seconds, _longest(windows)
    counts = dict.fromkeys(max(1, round(seconds / window)) for seconds in SECONDS)
    held = [count for count in counts if 1 < count <= longest][:MOST]
    if policy.hold.windows > 1 and policy.privacy.slots is None:
        held = sorted({*held, policy.hold.windows})
    return [replace(own_setting(policy), every=duration(count * window)) for count in (1, *held)]


def script_settings(windows: LabelledWindows, policy: Policy) -> list[Setting]:
    """The policy's own scripts, and others of two changes, while a recording holds two of them."""
    own, privacy = own_setting(policy), policy.privacy
    if not own.method.draws_scripts:
        return []
    mine = replace(own, every=privacy.every, slots=privacy.slots, changes=privacy.changes)
    return [*([] if privacy.slots is None else [mine]), *_tried_scripts(windows, policy)]


def _tried_scripts(windows: LabelledWindows, policy: Policy) -> Iterator[Setting]:
    window = policy.stream.window_seconds
    labels = len({tuple(row) for row in windows.targets(policy.inferences.useful).tolist() if None not in row})
    for slot in dict.fromkeys(max(1, round(Fraction(seconds, SLOTS) / window)) for seconds in SCRIPT_SECONDS):
        if SLOTS * slot <= _longest(windows):
            epsilon = _enough(Scripts(labels, SLOTS, CHANGES, slot))
            every, slots = duration(SLOTS * slot * window), duration(slot * window)
            yield replace(own_setting(policy), epsilon=epsilon, every=every, slots=slots, changes=CHANGES)


def _enough(scripts: Scripts) -> float:
    """ε at which few draws are wasted, in halves."""
    return ceil(2 * log(scripts.count / WASTED)) / 2


def _longest(windows: LabelledWindows) -> int:
    """Windows of an episode of which a recording holds two."""
    return int(np.bincount(windows.recording).max()) // 2


def own_setting(policy: Policy) -> Setting:
    """What the policy itself promises, by the code book's channel."""
    privacy = policy.privacy
    guarantee = "named" if privacy.guarantee == "named" else "ldp"
    return Setting(Method("channel", guarantee), privacy.epsilon)


def compare_holds(windows: LabelledWindows, policy: Policy, plan: Plan) -> Sequence[Row]:
    """By the plan's own apps and attackers, on whole pieces of recordings, so that changes inside episodes count."""
    settings = [*hold_settings(windows, policy), *script_settings(windows, policy)]
    if len(settings) == 1:
        return ()
    setup = replace(plan.setup, pools=DRAWS)
    split = SplitSpec("pieces", held_out=plan.split.held_out, most=plan.split.most)
    return run(windows, policy, Plan(settings, setup, split, plan.jobs)).rows
