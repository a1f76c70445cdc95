"""Verbs that measure policies: demo, evaluate, tune."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from deeprotect.cli.printing import bar
from deeprotect.cli.protect import Data
from deeprotect.cli.tables import Columns, Force, Map, options

Report = Annotated[Path, Option(metavar="DIR", help="Where report.html and results.json go.")]
Jobs = Annotated[int | None, Option(metavar="N", help="Processes; without it, one per core.")]
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Measure on the Dask cluster of this scheduler, tcp://HOST:PORT.")
]


def demo(out: Report = Path("out/demo"), force: Force = False) -> None:
    """Train, protect and attack on the embedded wrist data; writes a page and prints a table.

    Example: deeprotect demo --out out/demo
    """
    from deeprotect import verbs
    from deeprotect.cli.printing import results_table
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.demo import demo as run

    verbs.refuse_report(out, REPORT, force=force)
    with bar("demo") as progress:
        results = run(out, jobs=verbs.cores(), progress=progress)
    results_table(results)
    typer.echo(f"\nReport: {out / 'report.html'}")


def evaluate(
    data: Data,
    out: Report,
    policy: Annotated[
        Path | None, Argument(metavar="POLICY", help="A policy file (see init); not with --bundle.")
    ] = None,
    bundle: Annotated[
        Path | None,
        Option(metavar="BUNDLE", help="Measure this bundle as it is shipped, on a table it was not trained on."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        Option("--mechanism", metavar="M", help="Only this mechanism; repeatable."),
    ] = None,
    epsilon: Annotated[
        list[float] | None, Option("--epsilon", metavar="E", help="An ε per window; repeatable (1, 2, 5, 10).")
    ] = None,
    split: Annotated[str, Option(metavar="KIND", help="time, pieces, recording, group (with --group).")] = "time",
    group: Annotated[str | None, Option(metavar="COLUMN", help="Keep its values on one side of a split.")] = None,
    strangers: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Also measure on people the protector never met; COLUMN names people."),
    ] = None,
    folds: Annotated[int, Option(metavar="N", help="Cross-validation; 1 holds out a part.")] = 1,
    repeats: Annotated[int, Option(metavar="N", help="How often, each time with another seed.")] = 1,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    quick: Annotated[bool, Option("--quick", help="Fewer windows, ε, attackers and epochs; about a minute.")] = False,
    seed: Annotated[int, Option(help="Random seed for splits, models and noise.")] = 0,
    show_raw: Annotated[
        bool, Option("--show-raw", help="Draw raw samples of one recording in the report, not an average.")
    ] = False,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Compare mechanisms on a table: apps, attackers, limits, intervals; writes a report and results.json.

    Example: deeprotect evaluate policy.toml --data walk.csv --out report --quick

    Example: deeprotect evaluate --bundle protector --data held-back.csv --out report
    """
    given = options(locals())
    from deeprotect import verbs
    from deeprotect.cli.printing import print_seconds, results_table

    with bar("evaluating") as progress:
        results = verbs.evaluate(**given, progress=progress)
    results_table(results.to_json())
    for line in results.left_out:
        typer.echo(f"left out: {line}", err=True)
    print_seconds(results.seconds)
    typer.echo(f"\nReport: {out / 'report.html'}")
    for line in results.broken:
        typer.echo(f"does not hold: {line}", err=True)
    if results.broken:
        raise typer.Exit(1)


def tune(
    table: Annotated[
        str, Argument(metavar="TABLE", help="Labelled recordings: CSV, Parquet or Arrow; file, folder, pattern.")
    ],
    policy: Annotated[Path, Argument(metavar="POLICY", help="A policy file (see init) to start from.")],
    out: Annotated[Path, Option(metavar="DIR", help="Where policy.toml and report.html go.")],
    accuracy: Annotated[
        float | None, Option(metavar="SHARE", help="The accuracy the app needs, such as 0.9, at the lowest ε an hour.")
    ] = None,
    epsilon_per_hour: Annotated[
        float | None, Option(metavar="E", help="The ε an hour may cost, such as 60; finds the highest accuracy.")
    ] = None,
    jobs: Jobs = None,
    seed: Annotated[int, Option(help="Random seed for splits, models and noise.")] = 0,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Propose ε, how long a draw stands or a script, window and mechanism for one goal; exit code 1 if none meets it.

    Example: deeprotect tune walk.csv policy.toml --accuracy 0.9 --out tuned

    Example: deeprotect tune walk.csv policy.toml --epsilon-per-hour 60 --out tuned
    """
    given = options(locals())
    from deeprotect import verbs

    with bar("tuning") as progress:
        tuned = verbs.tune(**given, progress=progress)
    typer.echo(f"proposed, of {len(tuned.tried)} policies tried: {tuned}")
    typer.echo(f"\nPolicy: {out / 'policy.toml'}\nReport: {out / 'report.html'}")
    if not tuned.holds:
        typer.echo(f"no policy that was tried reaches {tuned.goal}; this one comes nearest", err=True)
        raise typer.Exit(1)
