"""Verbs that measure: demo, evaluate, reproduce, audit, bench."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deeprotect.cli.progress import bar
from deeprotect.cli.protect import BundlePath

if TYPE_CHECKING:
    from deeprotect.reproduction.reproduce import ReproduceRequest

Report = Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and results.json go.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Processes; without it, one per core.")]


def demo(out: Report = Path("out/demo")) -> None:
    """Train, protect and attack on the embedded wrist data; writes a page and prints a table."""
    from deeprotect.cli.printing import results_table
    from deeprotect.evaluation.runs.demo import demo as run

    with bar("demo") as progress:
        results = run(out, progress=progress)
    results_table(results)
    typer.echo(f"\nReport: {out / 'report.html'}")


def evaluate(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="A policy file (see init).")],
    data: Annotated[str, typer.Option(metavar="TABLE", help="Labelled recordings: CSV, Parquet or Arrow.")],
    out: Report,
    mechanism: Annotated[
        list[str] | None,
        typer.Option("--mechanism", metavar="M", help="Only this mechanism, classical features or peer; repeatable."),
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option("--epsilon", metavar="E", help="An ε per window; repeatable (1, 2, 5, 10).")
    ] = None,
    split: Annotated[str, typer.Option(metavar="KIND", help="time, recording, or group (with --group).")] = "time",
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Keep its values on one side of a split.")] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Cross-validation; 1 holds out a part.")] = 1,
    repeats: Annotated[int, typer.Option(metavar="N", help="How often, each time with another seed.")] = 1,
    jobs: Jobs = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer windows, ε, attackers and epochs; about a minute.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of splits, models and evaluation noise.")] = 0,
) -> None:
    """Compare mechanisms on a table: apps, attackers, limits, intervals; writes a report and results.json."""
    from deeprotect.cli.printing import print_seconds, results_table
    from deeprotect.errors import InputError
    from deeprotect.evaluation.runs.own_table import EvaluateRequest
    from deeprotect.evaluation.runs.own_table import evaluate as run
    from deeprotect.policy import Policy

    if data == "-":
        raise InputError("--data - cannot be read twice; give a file")
    if split == "group" and group is None:
        raise InputError("--split group needs the column to split by; give it with --group")
    request = EvaluateRequest(
        mechanisms=mechanism or (),
        epsilons=epsilon or (),
        split="group" if group and split == "time" else split,
        group=group,
        folds=folds,
        repeats=repeats,
        jobs=_cores() if jobs is None else jobs,
        quick=quick,
        seed=seed,
        command=_command(),
    )
    with bar("evaluating") as progress:
        results, seconds = run(Policy.load(policy), data, out, request=request, progress=progress)
    results_table(results.to_json())
    for line in results.left_out:
        typer.echo(f"left out: {line}", err=True)
    print_seconds(seconds)
    typer.echo(f"\nReport: {out / 'report.html'}")


def reproduce(
    cases: Annotated[
        list[int] | None, typer.Argument(metavar="[1] [2] [3]", help="Which case studies; without one, all.")
    ] = None,
    out: Report = Path("out/reproduce"),
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Local copies of the data sets.")] = None,
    study: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Instead: the default mechanism on a known table; repeatable; all for all."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(metavar="STUDY", help="Instead: features and noise compared as in the paper.")
    ] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Cross-validation (10; 2 with --quick).")] = None,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds, windows, ε and epochs; minutes.")] = False,
    seed: Annotated[int, typer.Option(help="Of splits, owners, models and evaluation noise.")] = 0,
) -> None:
    """Run the paper's three case studies again on public data; writes every figure, its number and ours."""
    from deeprotect.reproduction.reproduce import ReproduceRequest
    from deeprotect.reproduction.size import FULL, QUICK

    if study:
        _studies(study, out, source=source, seed=seed)
    if features:
        _features(features, out, source=source, seed=seed)
    if cases or not (study or features):
        request = ReproduceRequest(
            numbers=cases or (),
            directory=source,
            size=(QUICK if quick else FULL).with_folds(folds),
            jobs=_cores() if jobs is None else jobs,
            seed=seed,
            command=_command(),
        )
        _case_studies(request, out)


