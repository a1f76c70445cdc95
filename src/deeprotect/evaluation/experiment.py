"""Experiments, from a plan to rows: apps and attackers on every release, summarised over folds.

Includes variants of the policy itself: longer holds, longer scripts, and new people.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, log
from typing import NamedTuple

import numpy as np

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import Argument, InputError, Placeholder
from deeprotect.evaluation.beyond import Misread
from deeprotect.evaluation.beyond import sum_up as sum_up_misread
from deeprotect.evaluation.evaluator import FoldRelease, Setup
from deeprotect.evaluation.excerpt import Choose, Excerpt
from deeprotect.evaluation.methods import Method, Setting, is_ldp, longest_hold
from deeprotect.evaluation.results import FoldPredictions, Row
from deeprotect.evaluation.runner import (
    CellResults,
    EvaluationCell,
    FittedFold,
    Folds,
    Progress,
    Question,
    Runner,
    measure_together,
    prepared,
    prepared_together,
)
from deeprotect.evaluation.workers import Jobs
from deeprotect.policy import Policy
from deeprotect.policy.sections import duration
from deeprotect.privacy.channel.scripts import Scripts
from deeprotect.privacy.guarantees import promise
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

PREPARED = 0.15
"""Share of the time spent on what does not depend on a release."""


ReleaseOf = Callable[[FittedFold, Setting], FoldRelease]
"""Makes the release: trained on the fold, or given; a named function, for other processes."""


@dataclass(frozen=True)
class Plan:
    """The settings to measure, the folds, the apps and attackers, and the number of processes."""

    settings: Sequence[Setting]
    setup: Setup = field(default_factory=Setup)
    split: SplitSpec = field(default_factory=SplitSpec)
    jobs: Jobs = 1

    def __post_init__(self) -> None:
        if not self.settings:
            raise InputError("there is nothing to measure; name a mechanism and an epsilon")
        if isinstance(self.jobs, int) and self.jobs < 1:
            raise InputError(f"jobs = {self.jobs} must be 1 or more")

    def nearest(self, epsilon: float) -> float:
        """The measured ε closest to this one."""
        measured = [setting.epsilon for setting in self.settings if setting.epsilon is not None]
        return min(measured, key=lambda each: abs(each - epsilon), default=epsilon)

    def prepared(self, windows: LabelledWindows, policy: Policy) -> AbstractContextManager[Runner]:
        hold = longest_hold(self.settings, policy)
        return prepared(windows, policy, split=self.split, setup=self.setup, jobs=self.jobs, hold=hold)


@dataclass(frozen=True)
class RunResult:
    """Rows in the plan's order, left-out methods, windows for a figure, sizes, and time per stage."""

    rows: list[Row]
    left_out: list[str]
    excerpt: Excerpt | None
    train: int
    test: int
    seconds: dict[str, float]


class CellMeasure(NamedTuple):
    """Measurements of one release: all predictions, and some released windows if requested."""

    predictions: FoldPredictions
    shown: Floats | None
    mechanism: str | None = None  # that training chose
    misread: Misread | None = None  # for a coder with codes


def run(
    windows: LabelledWindows,
    policy: Policy,
    plan: Plan,
    *,
    choose: Choose | None = None,
    release_of: ReleaseOf = FittedFold.release,
    progress: Progress = lambda _: None,
) -> RunResult:
    """All rows of a plan; `choose` selects windows for a figure."""
    (found,) = run_together(windows, policy, [plan], choose=choose, release_of=release_of, progress=progress)
    return found


def run_together(
    windows: LabelledWindows,
    policy: Policy,
    plans: Sequence[Plan],
    *,
    choose: Choose | None = None,
    release_of: ReleaseOf = FittedFold.release,
    progress: Progress = lambda _: None,
) -> list[RunResult]:
    """All rows of several plans, on the processes of the first plan, which also gives the windows for a figure."""
    folds = [Folds(plan.split, plan.setup, longest_hold(plan.settings, policy)) for plan in plans]
    with prepared_together(windows, policy, folds, jobs=plans[0].jobs) as runners:
        progress(PREPARED)
        excerpt = None
        if choose is not None:
            excerpt = choose(runners[0].test(0), policy.schema(), plans[0].nearest(policy.privacy.epsilon))
        shown = [excerpt, *(None for _ in plans[1:])]
        asked = [
            (runner, rows_question(plan, excerpt=some, release_of=release_of))
            for runner, plan, some in zip(runners, plans, shown, strict=True)
        ]
        several = measure_together(asked, progress=lambda share: progress(PREPARED + (1 - PREPARED) * share))
        return [
            sum_up(runner, found, excerpt=some) for runner, found, some in zip(runners, several, shown, strict=True)
        ]


