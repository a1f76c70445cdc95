"""Pieces of an experiment that can run in other processes; each process keeps what its next task can use again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import joblib

from deeprotect.attack.split_spec import Sides
from deeprotect.errors import DeeprotectError
from deeprotect.evaluation.evaluator import Bench, Setup
from deeprotect.evaluation.excerpt import Excerpt
from deeprotect.evaluation.experiment import Experiment
from deeprotect.evaluation.fold_predictions import Measured
from deeprotect.evaluation.methods import FEATURES, Option
from deeprotect.evaluation.peers import PEERS
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.policy import Policy
from deeprotect.signals.schema import Floats
from deeprotect.training.dataset import LabelledWindows

# Seconds per row, roughly, for the order of tasks and the progress bar: learning what comes before ε, then each ε.
LEARNING = {"code book": 60, "default": 15, "paper": 10, "bcs": 8, "adversarial": 15}
ROW = 5


@dataclass(frozen=True)
class Task:
    """Options that share what is learnt, on one fold; `shown` is the ε whose releases are kept to be drawn."""

    fold: int
    options: tuple[Option, ...]
    epsilons: tuple[float, ...]
    shown: float | None = None

    @property
    def weight(self) -> float:
        """Seconds to expect."""
        rows = sum(len(option.at(self.epsilons)) for option in self.options)
        return LEARNING.get(_shared(self.options[0]), 0) + ROW * rows


@dataclass(frozen=True)
class Done:
    """What a task found: guesses by option and ε, reasons where there are none, windows to draw, and seconds."""

    task: Task
    measured: dict[tuple[Option, float], Measured]
    failed: dict[Option, str]
    released: dict[str, Floats]
    seconds: dict[str, float]


def split(options: Sequence[Option], epsilons: Sequence[float], *, folds: int, shown: float) -> list[Task]:
    """Tasks, longest first; only the first fold's releases are shown."""
    families: dict[str, list[Option]] = {}
    for option in options:
        families.setdefault(_shared(option), []).append(option)
    tasks = [
        Task(fold, tuple(family), tuple(epsilons), shown if fold == 0 else None)
        for fold in range(folds)
        for family in families.values()
    ]
    return sorted(tasks, key=lambda task: -task.weight)


def _shared(option: Option) -> str:
    """What has to be learnt before any ε."""
    if option.mechanism in PEERS:
        return option.mechanism
    return option.learnt if option.mechanism == FEATURES else option.made_of


def prepare(windows: LabelledWindows, sides: Sides, policy: Policy, *, setup: Setup, path: Path) -> dict[str, float]:
    """Train what does not depend on a release and leave it in a file; says how long that took."""
    stopwatch = Stopwatch()
    with stopwatch("apps and attackers on raw windows"):
        setup = replace(setup, seed=sides.seed)
        bench = Bench.prepare(windows[sides.learn], windows[sides.test], policy, setup)
    joblib.dump((bench, policy.vary(training={"seed": sides.seed})), path)
    return dict(stopwatch.seconds)


def perform(task: Task, path: Path) -> Done:
    """Learn, release and attack; what cannot be learnt from these windows is reported, and the rest goes on."""
    experiment = _experiment(path)
    experiment.stopwatch.seconds.clear()
    excerpt = _excerpt(experiment, task)
    done = Done(task, {}, {}, {}, {})
    for option in task.options:
        try:
            for epsilon in option.at(task.epsilons):
                done.measured[option, epsilon] = _measure(experiment, option, epsilon, excerpt, done.released)
        except DeeprotectError as error:
            done.failed[option] = str(error)
    return replace(done, seconds=dict(experiment.stopwatch.seconds))


def _measure(
    experiment: Experiment, option: Option, epsilon: float, excerpt: Excerpt | None, released: dict[str, Floats]
) -> Measured:
    release = experiment.release(option, epsilon)
    drawn = option.minimiser is None and (excerpt is None or epsilon == excerpt.epsilon or not option.epsilon_matters)
    if excerpt is not None and drawn:  # classical features are there for their numbers
        released[option.line] = release(excerpt.windows).windows
    return experiment.bench.measure(release, stopwatch=experiment.stopwatch)


def _excerpt(experiment: Experiment, task: Task) -> Excerpt | None:
    if task.shown is None:
        return None
    return Excerpt.choose(experiment.bench.test, experiment.policy.schema(), epsilon=task.shown)


@lru_cache(maxsize=1)
def _experiment(path: Path) -> Experiment:
    """Arrays stay in the file, shared by all processes."""
    bench, policy = joblib.load(path, mmap_mode="r")
    return Experiment(bench, policy)
