"""The loop of every experiment: prepare folds once, fit models once per fold, then measure cells."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import joblib
import numpy as np

from deeprotect.attack.split_spec import Fold, SplitSpec
from deeprotect.errors import DeeprotectError
from deeprotect.evaluation.beyond import Misread
from deeprotect.evaluation.evaluator import Evaluator, FoldRelease, ReleasedRows, Setup, Stopwatch
from deeprotect.evaluation.methods import ERASED, FEATURES, Method, Setting
from deeprotect.evaluation.results import FoldPredictions
from deeprotect.evaluation.workers import ClusterPool, Jobs, Pool, dispatch, workers
from deeprotect.policy import Policy
from deeprotect.privacy.entropy import SeededEntropy
from deeprotect.signals import Hold
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Counts
from deeprotect.training.codebook.codebook import LearntCodes
from deeprotect.training.feature_extractors.feature_extractor import FeatureExtractor
from deeprotect.training.fitting.fit import learn
from deeprotect.training.fitting.fitted_models import FittedModels
from deeprotect.training.fitting.trained import TrainedProtector
from deeprotect.training.labelled_windows import LabelledWindows, segment_numbers
from deeprotect.training.splits import ONE_WINDOW
from deeprotect.training.trainer import single_thread


@dataclass(frozen=True)
class FittedFold:
    """Learns from the evaluator's training windows; the evaluator measures on its test windows.

    `longest` is the longest hold of all settings that will be measured.
    """

    evaluator: Evaluator
    policy: Policy
    longest: Hold = field(default_factory=Hold)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    _models: dict[int | None, FittedModels] = field(default_factory=dict)
    _protectors: dict[Setting, TrainedProtector] = field(default_factory=dict)
    _predictions: dict[str, FoldPredictions] = field(default_factory=dict)

    @property
    def train(self) -> LabelledWindows:
        return self.evaluator.train

    @property
    def test(self) -> LabelledWindows:
        return self.evaluator.test

    def release(self, setting: Setting) -> FoldRelease:
        """A release from its first draw, seeded so that results repeat; a real release refuses this entropy."""
        with self.stopwatch(f"learning {setting.method.mechanism}"):
            if setting.method.mechanism == FEATURES:
                return self._features()
            if setting.method.mechanism == ERASED:
                return self._erased()
            if setting.method.mechanism in self.evaluator.setup.own_methods:
                return self._own(setting.method.mechanism)
            return seeded(self.protector(setting), self.evaluator.setup.seed, useful=self.policy.inferences.useful)

    def predictions(self, release: FoldRelease) -> FoldPredictions:
        """All predictions from a release; made once for settings that release the same windows."""
        with self.stopwatch("release"):
            seen, tested = release(self.train), release(self.test)
            released = str(joblib.hash((seen, tested)))
        if released not in self._predictions:
            self._predictions[released] = self.evaluator.read(seen, tested, stopwatch=self.stopwatch)
        return self._predictions[released]

    def protector(self, setting: Setting) -> TrainedProtector:
        """The setting's protector, fitted once; protectors share feature extractors."""
        if setting not in self._protectors:
            self._protectors[setting] = learn(self._models_with(setting.features), setting.policy(self.policy))
        return self._protectors[setting]

    def codes(self, setting: Setting) -> LearntCodes:
        """Coder and synthetic windows behind a setting's code book."""
        return self._models_with(setting.features).codes(setting.policy(self.policy))

    def feature_extractor(self, name: str) -> FeatureExtractor:
        """The same feature extractors by name, for methods that use features without noise."""
        policy = self.policy.vary(privacy={"mechanism": "auto"}, training={"feature_extractor": name})
        return self._models_with(None).feature_extractor(policy)

    def _models_with(self, features: int | None) -> FittedModels:
        """Models shared by settings with this number of features; None means the policy's own number."""
        return self._models.setdefault(features, FittedModels(self.train, self.longest))

    def _features(self) -> FoldRelease:
        feature_extractor = self.feature_extractor("default")
        return FoldRelease(
            lambda private, _: ReleasedRows(
                np.clip(feature_extractor.inverse_transform(feature_extractor.transform(private)), 0, 1)
            )
        )

    def _own(self, name: str) -> FoldRelease:
        setup = self.evaluator.setup
        fitted = setup.own_methods[name].fit(self.train, self.policy.inferences.useful, seed=setup.seed)
        return FoldRelease(lambda private, _: ReleasedRows(fitted(private)))

    def _erased(self) -> FoldRelease:
        """The coder's classes after erasing directions, as synthetic windows of their codes."""
        coded = Setting(Method("channel", "rldp"), self.policy.privacy.epsilon)
        book, random = self.codes(coded).book(Hold()), np.random.default_rng(self.evaluator.setup.seed)
        samples = book.outputs.samples

        def draw(private: Floats, _: Counts) -> ReleasedRows:
            code = book.encoder(private)[:, 0].astype(np.int64)
            return ReleasedRows(samples[code, random.integers(samples.shape[1], size=len(code))], code)

        return FoldRelease(draw)