def measure_rows(
    runner: Runner,
    plan: Plan,
    *,
    release_of: ReleaseOf = FittedFold.release,
    progress: Progress = lambda _: None,
) -> RunResult:
    """All rows, on folds that are already prepared."""
    return sum_up(runner, runner.measure(rows_question(plan, release_of=release_of), progress=progress))


def rows_question(
    plan: Plan, *, excerpt: Excerpt | None = None, release_of: ReleaseOf = FittedFold.release
) -> Question[CellMeasure]:
    return Question(plan.settings, partial(_measure, excerpt=excerpt, release_of=release_of))


def sum_up(runner: Runner, results: CellResults[CellMeasure], *, excerpt: Excerpt | None = None) -> RunResult:
    """Summarise rows over all folds."""
    shown = {cell.setting.method.line: value.shown for cell, value in results.values.items() if value.shown is not None}
    return RunResult(
        rows=[row_of(setting, several, runner.policy) for setting, several in results.by_setting().items()],
        left_out=[f"{method.line}: {reason}" for method, reason in results.failed],
        excerpt=excerpt and replace(excerpt, released=shown),
        train=len(runner.folds[0].train),
        test=sum(len(fold.test) for fold in runner.folds),
        seconds=dict(runner.seconds),
    )


def release_question(settings: Sequence[Setting], windows: Floats) -> Question[Floats]:
    """Windows as released by each line after training on the first fold; lines that cannot release have none."""
    return Question(settings, partial(_release, windows=windows), folds=1)


def by_line(results: CellResults[Floats]) -> dict[str, Floats]:
    return {cell.setting.method.line: released for cell, released in results.values.items()}


def _release(fold: FittedFold, cell: EvaluationCell, *, windows: Floats) -> Floats:
    return fold.release(cell.setting).neighbours(windows).windows


def _measure(fold: FittedFold, cell: EvaluationCell, *, excerpt: Excerpt | None, release_of: ReleaseOf) -> CellMeasure:
    release, shown, setting = release_of(fold, cell.setting), None, cell.setting
    # Classical features are released only for their figures.
    drawn = cell.fold == 0 and setting.method.feature_extractor is None
    if excerpt is not None and drawn and setting.epsilon in (excerpt.epsilon, None):
        shown = release.neighbours(excerpt.windows).windows
    return CellMeasure(fold.predictions(release), shown, release.mechanism, release.count(fold.test))


def row_of(setting: Setting, several: Sequence[CellMeasure], policy: Policy) -> Row:
    """One row of the results, from all folds."""
    method = _released(setting, several)
    joined = FoldPredictions.join([each.predictions for each in several])
    bounding = setting.epsilon if is_ldp(method.mechanism, method.guarantee) else None
    useful, sensitive = joined.sum_up(bounding, policy.inferences.numeric)
    channels, misread = policy.schema().channels, [each.misread for each in several if each.misread is not None]
    counted = len(misread) == len(several)
    off = {name: [each.off[name] for each in misread if name in each.off] for name in useful}
    return Row(
        mechanism=method.mechanism,
        guarantee=method.guarantee,
        epsilon=setting.epsilon,
        own=setting.own,
        feature_extractor=method.made_of,
        useful={name: each.with_coder(off[name]) for name, each in useful.items()} if counted else useful,
        sensitive={name: each.bounded(misread) for name, each in sensitive.items()} if counted else sensitive,
        beyond=sum_up_misread(misread) if counted else None,
        promise=promise(method.guarantee, setting.epsilon, sensitive=policy.inferences.sensitive).promised,
        signal={
            channel.name: float(error * (channel.high - channel.low))
            for channel, error in zip(channels, joined.error, strict=True)
        },
        seconds_per_draw=setting.policy(policy).seconds_per_draw if method.family == "mechanism" else None,
        slots=setting.policy(policy).privacy.slots if method.family == "mechanism" else None,
        enrolled=setting.enrolled,
    )


def _released(setting: Setting, several: Sequence[CellMeasure]) -> Method:
    """The method, with the mechanism that most folds chose if training could choose."""
    chosen = Counter(each.mechanism for each in several if each.mechanism).most_common(1)
    return replace(setting.method, mechanism=chosen[0][0]) if chosen else setting.method


