"""Running a plan: folds × mechanisms × ε over several processes, joined into rows."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deeprotect.attack.split_spec import Cut
from deeprotect.errors import InputError
from deeprotect.evaluation import tasks
from deeprotect.evaluation.evaluator import Setup
from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.experiment import Progress, sum_up
from deeprotect.evaluation.fold_predictions import Measured
from deeprotect.evaluation.methods import OPTIONS, Option
from deeprotect.evaluation.results import Row
from deeprotect.evaluation.tasks import Done, Task
from deeprotect.evaluation.workers import Workers
from deeprotect.policy import Policy
from deeprotect.training.dataset import LabelledWindows

PREPARED = 0.15
"""Share of the time that goes into what does not depend on a release."""


@dataclass(frozen=True)
class Plan:
    """What is measured, on which splits, by whom; `shown` is the ε that pictures show."""

    options: Sequence[Option] = OPTIONS
    epsilons: Sequence[float] = (1.0, 2.0, 5.0, 10.0)
    setup: Setup = field(default_factory=Setup)
    cut: Cut = field(default_factory=Cut)
    shown: float = 5.0
    jobs: int = 1

    def __post_init__(self) -> None:
        if not self.epsilons or min(self.epsilons) <= 0:
            raise InputError("epsilon must be positive, and there must be one")
        if self.jobs < 1:
            raise InputError(f"jobs = {self.jobs} must be 1 or more")

    @property
    def drawn(self) -> float:
        """The measured ε nearest to the one to be shown."""
        return min(self.epsilons, key=lambda epsilon: abs(epsilon - self.shown))


@dataclass(frozen=True)
class Found:
    """Rows in the order of the plan, what was left out, a stretch to draw, sizes, and where the time went."""

    rows: list[Row]
    left_out: list[str]
    excerpt: Excerpt
    train: int
    test: int
    seconds: dict[str, float]


def run(windows: LabelledWindows, policy: Policy, plan: Plan, *, progress: Progress = lambda _: None) -> Found:
    """Benches first, one per fold; then mechanisms, the longest first. The same plan gives the same rows on any
    number of jobs."""
    sides = plan.cut.sides(windows, seed=plan.setup.seed)
    with tempfile.TemporaryDirectory() as folder, Workers(plan.jobs) as workers:
        paths = [Path(folder) / f"{fold}" for fold in range(len(sides))]
        prepared = [
            (tasks.prepare, (windows, side, policy), {"setup": plan.setup, "path": path})
            for side, path in zip(sides, paths, strict=True)
        ]
        seconds: Counter[str] = Counter()
        for part in workers(prepared):
            seconds.update(part)
        progress(PREPARED)
        wanted = tasks.split(plan.options, plan.epsilons, folds=len(sides), shown=plan.drawn)
        done = list(_performed(workers, wanted, paths, progress))
        for each in done:
            seconds.update(each.seconds)
    test = windows[sides[0].test]
    return Found(
        rows=_rows(plan, policy, done),
        left_out=[f"{option.line}: {reason}" for each in done for option, reason in each.failed.items()],
        excerpt=_excerpt(test, policy, plan, done),
        train=len(sides[0].learn),
        test=sum(len(side.test) for side in sides),
        seconds=dict(seconds),
    )


def _performed(workers: Workers, wanted: Sequence[Task], paths: Sequence[Path], progress: Progress) -> Iterator[Done]:
    total, finished = sum(task.weight for task in wanted), 0.0
    for done in workers([(tasks.perform, (task, paths[task.fold]), {}) for task in wanted]):
        finished += done.task.weight
        progress(PREPARED + (1 - PREPARED) * finished / total)
        yield done


def _rows(plan: Plan, policy: Policy, done: Sequence[Done]) -> list[Row]:
    """A row joins all folds; where one fold could not be measured, there is none."""
    parts: dict[tuple[Option, float], list[Measured]] = {}
    for each in sorted(done, key=lambda one: one.task.fold):
        for key, measured in each.measured.items():
            parts.setdefault(key, []).append(measured)
    failed = {option for each in done for option in each.failed}
    keys = [(option, epsilon) for option in plan.options for epsilon in plan.epsilons if (option, epsilon) in parts]
    return [
        sum_up(option, epsilon, Measured.join(parts[option, epsilon]), policy=policy)
        for option, epsilon in keys
        if option not in failed
    ]


def _excerpt(test: LabelledWindows, policy: Policy, plan: Plan, done: Sequence[Done]) -> Excerpt:
    released = {line: windows for each in done for line, windows in each.released.items()}
    lines = [option.line for option in plan.options if option.line in released]
    excerpt = Excerpt.choose(test, policy.schema(), epsilon=plan.drawn)
    return replace(excerpt, released={line: released[line] for line in lines})