def seeded(protector: TrainedProtector, seed: int, *, useful: Sequence[str]) -> FoldRelease:
    """A release with reproducible noise, for evaluation."""
    entropy, mechanism = SeededEntropy(seed), protector.mechanism

    def draw(private: Floats, counts: Counts) -> ReleasedRows:
        released = protector.release(private, counts, entropy=entropy)
        # The code book is public: an observer of a released window knows its code, and where a script changes.
        code = mechanism.output_of(released.codes)
        if mechanism.scripts is None or code is None:
            return ReleasedRows(released.windows, code)
        return ReleasedRows(released.windows, code, segment_numbers(np.repeat(np.arange(len(counts)), counts), code))

    count = partial(Misread.of, coding=protector, useful=useful)
    return FoldRelease(draw, protector.hold, mechanism=mechanism.name, count=count)


T = TypeVar("T")
Progress = Callable[[float], None]
"""Called with the completed share of the work, 0 to 1."""
# Rough seconds, to order tasks and for the progress bar: training before ε, then each cell.
LEARNING = {"code book": 60, "code book, directions erased": 60, "default": 15, "paper": 10}
CELL = 5


@dataclass(frozen=True)
class EvaluationCell:
    """One release to measure: learnt on one side of a fold, tested on the other."""

    fold: int
    setting: Setting