SECONDS = (5, 10, 20, 30, 60, 120)
"""Lengths of holds to try, rounded to whole windows."""
MOST = 4
SCRIPT_SECONDS = (60, 120, 300, 600, 1200)
"""Lengths of script episodes to try, in slots of a twelfth."""
SLOTS, CHANGES = 12, 2
WASTED = 0.02
"""Share of uninformative draws that determines the ε of a tried script."""
DRAWS = (1, 2, 4, 8)
"""Numbers of draws that an attacker pools."""
FOLDS = 3
"""Number of folds in which each person is a stranger once."""


def hold_settings(windows: LabelledWindows, policy: Policy) -> list[Setting]:
    """One draw per window, then longer holds, as long as a recording contains two of them."""
    window, longest = policy.stream.window_seconds, _longest(windows)
    counts = dict.fromkeys(max(1, round(seconds / window)) for seconds in SECONDS)
    held = [count for count in counts if 1 < count <= longest][:MOST]
    if policy.hold.windows > 1 and policy.privacy.slots is None:
        held = sorted({*held, policy.hold.windows})
    return [replace(own_setting(policy), every=duration(count * window)) for count in (1, *held)]


def script_settings(windows: LabelledWindows, policy: Policy) -> list[Setting]:
    """The policy's own scripts, and others with two changes, as long as a recording contains two of them."""
    own, privacy = own_setting(policy), policy.privacy
    mine = replace(own, every=privacy.every, slots=privacy.slots, changes=privacy.changes)
    return [*([] if privacy.slots is None else [mine]), *_tried_scripts(windows, policy)]


def _tried_scripts(windows: LabelledWindows, policy: Policy) -> Iterator[Setting]:
    window = policy.stream.window_seconds
    labels = len({tuple(row) for row in windows.targets(policy.inferences.useful).tolist() if None not in row})
    for slot in dict.fromkeys(max(1, round(Fraction(seconds, SLOTS) / window)) for seconds in SCRIPT_SECONDS):
        if SLOTS * slot <= _longest(windows):
            scripts = Scripts(labels, SLOTS, CHANGES, slot).count
            epsilon = ceil(2 * log(scripts / WASTED)) / 2  # few draws are wasted; in steps of one half
            every, slots = duration(SLOTS * slot * window), duration(slot * window)
            yield replace(own_setting(policy), epsilon=epsilon, every=every, slots=slots, changes=CHANGES)


def _longest(windows: LabelledWindows) -> int:
    """Longest episode, in windows, of which a recording contains two."""
    return int(np.bincount(windows.recording).max()) // 2


def own_setting(policy: Policy) -> Setting:
    """The policy itself, with the code book's channel."""
    return Setting(Method("channel", "rldp" if policy.erased else "ldp"), policy.privacy.epsilon)


def holds_plan(windows: LabelledWindows, policy: Policy, plan: Plan) -> list[Plan]:
    """Plans with the same apps and attackers on pieces of recordings, so that changes inside episodes count."""
    settings = [*hold_settings(windows, policy), *script_settings(windows, policy)]
    split = plan.split if plan.split.sides else SplitSpec("pieces", held_out=plan.split.held_out, most=plan.split.most)
    return [Plan(settings, replace(plan.setup, pools=DRAWS), split)] if len(settings) > 1 else []


def strangers_plans(windows: LabelledWindows, policy: Policy, plan: Plan, *, column: str) -> dict[str, Plan]:
    """Plans on people known to the protector (`met`) and on `strangers`; `windows` have the people as groups."""
    people = len(np.unique(windows.groups))
    if people < 2 * FOLDS:
        raise InputError(
            Argument("strangers", Placeholder(column)),
            f": {people} people; at least {2 * FOLDS} are needed for known and new ones",
        )
    most = plan.split.most
    splits = {"met": SplitSpec(most=most), "strangers": SplitSpec("strangers", folds=FOLDS, most=most)}
    return {name: Plan([Setting.of(policy)], plan.setup, split) for name, split in splits.items()}


def strangers_rows(found: Mapping[str, RunResult]) -> tuple[dict[str, Row], list[str]]:
    """Rows of known and of new people; if one is missing there is nothing to compare, and the reasons are returned."""
    left_out = [f"new people: {reason}" for each in found.values() for reason in each.left_out]
    return {} if left_out else {name: each.rows[0] for name, each in found.items()}, left_out
