"""Verbs that measure a policy: demo, evaluate."""

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.progress import bar
from deeprotect.cli.protect import Data
from deeprotect.cli.tables import Columns, Force, Map, pairs
from deeprotect.errors import InputError

Report = Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and results.json go.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Processes; without it, one per core.")]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Measure on the Dask cluster of this scheduler, tcp://HOST:PORT.")
]


def demo(out: Report = Path("out/demo"), force: Force = False) -> None:
    """Train, protect and attack on the embedded wrist data; writes a page and prints a table.

    Example: deeprotect demo --out out/demo
    """
    from deeprotect.cli.printing import results_table
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.demo import demo as run

    refuse_report(out, REPORT, force=force)
    with bar("demo") as progress:
        results = run(out, jobs=cores(), progress=progress)
    results_table(results)
    typer.echo(f"\nReport: {out / 'report.html'}")


def evaluate(
    data: Data,
    out: Report,
    policy: Annotated[
        Path | None, typer.Argument(metavar="POLICY", help="A policy file (see init); not with --bundle.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="BUNDLE", help="Measure this bundle as it is shipped, on a table it was not trained on."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        typer.Option("--mechanism", metavar="M", help="Only this mechanism, classical features or peer; repeatable."),
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option("--epsilon", metavar="E", help="An ε per window; repeatable (1, 2, 5, 10).")
    ] = None,
    split: Annotated[str, typer.Option(metavar="KIND", help="time, pieces, recording, group (with --group).")] = "time",
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Keep its values on one side of a split.")] = None,
    strangers: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Also measure on people the protector never met; COLUMN names people."),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Cross-validation; 1 holds out a part.")] = 1,
    repeats: Annotated[int, typer.Option(metavar="N", help="How often, each time with another seed.")] = 1,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer windows, ε, attackers and epochs; about a minute.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of splits, models and evaluation noise.")] = 0,
    show_raw: Annotated[
        bool, typer.Option("--show-raw", help="Draw raw samples of one recording in the report, not an average.")
    ] = False,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Compare mechanisms on a table: apps, attackers, limits, intervals; writes a report and results.json.

    Example: deeprotect evaluate policy.toml --data walk.csv --out report --quick

    Example: deeprotect evaluate --bundle protector --data held-back.csv --out report
    """
    _check_asked(policy, bundle, data, chosen=bool(mechanism or epsilon or strangers))
    if split == "group" and group is None:
        raise InputError("--split group needs the column to split by; give it with --group")
    from deeprotect.bundle import Bundle
    from deeprotect.cli.printing import print_seconds, results_table
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.own_bundle import evaluate_bundle
    from deeprotect.evaluation.runs.own_table import EvaluateRequest
    from deeprotect.evaluation.runs.own_table import evaluate as run
    from deeprotect.policy import Policy
    from deeprotect.tables.csv_reader import column_names

    refuse_report(out, REPORT, force=force)
    request = EvaluateRequest(
        mechanisms=mechanism or (),
        epsilons=epsilon or (),
        split="group" if group and split == "time" else split,
        group=group,
        strangers=strangers,
        folds=folds,
        repeats=repeats,
        jobs=processes_or_cluster(jobs, scheduler),
        quick=quick,
        seed=seed,
        show_raw=show_raw,
        mapped=pairs(mapped),
        columns=column_names(columns),
        command=command_line(),
    )
    with bar("evaluating") as progress:
        if bundle is not None:
            results, seconds = evaluate_bundle(Bundle.load(bundle), data, out, request=request, progress=progress)
        elif policy is not None:
            results, seconds = run(Policy.load(policy), data, out, request=request, progress=progress)
    results_table(results.to_json())
    for line in results.left_out:
        typer.echo(f"left out: {line}", err=True)
    print_seconds(seconds)
    typer.echo(f"\nReport: {out / 'report.html'}")


def _check_asked(policy: Path | None, bundle: Path | None, data: list[str], *, chosen: bool) -> None:
    if (policy is None) == (bundle is None):
        raise InputError("give either a POLICY or --bundle, which brings its own policy")
    if bundle is not None and chosen:
        raise InputError("--bundle is measured as it is; leave out --mechanism, --epsilon and --strangers")
    if "-" in data:
        raise InputError("--data - cannot be read twice; give a file")


def refuse_report(out: Path, parts: Iterable[str], *, force: bool) -> None:
    """Before the work: a folder that cannot be, or that holds an earlier report."""
    from deeprotect.tables.output_checks import refuse_existing_in, refuse_unwritable_folder

    refuse_unwritable_folder(out)
    if not force:
        refuse_existing_in(out, parts)


def processes_or_cluster(jobs: int | None, scheduler: str | None) -> int | str:
    if jobs is not None and scheduler is not None:
        raise InputError("--jobs are processes here, --scheduler is a cluster elsewhere; give one of them")
    return scheduler or (cores() if jobs is None else jobs)


def cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


def command_line() -> str:
    return shlex.join(["deeprotect", *sys.argv[1:]])
