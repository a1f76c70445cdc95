"""The paper's comparison of features: how well few of each kind serve a linear app, and what each of them tells."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from deeprotect.attack.attackers import Targets
from deeprotect.attack.intervals import Interval
from deeprotect.attack.models import train
from deeprotect.attack.predictions import Guesses
from deeprotect.evaluation.evaluator import targets
from deeprotect.evaluation.experiment import Progress
from deeprotect.evaluation.minimiser_comparison import NAMES, RAW
from deeprotect.evaluation.results import FeatureRow
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.evaluation.workers import Workers
from deeprotect.policy import Policy
from deeprotect.reproduction.case import Part
from deeprotect.reproduction.size import Size
from deeprotect.signals.schema import Floats
from deeprotect.training.fitted import untrained
from deeprotect.training.minimisers.informativeness import informativeness
from deeprotect.training.minimisers.minimiser import Minimiser
from deeprotect.training.threads import single_thread

SHOWN = 7
"""The number of features that the paper settles on."""
STAGE = "feature curves"
_MOST_BINS = 20
# Seconds, roughly, for the order of work and the progress bar.
_WEIGHT = {"default": 15, "paper": 15, "bcs": 8}


@dataclass(frozen=True)
class Point:
    """Ridge accuracy on so many features of one kind, all folds joined; `raw` are all values of a window.

    `informativeness` is I(f; y) / H(y) of each feature on tested windows, highest first, the mean over folds; only
    where the paper shows it.
    """

    minimiser: str
    features: int
    accuracy: float
    accuracy_ci: Interval
    chance: float
    informativeness: tuple[float, ...] = ()

    @property
    def row(self) -> FeatureRow:
        """As other reports list it."""
        told = self.informativeness or (0.0,)
        return FeatureRow(
            self.minimiser, self.features, self.accuracy, self.accuracy_ci, sum(told) / len(told), max(told)
        )


def weight(size: Size, folds: int) -> float:
    """Seconds to expect, roughly; folds train as one batch, so that ten cost less than ten times one."""
    return (2 + folds / 10) / 3 * len(size.features) * sum(_WEIGHT.get(name, 1) for name in NAMES)


def curves(part: Part, size: Size, *, jobs: int, seed: int, progress: Progress) -> tuple[list[Point], dict[str, float]]:
    """Every kind and number of features on the folds of a part; and the seconds it took, over all processes."""
    sides = [(part.windows[side.learn], part.windows[side.test]) for side in part.cut.sides(part.windows, seed=seed)]
    tables = [(targets(learn, part.useful), targets(test, part.useful)) for learn, test in sides]
    wanted = [(RAW, tables[0][0].windows.shape[1]), *((name, count) for name in NAMES for count in size.features)]
    wanted.sort(key=lambda each: -_WEIGHT.get(each[0], 1))
    options = {"policy": part.policy, "steps": size.steps, "seed": seed}
    points: list[Point] = []
    seconds = 0.0
    with tempfile.TemporaryDirectory() as folder, Workers(jobs) as workers:
        path = Path(folder) / "folds"
        joblib.dump(tables, path)
        done, total = 0.0, sum(_WEIGHT.get(name, 1) for name, _ in wanted)
        for point, spent in workers([(measure, (path, *each), options) for each in wanted]):
            points.append(point)
            seconds += spent
            done += _WEIGHT.get(point.minimiser, 1)
            progress(done / total)
    return sorted(points, key=lambda each: ((*NAMES, RAW).index(each.minimiser), each.features)), {STAGE: seconds}


def measure(path: Path, name: str, count: int, *, policy: Policy, steps: int, seed: int) -> tuple[Point, float]:
    """All folds at once: equally shaped networks train as one batch. Arrays stay in the file, shared by processes."""
    stopwatch = Stopwatch()
    with stopwatch(STAGE):
        tables: list[tuple[Targets, Targets]] = joblib.load(path, mmap_mode="r")
        if name != RAW:
            kind = _kind(policy.vary(training={"minimiser": name, "features": count}), steps=steps)
            tables = _reduced(tables, kind, seed=seed)
        guesses = Guesses.join([_read(learn, test) for learn, test in tables])
        shown = count == SHOWN and name != RAW
        told = np.mean([_told(test) for _, test in tables], axis=0) if shown else ()
    point = Point(name, count, guesses.accuracy, guesses.interval, guesses.chance, tuple(map(float, told)))
    return point, stopwatch.seconds[STAGE]


def _kind(policy: Policy, *, steps: int) -> Minimiser:
    """The minimisers of every policy; the paper's autoencoder has fewer steps here, where so many are learnt."""
    model = untrained(policy)
    return model.set_params(max_iter=steps) if policy.training.minimiser == "paper" else model


def _reduced(tables: Sequence[tuple[Targets, Targets]], kind: Minimiser, *, seed: int) -> list[tuple[Targets, Targets]]:
    """Features learnt on each fold's own training side."""
    seeds: dict[str, Any] = {"random_states": [seed] * len(tables)} if "random_state" in kind.get_params() else {}
    with single_thread():
        fitted = kind.fit_many([(learn.windows, learn.labels) for learn, _ in tables], **seeds)
        return [
            (learn.released(each.transform(learn.windows)), test.released(each.transform(test.windows)))
            for each, (learn, test) in zip(fitted, tables, strict=True)
        ]


def _read(learn: Targets, test: Targets) -> Guesses:
    return test.judge(train("ridge", learn.windows, learn.labels, seed=0).predict(test.windows))


def _told(test: Targets) -> Floats:
    """Sorted, highest first; so few bins that each holds several windows of each class."""
    classes = len(set(test.labels))
    bins = int(np.clip(round((len(test.labels) / classes) ** 0.5), 2, _MOST_BINS))
    return np.sort(informativeness(test.windows, test.labels, bins=bins))[::-1]
