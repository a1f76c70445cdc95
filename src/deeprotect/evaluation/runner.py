"""The loop of every experiment: folds are prepared once, then cells are measured, here or in several processes."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import joblib

from deeprotect.attack.split_spec import Fold, SplitSpec
from deeprotect.errors import DeeprotectError
from deeprotect.evaluation.evaluator import Evaluator, Setup
from deeprotect.evaluation.fitted_fold import FittedFold
from deeprotect.evaluation.methods import Method
from deeprotect.evaluation.settings import Setting
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.evaluation.workers import dispatch, workers
from deeprotect.policy import Policy
from deeprotect.signals import Hold
from deeprotect.training.labelled_windows import LabelledWindows
from deeprotect.training.splits import ONE_WINDOW
from deeprotect.training.threads import single_thread

T = TypeVar("T")
Progress = Callable[[float], None]
"""Takes the share of the work that is done, 0 to 1."""
# Seconds, roughly, for the order of tasks and the progress bar: learning what comes before ε, then each cell.
LEARNING = {"code book": 60, "default": 15, "paper": 10, "bcs": 8, "adversarial": 15}
CELL = 5


@dataclass(frozen=True)
class EvaluationCell:
    """One release to be measured: learnt on one side of a fold, tested on the other."""

    fold: int
    setting: Setting


Measure = Callable[[FittedFold, EvaluationCell], T]
"""What is wanted of a cell; it must be known by its name in other processes."""


@dataclass(frozen=True)
class EvaluationTask:
    """Cells of one fold that share what is learnt, so that one process learns it once."""

    cells: tuple[EvaluationCell, ...]

    @property
    def fold(self) -> int:
        return self.cells[0].fold

    @property
    def weight(self) -> float:
        """Seconds to expect."""
        return LEARNING.get(self.cells[0].setting.shared, 0) + CELL * len(self.cells)


@dataclass(frozen=True)
class TaskResult(Generic[T]):
    """What was measured, why some methods were not, and where the time went."""

    task: EvaluationTask
    values: Mapping[EvaluationCell, T]
    failed: Mapping[Method, str]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class CellResults(Generic[T]):
    """Everything that was measured; `failed` names the methods that could not be learnt on some fold, and why."""

    values: Mapping[EvaluationCell, T]
    failed: Sequence[tuple[Method, str]]

    def by_setting(self) -> dict[Setting, list[T]]:
        """All folds of each setting; a method that failed on one of them has none."""
        failed = {method for method, _ in self.failed}
        found: dict[Setting, list[T]] = {}
        for cell, value in self.values.items():
            if cell.setting.method not in failed:
                found.setdefault(cell.setting, []).append(value)
        return found


@dataclass(frozen=True)
class Runner:
    """Folds with their apps and attackers, and processes to measure cells on them, as often as asked.

    `longest` is the longest hold of any setting that will be asked for: what is learnt serves them all.
    """

    windows: LabelledWindows
    policy: Policy
    folds: Sequence[Fold]
    longest: Hold
    seconds: Counter[str]
    _folder: Path
    _parallel: joblib.Parallel

    def measure(
        self,
        settings: Sequence[Setting],
        measure: Measure[T],
        *,
        folds: int | None = None,
        progress: Progress = lambda _: None,
    ) -> CellResults[T]:
        """Every setting on every fold, or on the first few: the same values on any number of processes."""
        tasks = split_into_tasks(settings, folds=len(self.folds) if folds is None else folds)
        total, finished = sum(task.weight for task in tasks), 0.0
        results: dict[EvaluationTask, TaskResult[T]] = {}
        calls = (joblib.delayed(_perform)(task, measure, self._path(task.fold), self.longest) for task in tasks)
        for result in dispatch(self._parallel, calls):
            results[result.task] = result
            self.seconds.update(result.seconds)
            finished += result.task.weight
            progress(finished / total)
        return _joined(settings, [results[task] for task in tasks])

    def test(self, fold: int) -> LabelledWindows:
        return self.windows[self.folds[fold].test]

    def prepare(self, setup: Setup) -> None:
        """Apps and attackers on raw windows, before anything is measured."""
        calls = (
            joblib.delayed(_prepare)(self.windows, fold, self.policy, setup=setup, path=self._path(number))
            for number, fold in enumerate(self.folds)
        )
        for seconds in dispatch(self._parallel, calls):
            self.seconds.update(seconds)

    def _path(self, fold: int) -> Path:
        return self._folder / f"{fold}"


@contextmanager
def prepared(
    windows: LabelledWindows, policy: Policy, *, split: SplitSpec, setup: Setup, jobs: int = 1, hold: Hold = ONE_WINDOW
) -> Iterator[Runner]:
    """A runner on all folds of a split, for draws that are held no longer than `hold`.

    `jobs` are processes, this one alone where that is 1.
    """
    folds = split.make_folds(windows, seed=setup.seed, hold=hold)
    with tempfile.TemporaryDirectory() as folder, workers(jobs) as parallel:
        runner = Runner(windows, policy, folds, hold, Counter(), Path(folder), parallel)
        runner.prepare(setup)
        try:
            yield runner
        finally:
            _fitted.cache_clear()


def split_into_tasks(settings: Sequence[Setting], *, folds: int) -> list[EvaluationTask]:
    """Longest first, and fold by fold."""
    groups: dict[str, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(setting.shared, []).append(setting)
    tasks = [
        EvaluationTask(tuple(EvaluationCell(fold, setting) for setting in group))
        for fold in range(folds)
        for group in groups.values()
    ]
    return sorted(tasks, key=lambda task: -task.weight)


def _joined(settings: Sequence[Setting], results: Sequence[TaskResult[T]]) -> CellResults[T]:
    """In the order of the settings and folds, whichever was ready first."""
    order = {setting: place for place, setting in enumerate(settings)}
    values = [item for result in results for item in result.values.items()]
    values.sort(key=lambda item: (order[item[0].setting], item[0].fold))
    failed = [(method, reason) for result in results for method, reason in result.failed.items()]
    return CellResults(dict(values), failed)


def _prepare(windows: LabelledWindows, fold: Fold, policy: Policy, *, setup: Setup, path: Path) -> dict[str, float]:
    """Train what does not depend on a release and leave it in a file; says how long that took."""
    stopwatch = Stopwatch()
    with stopwatch("apps and attackers on raw windows"):
        setup = replace(setup, seed=fold.seed)
        evaluator = Evaluator.prepare(
            windows[fold.train], windows[fold.test], policy, setup=setup, enrolment=fold.enrolment
        )
    joblib.dump((evaluator, policy.vary(training={"seed": fold.seed})), path)
    return dict(stopwatch.seconds)


def _perform(task: EvaluationTask, measure: Measure[T], path: Path, longest: Hold) -> TaskResult[T]:
    """What cannot be learnt from these windows is reported, and the rest goes on."""
    fold = _fitted(path, longest)
    fold.stopwatch.seconds.clear()
    values: dict[EvaluationCell, T] = {}
    failed: dict[Method, str] = {}
    with single_thread():
        for cell in task.cells:
            if cell.setting.method not in failed:
                try:
                    values[cell] = measure(fold, cell)
                except DeeprotectError as error:
                    failed[cell.setting.method] = str(error)
    return TaskResult(task, values, failed, dict(fold.stopwatch.seconds))


@lru_cache(maxsize=1)
def _fitted(path: Path, longest: Hold) -> FittedFold:
    """Kept for the next task of this process; arrays stay in the file, shared by all processes."""
    evaluator, policy = joblib.load(path, mmap_mode="r")
    return FittedFold(evaluator, policy, longest)
