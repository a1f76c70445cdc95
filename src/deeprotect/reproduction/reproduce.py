"""Reproducing the paper's evaluation: case by case, what is missing reported, the rest run."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deeprotect.errors import DatasetError, InputError
from deeprotect.evaluation.methods import grid
from deeprotect.evaluation.results import Results
from deeprotect.evaluation.rows import measure_rows
from deeprotect.evaluation.runner import Progress, split_into_tasks
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.reproduction import authentication as first
from deeprotect.reproduction import case_files as files
from deeprotect.reproduction import feature_curves, listening
from deeprotect.reproduction import speech as third
from deeprotect.reproduction import transport as second
from deeprotect.reproduction.case import SHOWN_EPSILON, Case, Part
from deeprotect.reproduction.case_page import Story
from deeprotect.reproduction.case_result import Chapter, Outcome
from deeprotect.reproduction.feature_curves import Point
from deeprotect.reproduction.listening import Sample
from deeprotect.reproduction.size import FULL, Size

CASES = (first.CASE, second.CASE, third.CASE)
READ = 0.02
"""Share of the time that goes into reading data."""


@dataclass(frozen=True)
class ReproduceRequest:
    """What a user asks for; no numbers mean all of `cases`."""

    numbers: Sequence[int] = ()
    directory: Path | None = None
    size: Size = FULL
    jobs: int = 1
    seed: int = 0
    command: str = "deeprotect reproduce"
    cases: Sequence[Case] = CASES

    def __post_init__(self) -> None:
        if self.jobs < 1 or self.size.folds < 1:
            raise InputError("jobs and folds count from 1")

    @property
    def chosen(self) -> list[Case]:
        known = {case.number: case for case in self.cases}
        for number in self.numbers:
            if number not in known:
                raise InputError(f"case study {number} is unknown; use {', '.join(map(str, known))}, or none for all")
        return [case for case in self.cases if not self.numbers or case.number in self.numbers]


@dataclass(frozen=True)
class Reproduction:
    """The stories that could be told, how to get what was missing for the others, and where the time went."""

    stories: Sequence[Story]
    missing: Sequence[str]
    seconds: dict[str, float]


Report = Callable[[Story], None]


def reproduce(
    out: Path, request: ReproduceRequest, *, progress: Progress = lambda _: None, report: Report = lambda _: None
) -> Reproduction:
    """Writes report.html, results.json, figures, tables and sounds into `out`; `report` gets each case once done."""
    chosen, size = request.chosen, request.size  # wrong input before any work
    files.make_folder(out)
    with (watch := Stopwatch())("reading data"):
        parts, missing = _read(chosen, request)
    if not parts:
        raise DatasetError(missing[0] if len(missing) == 1 else f"no case study has its data: {'; '.join(missing)}")
    seconds, meter = Counter(watch.seconds), _Meter(progress, _weights(parts, size, request.seed))
    stories = []
    for case in chosen:
        if case.number in parts:
            story = Story.of(_chapter(case, parts[case.number], request, meter))
            seconds.update(story.chapter.seconds)
            stories.append(story)
            report(story)
    files.write(out, stories, missing=missing, caps=list(size.words), command=request.command, seed=request.seed)
    progress(1.0)
    return Reproduction(stories, missing, dict(seconds))


def _read(cases: Sequence[Case], request: ReproduceRequest) -> tuple[dict[int, list[Part]], list[str]]:
    parts, missing = {}, []
    for case in cases:
        try:
            parts[case.number] = case.read(request.directory, request.size, request.seed)
        except DatasetError as error:
            missing.append(f"case study {case.number}: {error}")
    return parts, missing


def _chapter(case: Case, parts: Sequence[Part], request: ReproduceRequest, meter: "_Meter") -> Chapter:
    """All experiments of a case, and the sounds of those that can be heard."""
    seconds: Counter[str] = Counter()
    outcomes, samples = [], []
    for part in parts:
        outcome, heard, spent = _outcome(part, request, meter)
        outcomes.append(outcome)
        samples += heard
        seconds.update(spent)
    return Chapter(case, outcomes, samples, dict(seconds))


def _outcome(part: Part, request: ReproduceRequest, meter: "_Meter") -> tuple[Outcome, list[Sample], Counter[str]]:
    """Rows, curves and sounds, all on the same folds."""
    plan = part.plan(request.size, jobs=request.jobs, seed=request.seed)
    points: list[Point] = []
    samples: list[Sample] = []
    with plan.prepared(part.windows, part.policy) as runner:
        shown = plan.nearest(SHOWN_EPSILON)
        found = measure_rows(runner, plan, shown_epsilon=shown, progress=meter.stage(part.name))
        if part.curves:
            points = feature_curves.curves(runner, request.size, progress=meter.stage(f"features {part.name}"))
        if part.files:
            samples = listening.listen(part, runner, voices=request.size.voices)
            meter.stage(f"sounds {part.name}")(1.0)
    results = Results(
        rows=found.rows,
        minimisers=[point.row for point in points],
        left_out=found.left_out,
        run={
            "fingerprint": part.windows.fingerprint,
            "windows": f"{len(part.windows)} in all; {found.train} to train on, {found.test} tests over all folds",
            "split": part.split.words,
        },
    )
    return Outcome(part, results, points), samples, runner.seconds


def _weights(parts: dict[int, list[Part]], size: Size, seed: int) -> dict[str, float]:
    """Seconds to expect for each stage, roughly."""
    weights: dict[str, float] = {}
    for part in (part for several in parts.values() for part in several):
        folds = len(part.split.make_folds(part.windows, seed=seed))
        weights[part.name] = _seconds(part, size.epsilons, folds=folds)
        if part.curves:
            weights[f"features {part.name}"] = feature_curves.weight(size, folds)
        if part.files:
            weights[f"sounds {part.name}"] = _seconds(part, [SHOWN_EPSILON], folds=1)
    return weights


def _seconds(part: Part, epsilons: Sequence[float], *, folds: int) -> float:
    return sum(task.weight for task in split_into_tasks(grid(part.methods, epsilons), folds=folds))


class _Meter:
    """From the progress of stages to that of the whole."""

    def __init__(self, progress: Progress, weights: dict[str, float]) -> None:
        self._progress = progress
        self._weights = weights
        self._finished: dict[str, float] = dict.fromkeys(weights, 0.0)
        progress(READ)

    def stage(self, stage: str) -> Progress:
        def report(share: float) -> None:
            self._finished[stage] = share
            done = sum(self._weights[name] * share for name, share in self._finished.items())
            self._progress(READ + (1 - READ) * 0.99 * done / sum(self._weights.values()))

        return report