def _case_studies(request: "ReproduceRequest", out: Path) -> None:
    from deeprotect.cli.printing import case_table, print_seconds
    from deeprotect.reproduction.case import SHOWN_EPSILON
    from deeprotect.reproduction.reproduce import reproduce as run

    with bar("reproducing") as progress:
        done = run(out, request, progress=progress, report=lambda layout: case_table(layout, SHOWN_EPSILON))
    for line in done.missing:
        typer.echo(f"not run: {line}", err=True)
    for layout in done.layouts:
        for line in layout.result.left_out:
            typer.echo(f"left out: {line}", err=True)
    print_seconds(done.seconds)
    typer.echo(f"\nReport: {out / 'report.html'}")


def _studies(names: list[str], out: Path, *, source: Path | None, seed: int) -> None:
    from deeprotect.cli.printing import study_lines
    from deeprotect.evaluation.report.report_files import make_folders, write_json
    from deeprotect.reproduction.studies import run_study, select_studies

    studies = select_studies([] if "all" in names else names)
    make_folders(out)
    results = []
    with bar("studies") as progress:
        for study in studies:
            results.append(run_study(study, directory=source, seed=seed))
            progress(len(results) / len(studies))
            typer.echo("\n".join(study_lines(results[-1])))
    write_json(out / "studies.json", [each.to_json() for each in results])


def _features(name: str, out: Path, *, source: Path | None, seed: int) -> None:
    from deeprotect.cli.printing import features_table
    from deeprotect.evaluation.report.report_files import make_folders, write_json
    from deeprotect.reproduction.feature_comparison import compare

    make_folders(out)
    with bar("features"):
        comparison = compare(name, directory=source, seed=seed)
    features_table(comparison)
    write_json(out / "features.json", comparison.to_json())


def audit(
    bundle: BundlePath,
    runs: Annotated[int, typer.Option(metavar="N", help="Releases of each of the two inputs.")] = 100_000,
    data: Annotated[str | None, typer.Option(metavar="TABLE", help="Labelled recordings, for named promises.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="PNG", help="A picture of the attack.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Attack the release, and print a lower bound on ε with its confidence; exit code 1 when it exceeds the claim."""
    from deeprotect.audit.audit import audit as run
    from deeprotect.bundle import Bundle
    from deeprotect.evaluation.report.figures.audit_bounds import write
    from deeprotect.training.labelled_windows import read_windows

    protector = Bundle.load(bundle)
    windows = None if data is None else read_windows(data, protector.policy)
    with bar("attacking") as progress:
        result = run(protector, runs=runs, windows=windows, progress=progress)
    if out is not None:
        write(out, result.findings)
    typer.echo(json.dumps(result.to_json(), indent=1) if as_json else str(result))
    for line in result.left_out:
        typer.echo(f"left out: {line}", err=True)
    if not result.holds:
        raise typer.Exit(1)


def bench(
    short: Annotated[bool, typer.Option("--short", help="A minute instead of ten; some parts are left out.")] = False,
    part: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this part; repeatable.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write bench.json, a picture and performance.md.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Exit code 1 where a ratio is worse than in this file by over a third."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Speed and memory as ratios against peers, measured in the same run."""
    from deeprotect.benchmark.benchmark import measure_all, measure_short
    from deeprotect.benchmark.reference import held_against, read_reference
    from deeprotect.cli.printing import ratios_table

    reference = read_reference(against) if against else {}
    with bar("measuring") as progress:
        measure = measure_short if short else measure_all
        results, worse = held_against(lambda: measure(part or (), progress=progress), reference)
    if out is not None:
        from deeprotect.benchmark.page import write

        write(out, results)
    typer.echo(json.dumps(results.to_json(), indent=1)) if as_json else ratios_table(results.ratios)
    for line in worse:
        typer.echo(line, err=True)
    if worse:
        raise typer.Exit(1)


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def _command() -> str:
    return shlex.join(["deeprotect", *sys.argv[1:]])
