"""Reproducing the paper's evaluation: case by case, what is missing reported, the rest run."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deeprotect.errors import DatasetError, InputError
from deeprotect.evaluation import runner as running
from deeprotect.evaluation import tasks
from deeprotect.evaluation.experiment import Progress
from deeprotect.evaluation.results import Results
from deeprotect.evaluation.stopwatch import Stopwatch
from deeprotect.reproduction import authentication as first
from deeprotect.reproduction import case_files as files
from deeprotect.reproduction import feature_curves as features
from deeprotect.reproduction import listening
from deeprotect.reproduction import speech as third
from deeprotect.reproduction import transport as second
from deeprotect.reproduction.case import SHOWN_EPSILON, Case, Part
from deeprotect.reproduction.case_page import Story
from deeprotect.reproduction.case_result import Chapter, Outcome
from deeprotect.reproduction.size import FULL, Size

CASES = (first.CASE, second.CASE, third.CASE)
READ = 0.02
"""Share of the time that goes into reading data."""


@dataclass(frozen=True)
class Request:
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


Tell = Callable[[Story], None]


def reproduce(
    out: Path, request: Request, *, progress: Progress = lambda _: None, tell: Tell = lambda _: None
) -> Reproduction:
    """Writes report.html, results.json, figures, tables and sounds into `out`; `tell` gets each case once done."""
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
            tell(story)
    files.write(out, stories, missing=missing, caps=list(size.words), command=request.command, seed=request.seed)
    progress(1.0)
    return Reproduction(stories, missing, dict(seconds))


def _read(cases: Sequence[Case], request: Request) -> tuple[dict[int, list[Part]], list[str]]:
    parts, missing = {}, []
    for case in cases:
        try:
            parts[case.number] = case.read(request.directory, request.size, request.seed)
        except DatasetError as error:
            missing.append(f"case study {case.number}: {error}")
    return parts, missing


def _chapter(case: Case, parts: Sequence[Part], request: Request, meter: "_Meter") -> Chapter:
    """All experiments of a case, and the sounds of those that can be heard."""
    size, watch, seconds = request.size, Stopwatch(), Counter[str]()
    outcomes = [_outcome(part, request, meter, seconds=seconds) for part in parts]
    samples = []
    with watch("sounds"):
        for part in (part for part in parts if part.files):
            samples += listening.listen(part, voices=size.voices, jobs=request.jobs, seed=request.seed)
            meter.done(f"sounds {part.name}")
    seconds.update(watch.seconds)
    return Chapter(case, outcomes, samples, dict(seconds))


def _outcome(part: Part, request: Request, meter: "_Meter", *, seconds: Counter[str]) -> Outcome:
    size, jobs, seed = request.size, request.jobs, request.seed
    plan = part.plan(size, jobs=jobs, seed=seed)
    found = running.run(part.windows, part.policy, plan, progress=meter.part(part.name))
    seconds.update(found.seconds)
    meter.done(part.name)
    points: list[features.Point] = []
    if part.curves:
        points, spent = features.curves(part, size, jobs=jobs, seed=seed, progress=meter.part(f"features {part.name}"))
        seconds.update(spent)
        meter.done(f"features {part.name}")
    results = Results(
        rows=found.rows,
        minimisers=[point.row for point in points],
        left_out=found.left_out,
        run={
            "fingerprint": part.windows.fingerprint,
            "windows": f"{len(part.windows)} in all; {found.train} to train on, {found.test} tests over all folds",
            "split": part.cut.words,
        },
    )
    return Outcome(part, results, points)


def _weights(parts: dict[int, list[Part]], size: Size, seed: int) -> dict[str, float]:
    """Seconds to expect for each stage, roughly."""
    weights: dict[str, float] = {}
    for part in (part for several in parts.values() for part in several):
        folds = len(part.cut.sides(part.windows, seed=seed))
        wanted = tasks.split(part.options, size.epsilons, folds=folds, shown=SHOWN_EPSILON)
        weights[part.name] = sum(task.weight for task in wanted)
        if part.curves:
            weights[f"features {part.name}"] = features.weight(size, folds)
        if part.files:
            sounds = tasks.split(part.options, [SHOWN_EPSILON], folds=1, shown=SHOWN_EPSILON)
            weights[f"sounds {part.name}"] = sum(task.weight for task in sounds)
    return weights


class _Meter:
    """From the progress of stages to that of the whole."""

    def __init__(self, progress: Progress, weights: dict[str, float]) -> None:
        self._progress = progress
        self._weights = weights
        self._finished: dict[str, float] = dict.fromkeys(weights, 0.0)
        progress(READ)

    def part(self, stage: str) -> Progress:
        def report(share: float) -> None:
            self._finished[stage] = share
            done = sum(self._weights[name] * share for name, share in self._finished.items())
            self._progress(READ + (1 - READ) * 0.99 * done / sum(self._weights.values()))

        return report

    def done(self, stage: str) -> None:
        self.part(stage)(1.0)