Measure = Callable[[FittedFold, EvaluationCell], T]
"""Computes the answer for a cell; a named function, for other processes."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """A computation for every setting, on every fold or on the first few."""

    settings: Sequence[Setting]
    measure: Measure[T]
    folds: int | None = None

    def cells(self, folds: int) -> list[EvaluationCell]:
        several = range(folds if self.folds is None else self.folds)
        return [EvaluationCell(fold, setting) for fold in several for setting in self.settings]


Asked = tuple[int, EvaluationCell]
"""A cell, and the number of the question it belongs to."""


@dataclass(frozen=True)
class EvaluationTask:
    """Cells of one fold that share training, so that one process trains once for all questions."""

    cells: tuple[Asked, ...]

    @property
    def fold(self) -> int:
        return self.cells[0][1].fold

    @property
    def weight(self) -> float:
        """Expected seconds."""
        return LEARNING.get(self.cells[0][1].setting.shared, 0) + CELL * len(self.cells)


class TaskResult(NamedTuple):
    """Measurements, reasons for failed methods, and time per stage."""

    values: Mapping[Asked, Any]
    failed: Mapping[tuple[int, Method], str]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class CellResults(Generic[T]):
    """All measurements; `failed` names the methods that could not be learnt on some fold, with reasons."""

    values: Mapping[EvaluationCell, T]
    failed: Sequence[tuple[Method, str]]

    def by_setting(self) -> dict[Setting, list[T]]:
        """All folds of each setting; empty for a method that failed on one of them."""
        failed = {method for method, _ in self.failed}
        found: dict[Setting, list[T]] = {}
        for cell, value in self.values.items():
            if cell.setting.method not in failed:
                found.setdefault(cell.setting, []).append(value)
        return found


@dataclass(frozen=True)
class Runner:
    """Prepared folds with their apps and attackers, and processes that measure cells on them, any number of times.

    `longest` is the longest hold of any setting that will be measured: training serves them all. Runners prepared
    together share their processes and stopwatch.
    """

    windows: LabelledWindows
    policy: Policy
    folds: Sequence[Fold]
    longest: Hold
    seconds: Counter[str]
    pool: Pool
    kept: dict[int, Any]  # by fold: the location of prepared data, for workers

    def measure(self, question: Question[T], *, progress: Progress = lambda _: None) -> CellResults[T]:
        """Measure every cell of a question; the values do not depend on the number of processes."""
        return self.measure_all([question], progress=progress)[0]

    def measure_all(
        self, questions: Sequence[Question[Any]], *, progress: Progress = lambda _: None
    ) -> list[CellResults[Any]]:
        """Measure several questions at once, so that shared training is done once."""
        return measure_together([(self, question) for question in questions], progress=progress)

    def test(self, fold: int) -> LabelledWindows:
        return self.windows[self.folds[fold].test]


def measure_together(
    asked: Sequence[tuple[Runner, Question[Any]]], *, progress: Progress = lambda _: None
) -> list[CellResults[Any]]:
    """Measure questions on several runners at once, so that no process waits for a single runner to finish."""
    measures = [question.measure for _, question in asked]
    tasks = split_into_tasks(
        [question.cells(len(runner.folds)) for runner, question in asked], of=[id(runner) for runner, _ in asked]
    )
    total, finished, pool, seconds = sum(task.weight for task in tasks), 0.0, asked[0][0].pool, asked[0][0].seconds
    results: dict[EvaluationTask, TaskResult] = {}
    whose = {task: asked[task.cells[0][0]][0] for task in tasks}
    calls = (
        joblib.delayed(_perform)(task, measures, runner.kept[task.fold], runner.longest)
        for task, runner in whose.items()
    )
    for task, result in dispatch(pool, calls):
        results[task] = result
        seconds.update(result.seconds)
        finished += task.weight
        progress(finished / total)
    ready = [results[task] for task in tasks]
    return [_joined(number, question.settings, ready) for number, (_, question) in enumerate(asked)]


@dataclass(frozen=True)
class Folds:
    """A split into folds, the apps and attackers, and the longest hold to measure on them."""

    split: SplitSpec
    setup: Setup
    hold: Hold = ONE_WINDOW


@contextmanager
def prepared(
    windows: LabelledWindows, policy: Policy, *, split: SplitSpec, setup: Setup, jobs: Jobs = 1, hold: Hold = ONE_WINDOW
) -> Iterator[Runner]:
    """A runner on all folds of a split, for draws held no longer than `hold`."""
    with prepared_together(windows, policy, [Folds(split, setup, hold)], jobs=jobs) as (runner,):
        yield runner


@contextmanager
def prepared_together(
    windows: LabelledWindows, policy: Policy, several: Sequence[Folds], *, jobs: Jobs = 1
) -> Iterator[list[Runner]]:
    """A runner for each of several splits, with apps and attackers trained on raw windows.

    `jobs` is the number of processes, 1 for this one alone, or the address of a Dask scheduler.
    """
    seconds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, workers(jobs) as pool:
        runners = [
            Runner(
                windows,
                policy,
                each.split.make_folds(windows, seed=each.setup.seed, hold=each.hold),
                each.hold,
                seconds,
                pool,
                {},
            )
            for each in several
        ]
        cluster = pool if isinstance(pool, ClusterPool) else None
        calls = (
            joblib.delayed(_prepare)(
                (place, number),
                windows,
                fold,
                policy,
                setup=several[place].setup,
                folder=None if cluster else Path(folder),
            )
            for place, runner in enumerate(runners)
            for number, fold in enumerate(runner.folds)
        )
        for (place, number), kept, spent in dispatch(pool, calls):
            runners[place].kept[number] = cluster.keep(kept) if cluster else kept
            seconds.update(spent)
        try:
            yield runners
        finally:
            _fitted.cache_clear()


def split_into_tasks(
    asked: Sequence[Sequence[EvaluationCell]], *, of: Sequence[int] | None = None
) -> list[EvaluationTask]:
    """The cells of each question, longest task first, and fold by fold; `of` numbers the runner of each question."""
    groups: dict[tuple[int, int, str], list[Asked]] = {}
    for number, cells in enumerate(asked):
        for cell in cells:
            whose = 0 if of is None else of[number]
            groups.setdefault((whose, cell.fold, cell.setting.shared), []).append((number, cell))
    return sorted((EvaluationTask(tuple(group)) for group in groups.values()), key=lambda task: -task.weight)


def _joined(number: int, settings: Sequence[Setting], results: Sequence[TaskResult]) -> CellResults[Any]:
    """The results of one question, in the order of its settings and folds."""
    order = {setting: place for place, setting in enumerate(settings)}
    values = [(cell, value) for each in results for (asked, cell), value in each.values.items() if asked == number]
    values.sort(key=lambda item: (order[item[0].setting], item[0].fold))
    failed = [(method, why) for each in results for (asked, method), why in each.failed.items() if asked == number]
    return CellResults(dict(values), failed)


Place = tuple[int, int]
"""The numbers of a runner and of one of its folds."""


def _prepare(
    place: Place, windows: LabelledWindows, fold: Fold, policy: Policy, *, setup: Setup, folder: Path | None
) -> tuple[Place, Any, dict[str, float]]:
    """Train what does not depend on a release; store it in the folder if there is one, and time it."""
    stopwatch = Stopwatch()
    with stopwatch("apps and attackers on raw windows"):
        setup = replace(setup, seed=fold.seed)
        evaluator = Evaluator.prepare(
            windows[fold.train],
            windows[fold.test],
            policy,
            setup=setup,
            enrolment=fold.enrolment,
            enrolled=windows[fold.enrolled] if len(fold.enrolled) else None,
        )
    ready = PreparedFold(evaluator, policy.vary(training={"seed": fold.seed}))
    if folder is None:
        return place, ready, dict(stopwatch.seconds)
    (path,) = joblib.dump(ready, folder / "-".join(map(str, place)))
    return place, Path(path), dict(stopwatch.seconds)


@dataclass(frozen=True, eq=False)
class PreparedFold:
    """A fold as stored in a file or on a cluster."""

    evaluator: Evaluator
    policy: Policy


def _perform(
    task: EvaluationTask, measures: Sequence[Measure[Any]], kept: Path | PreparedFold, longest: Hold
) -> tuple[EvaluationTask, TaskResult]:
    """Measure a task's cells; report methods that cannot be learnt from these windows and continue."""
    fold = _fitted(kept, longest)
    fold.stopwatch.seconds.clear()
    values: dict[Asked, Any] = {}
    failed: dict[tuple[int, Method], str] = {}
    with single_thread():
        for number, cell in task.cells:
            if (number, cell.setting.method) not in failed:
                try:
                    values[number, cell] = measures[number](fold, cell)
                except DeeprotectError as error:
                    failed[number, cell.setting.method] = str(error)
    return task, TaskResult(values, failed, dict(fold.stopwatch.seconds))


@lru_cache(maxsize=1)
def _fitted(kept: Path | PreparedFold, longest: Hold) -> FittedFold:
    """Cached for the next task of this process; arrays stay in the file, shared by all processes."""
    fold = kept if isinstance(kept, PreparedFold) else joblib.load(kept, mmap_mode="r")
    return FittedFold(fold.evaluator, fold.policy, longest)
