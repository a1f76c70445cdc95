"""From a plan to rows: what apps and attackers read of every release of it, summed up over folds."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from deeprotect.attack.split_spec import SplitSpec
from deeprotect.errors import InputError
from deeprotect.evaluation.evaluator import FoldRelease, Setup
from deeprotect.evaluation.excerpt import Choose, Excerpt
from deeprotect.evaluation.fitted_fold import FittedFold
from deeprotect.evaluation.fold_predictions import FoldPredictions
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.runner import CellResults, EvaluationCell, Progress, Question, Runner, prepared
from deeprotect.evaluation.settings import Setting, longest_hold
from deeprotect.evaluation.workers import Jobs
from deeprotect.policy import Policy
from deeprotect.privacy.guarantees import promise
from deeprotect.signals.schema import Floats
from deeprotect.training.labelled_windows import LabelledWindows

PREPARED = 0.15
"""Share of the time that goes into what does not depend on a release."""


ReleaseOf = Callable[[FittedFold, Setting], FoldRelease]
"""What is released: learnt on the fold, or something that is there already; known by its name in other processes."""


@dataclass(frozen=True)
class Plan:
    """What is measured, on which folds, by whom, in how many processes."""

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
        """The measured ε nearest to this one."""
        measured = [setting.epsilon for setting in self.settings if setting.epsilon is not None]
        return min(measured, key=lambda each: abs(each - epsilon), default=epsilon)

    def prepared(self, windows: LabelledWindows, policy: Policy) -> AbstractContextManager[Runner]:
        hold = longest_hold(self.settings, policy)
        return prepared(windows, policy, split=self.split, setup=self.setup, jobs=self.jobs, hold=hold)


@dataclass(frozen=True)
class RunResult:
    """Rows in the order of the plan, what was left out, windows to draw, sizes, and where the time went."""

    rows: list[Row]
    left_out: list[str]
    excerpt: Excerpt | None
    train: int
    test: int
    seconds: dict[str, float]


class CellMeasure(NamedTuple):
    """What one release gave: predictions of everyone who reads it, and some windows of it where they are wanted."""

    predictions: FoldPredictions
    shown: Floats | None


def run(
    windows: LabelledWindows,
    policy: Policy,
    plan: Plan,
    *,
    choose: Choose | None = None,
    release_of: ReleaseOf = FittedFold.release,
    progress: Progress = lambda _: None,
) -> RunResult:
    """All rows of a plan; where some windows are to be looked at, `choose` says which."""
    with plan.prepared(windows, policy) as runner:
        progress(PREPARED)
        return measure_rows(
            runner,
            plan,
            choose=choose,
            release_of=release_of,
            progress=lambda share: progress(PREPARED + (1 - PREPARED) * share),
        )


def measure_rows(
    runner: Runner,
    plan: Plan,
    *,
    choose: Choose | None = None,
    release_of: ReleaseOf = FittedFold.release,
    progress: Progress = lambda _: None,
) -> RunResult:
    """The same on folds that are prepared already."""
    excerpt = None if choose is None else choose_excerpt(runner, choose, plan.nearest(runner.policy.privacy.epsilon))
    question = rows_question(plan, excerpt=excerpt, release_of=release_of)
    return sum_up(runner, runner.measure(question, progress=progress), excerpt=excerpt)


def rows_question(
    plan: Plan, *, excerpt: Excerpt | None = None, release_of: ReleaseOf = FittedFold.release
) -> Question[CellMeasure]:
    return Question(plan.settings, partial(_measure, excerpt=excerpt, release_of=release_of))


def sum_up(runner: Runner, results: CellResults[CellMeasure], *, excerpt: Excerpt | None = None) -> RunResult:
    """Rows over all folds."""
    shown = {cell.setting.method.line: value.shown for cell, value in results.values.items() if value.shown is not None}
    return RunResult(
        rows=[row_of(setting, several, runner.policy) for setting, several in results.by_setting().items()],
        left_out=[f"{method.line}: {reason}" for method, reason in results.failed],
        excerpt=excerpt and replace(excerpt, released=shown),
        train=len(runner.folds[0].train),
        test=sum(len(fold.test) for fold in runner.folds),
        seconds=dict(runner.seconds),
    )


def choose_excerpt(runner: Runner, choose: Choose, epsilon: float) -> Excerpt | None:
    return choose(runner.test(0), runner.policy.schema(), epsilon)


def release_windows(runner: Runner, settings: Sequence[Setting], windows: Floats) -> dict[str, Floats]:
    """Windows as each line releases them first, after it has learnt on the first fold; lines that cannot have none."""
    return by_line(runner.measure(release_question(settings, windows)))


def release_question(settings: Sequence[Setting], windows: Floats) -> Question[Floats]:
    return Question(settings, partial(_release, windows=windows), folds=1)


def by_line(results: CellResults[Floats]) -> dict[str, Floats]:
    return {cell.setting.method.line: released for cell, released in results.values.items()}


def _release(fold: FittedFold, cell: EvaluationCell, *, windows: Floats) -> Floats:
    return fold.release(cell.setting).neighbours(windows).windows


def _measure(fold: FittedFold, cell: EvaluationCell, *, excerpt: Excerpt | None, release_of: ReleaseOf) -> CellMeasure:
    release, shown = release_of(fold, cell.setting), None
    if excerpt is not None and cell.fold == 0 and _is_shown(cell.setting, excerpt.epsilon):
        shown = release.neighbours(excerpt.windows).windows
    return CellMeasure(fold.evaluator.predictions(release, stopwatch=fold.stopwatch), shown)


def _is_shown(setting: Setting, epsilon: float) -> bool:
    """Classical features are there for their numbers."""
    return setting.method.minimiser is None and setting.epsilon in (epsilon, None)


def row_of(setting: Setting, several: Sequence[CellMeasure], policy: Policy) -> Row:
    """One line of the results, from all folds joined."""
    method, epsilon = setting.method, setting.epsilon
    joined = FoldPredictions.join([each.predictions for each in several])
    given, ceiling = _given(setting, policy)
    useful, sensitive = joined.sum_up(method.guarantee, epsilon, given=given)
    channels = policy.schema().channels
    return Row(
        mechanism=method.mechanism,
        guarantee=method.guarantee,
        epsilon=epsilon,
        minimiser=method.made_of,
        useful=useful,
        sensitive=sensitive,
        promise=promise(method.guarantee, epsilon, sensitive=policy.inferences.sensitive, given=given),
        signal={
            channel.name: float(error * (channel.high - channel.low))
            for channel, error in zip(channels, joined.error, strict=True)
        },
        seconds_per_draw=setting.policy(policy).seconds_per_draw if method.family == "mechanism" else None,
        given=given,
        ldp_ceiling=ceiling,
        slots=setting.policy(policy).privacy.slots if method.family == "mechanism" else None,
        enrolled=setting.enrolled,
    )


def _given(setting: Setting, policy: Policy) -> tuple[tuple[str, ...], float | None]:
    """What else a named promise says: what it takes for known, and the LDP bound beside it."""
    if setting.method.guarantee != "named":
        return (), None
    privacy = setting.policy(policy).privacy
    return policy.inferences.useful if privacy.given == "useful" else (), privacy.ldp_ceiling
