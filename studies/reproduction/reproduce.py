"""Reproducing the paper's evaluation: case by case, what is missing reported, the rest run."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deeprotect.errors import DatasetError, InputError
from deeprotect.evaluation.evaluator import Stopwatch
from deeprotect.evaluation.experiment import RunResult, measure_rows
from deeprotect.evaluation.results import Results
from deeprotect.evaluation.runner import Progress
from deeprotect.evaluation.workers import Jobs
from deeprotect.tables.outputs import Output
from studies.reproduction import authentication, feature_curves, listening, speech, transport
from studies.reproduction import case_files as files
from studies.reproduction.all_owners import measure_owners
from studies.reproduction.case import SHOWN_EPSILON, Case, CaseExperiment
from studies.reproduction.case_page import CaseLayout
from studies.reproduction.case_result import CaseResult, ExperimentResult
from studies.reproduction.feature_curves import CurvePoint, expected_seconds
from studies.reproduction.listening import SpeechSample
from studies.reproduction.size import FULL, Size

CASES = (authentication.CASE, transport.CASE, speech.CASE)
READ = 0.02
"""Share of the time that goes into reading data."""


@dataclass(frozen=True)
class ReproduceRequest:
    """A user's request; no numbers mean all of `cases`."""

    numbers: Sequence[int] = ()
    directory: Path | None = None
    size: Size = FULL
    jobs: Jobs = 1
    seed: int = 0
    command: str = "python -m studies reproduce"
    cases: Sequence[Case] = CASES

    def __post_init__(self) -> None:
        if (isinstance(self.jobs, int) and self.jobs < 1) or self.size.folds < 1:
            raise InputError("jobs and folds count from 1")

    @property
    def selected(self) -> list[Case]:
        known = {case.number: case for case in self.cases}
        for number in self.numbers:
            if number not in known:
                raise InputError(f"case study {number} is unknown; use {', '.join(map(str, known))}, or none for all")
        return [case for case in self.cases if not self.numbers or case.number in self.numbers]


@dataclass(frozen=True)
class Reproduction:
    """The case studies that could be run, how to get what was missing for the others, and where the time went."""

    layouts: Sequence[CaseLayout]
    missing: Sequence[str]
    seconds: dict[str, float]


Report = Callable[[CaseLayout], None]


def reproduce(
    out: Path, request: ReproduceRequest, *, progress: Progress = lambda _: None, report: Report = lambda _: None
) -> Reproduction:
    """Writes report.html, results.json, figures, tables and sounds into `out`; `report` gets each case once done."""
    cases, size = request.selected, request.size  # wrong input before any work
    Output.at(out).check_folder()
    with (watch := Stopwatch())("reading data"):
        experiments, missing = _read(cases, request)
    if not experiments:
        raise DatasetError(missing[0] if len(missing) == 1 else f"no case study has its data: {'; '.join(missing)}")
    seconds, meter = Counter(watch.seconds), _Meter(progress, _weights(experiments, size, request.seed))
    layouts = []
    for case in (case for case in cases if case.number in experiments):
        results = [_run(experiment, request, meter) for experiment in experiments[case.number]]
        for result in results:
            seconds.update(result.seconds)
        layouts.append(CaseLayout.of(CaseResult(case, results)))
        report(layouts[-1])
    files.write(out, layouts, missing=missing, caps=list(size.words), command=request.command, seed=request.seed)
    progress(1.0)
    return Reproduction(layouts, missing, dict(seconds))


def _read(cases: Sequence[Case], request: ReproduceRequest) -> tuple[dict[int, list[CaseExperiment]], list[str]]:
    experiments, missing = {}, []
    for case in cases:
        try:
            experiments[case.number] = case.read(request.directory, request.size, request.seed)
        except DatasetError as error:
            missing.append(f"case study {case.number}: {error}")
    return experiments, missing


def _run(experiment: CaseExperiment, request: ReproduceRequest, meter: "_Meter") -> ExperimentResult:
    """Rows, curves and sounds, all on the same folds."""
    plan, size = experiment.plan(request.size, jobs=request.jobs, seed=request.seed), request.size
    points: list[CurvePoint] = []
    samples: list[SpeechSample] = []
    if experiment.person is not None:
        progress = meter.stage(experiment.name)
        found = measure_owners(experiment.windows, experiment.policy, plan, person=experiment.person, progress=progress)
        return ExperimentResult(experiment, _results(experiment, found), seconds=found.seconds)
    with plan.prepared(experiment.windows, experiment.policy) as runner:
        found = measure_rows(runner, plan, progress=meter.stage(experiment.name))
        if some := min(len(runner.folds), experiment.curves):
            points = feature_curves.curves(
                runner, size, folds=some, progress=meter.stage(f"features {experiment.name}")
            )
        if experiment.files:
            samples = listening.listen(experiment, runner, voices=size.voices)
            meter.stage(f"sounds {experiment.name}")(1.0)
    return ExperimentResult(experiment, _results(experiment, found), points, samples, runner.seconds)


def _results(experiment: CaseExperiment, found: RunResult) -> Results:
    windows = experiment.windows
    return Results(
        rows=found.rows,
        left_out=found.left_out,
        run={
            "fingerprint": windows.fingerprint,
            "windows": f"{len(windows)} in all; {found.train} to train on, {found.test} tests over all folds",
            "split": experiment.split.words,
        },
    )


def _weights(experiments: dict[int, list[CaseExperiment]], size: Size, seed: int) -> dict[str, float]:
    """Seconds to expect for each stage, roughly."""
    weights: dict[str, float] = {}
    for experiment in (experiment for several in experiments.values() for experiment in several):
        folds = len(experiment.split.make_folds(experiment.windows, seed=seed))
        weights[experiment.name] = expected_seconds(experiment.settings(size.epsilons), folds=folds)
        if experiment.curves:
            weights[f"features {experiment.name}"] = feature_curves.weight(size, min(folds, experiment.curves))
        if experiment.files:
            weights[f"sounds {experiment.name}"] = expected_seconds(experiment.settings([SHOWN_EPSILON]), folds=1)
    return weights


class _Meter:
    """Convert the progress of stages into that of the whole."""

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
