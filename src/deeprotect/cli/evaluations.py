"""Verbs that compare: evaluate a policy on a table, reproduce the paper's case studies."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.progress import bar

Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", metavar="M", help="Only this mechanism, classical features or peer; repeatable."),
]
Epsilons = Annotated[
    list[float] | None, typer.Option("--epsilon", metavar="E", help="An ε per window; repeatable (1, 2, 5, 10).")
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer windows, ε, attackers and epochs; about a minute.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Processes; without it, one per core.")]


def evaluate(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="A policy file (see init).")],
    data: Annotated[str, typer.Option(metavar="TABLE", help="Labelled recordings: CSV, Parquet or Arrow.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and results.json go.")],
    mechanism: Mechanisms = None,
    epsilon: Epsilons = None,
    split: Annotated[str, typer.Option(metavar="KIND", help="time, recording, or group (with --group).")] = "time",
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Keep its values on one side of a split.")] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Cross-validation; 1 holds out a part.")] = 1,
    repeats: Annotated[int, typer.Option(metavar="N", help="How often, each time with another seed.")] = 1,
    jobs: Jobs = None,
    quick: Quick = False,
    seed: Annotated[int, typer.Option(help="Of splits, models and evaluation noise.")] = 0,
) -> None:
    """Compare mechanisms on a table: apps, attackers, limits, intervals; writes a report and results.json."""
    from deeprotect.cli.printing import results_table
    from deeprotect.errors import InputError
    from deeprotect.evaluation.evaluate import Request
    from deeprotect.evaluation.evaluate import evaluate as run
    from deeprotect.policy import Policy

    if data == "-":
        raise InputError("--data - cannot be read twice; give a file")
    if split == "group" and group is None:
        raise InputError("--split group needs the column to split by; give it with --group")
    request = Request(
        mechanisms=mechanism or (),
        epsilons=epsilon or (),
        split="group" if group and split == "time" else split,
        group=group,
        folds=folds,
        repeats=repeats,
        jobs=_cores() if jobs is None else jobs,
        quick=quick,
        seed=seed,
        command=shlex.join(["deeprotect", *sys.argv[1:]]),
    )
    with bar("evaluating") as progress:
        results, seconds = run(Policy.load(policy), data, out, request=request, progress=progress)
    results_table(results.to_json())
    for line in results.left_out:
        typer.echo(f"left out: {line}", err=True)
    _where_the_time_went(seconds)
    typer.echo(f"\nReport: {out / 'report.html'}")


def reproduce(
    cases: Annotated[list[int] | None, typer.Argument(metavar="[1] [2] [3]", help="Which; without one, all.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and results.json go.")] = Path(
        "out/reproduce"
    ),
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Local copies of the data sets.")] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Cross-validation (10; 2 with --quick).")] = None,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds, windows, ε and epochs; minutes.")] = False,
    seed: Annotated[int, typer.Option(help="Of splits, owners, models and evaluation noise.")] = 0,
) -> None:
    """Run the paper's three case studies again on public data; writes every figure, its number and ours."""
    from deeprotect.cli.cases import case_table
    from deeprotect.reproduction.case import SHOWN_EPSILON
    from deeprotect.reproduction.reproduce import Request
    from deeprotect.reproduction.reproduce import reproduce as run
    from deeprotect.reproduction.size import FULL, QUICK

    request = Request(
        numbers=cases or (),
        directory=source,
        size=(QUICK if quick else FULL).with_folds(folds),
        jobs=_cores() if jobs is None else jobs,
        seed=seed,
        command=shlex.join(["deeprotect", *sys.argv[1:]]),
    )
    with bar("reproducing") as progress:
        done = run(out, request, progress=progress, tell=lambda story: case_table(story, SHOWN_EPSILON))
    for line in done.missing:
        typer.echo(f"not run: {line}", err=True)
    for story in done.stories:
        for line in story.chapter.left_out:
            typer.echo(f"left out: {line}", err=True)
    _where_the_time_went(done.seconds)
    typer.echo(f"\nReport: {out / 'report.html'}")


def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def _where_the_time_went(seconds: Mapping[str, float]) -> None:
    """On standard error, longest first: results are on standard output, and repeat."""
    parts = [f"{stage} {spent:.0f} s" for stage, spent in sorted(seconds.items(), key=lambda part: -part[1])]
    typer.echo(f"time, over all processes: {', '.join(parts)}", err=True)
