"""Verbs that measure policies: demo, evaluate, tune."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from deeprotect.cli.printing import bar
from deeprotect.cli.protect import Data
from deeprotect.cli.tables import READ, Columns, Force, Map, options

Report = Annotated[Path, Option(metavar="DIR", help="The folder for report.html and results.json.")]
Jobs = Annotated[int | None, Option(metavar="N", help="Processes; default: one per core.")]
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler, tcp://HOST:PORT.")
]


def demo(out: Report = Path("out/demo"), force: Force = False) -> None:
    """Train, protect and attack on real wrist data; write a report and print a table.

    Example: deeprotect demo --out out/demo
    """
    from deeprotect.api.evaluating import cores
    from deeprotect.cli.printing import results_table
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.evaluation.runs.demo import demo as run
    from deeprotect.tables.outputs import Output

    Output.at(out).check_report(REPORT, force=force)
    with bar("demo") as progress:
        results = run(out, jobs=cores(), progress=progress)
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
        Option(metavar="BUNDLE", help="Measure this bundle as it ships, on a table it was not trained on."),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        Option("--sensitive", metavar="LABEL", help="With --bundle: attack this label, too; repeatable."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        Option("--mechanism", metavar="M", help="Only this mechanism; repeatable."),
    ] = None,
    epsilon: Annotated[
        list[float] | None,
        Option("--epsilon", metavar="E", help="An ε per draw; repeatable (default: the policy's, and 1, 2, 5, 10)."),
    ] = None,
    apps: Annotated[
        list[str] | None,
        Option("--app", metavar="MODULE:OBJECT", help="Also your own app, a scikit-learn estimator; repeatable."),
    ] = None,
    attackers: Annotated[
        list[str] | None,
        Option("--attacker", metavar="MODULE:OBJECT", help="Also your own attacker, an estimator; repeatable."),
    ] = None,
    methods: Annotated[
        list[str] | None,
        Option("--method", metavar="MODULE:OBJECT", help="Also your own release method, a transformer; repeatable."),
    ] = None,
    split: Annotated[
        str,
        Option(
            metavar="KIND",
            help="Hold out test data by time, pieces, recording or group (see --group; --strangers for new people), or "
            "by COLUMN=VALUE[,VALUE]: the rows to test on.",
        ),
    ] = "time",
    group: Annotated[
        str | None, Option(metavar="COLUMN", help="Keep rows with the same value of COLUMN on one side.")
    ] = None,
    strangers: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Also measure on people the protector was not trained on, named in COLUMN."),
    ] = None,
    folds: Annotated[int, Option(metavar="N", help="Folds of cross-validation; 1 holds out one part.")] = 1,
    repeats: Annotated[int, Option(metavar="N", help="Repeat everything with this many seeds.")] = 1,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    quick: Annotated[bool, Option("--quick", help="Fewer windows, ε, attackers and epochs; about a minute.")] = False,
    seed: Annotated[int, Option(help="Random seed for splits, models and noise.")] = 0,
    show_raw: Annotated[
        bool, Option("--show-raw", help="Show raw samples of one recording in the report, not an average.")
    ] = False,
    show_names: Annotated[
        bool, Option("--show-names", help="Name classes that may be people; by default they are numbered.")
    ] = False,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Measure what apps and attackers infer from a release, the policy's own first; write a report and results.json.

    Example: deeprotect evaluate policy.toml --data walk.csv --out report --quick

    Example: deeprotect evaluate --bundle protector --data held-back.csv --out report
    """
    given = options(locals())
    from deeprotect import api
    from deeprotect.cli.printing import print_seconds, results_table

    if apps or attackers or methods:
        sys.path.insert(0, str(Path.cwd()))  # for the user's modules; scripts do not search the current folder
    with bar("evaluating") as progress:
        results = api.evaluate(table=given.pop("data"), **given, progress=progress)
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
    table: Annotated[str, Argument(metavar="TABLE", help=f"Labelled recordings, {READ}.")],
    policy: Annotated[Path, Argument(metavar="POLICY", help="A policy file (see init) to start from.")],
    out: Annotated[Path, Option(metavar="DIR", help="The folder for policy.toml and report.html.")],
    accuracy: Annotated[
        float | None,
        Option(metavar="SHARE", help="The accuracy the app needs, such as 0.9; finds the lowest ε an hour."),
    ] = None,
    epsilon_per_hour: Annotated[
        float | None, Option(metavar="E", help="What an hour may cost, such as 60; finds the best accuracy.")
    ] = None,
    jobs: Jobs = None,
    mapped: Map = None,
    columns: Columns = None,
    force: Force = False,
) -> None:
    """Propose ε, hold or script, window and mechanism for one goal; exit code 1 if no tried policy meets it.

    Example: deeprotect tune walk.csv policy.toml --accuracy 0.9 --out tuned

    Example: deeprotect tune walk.csv policy.toml --epsilon-per-hour 60 --out tuned
    """
    given = options(locals())
    from deeprotect import api

    with bar("tuning") as progress:
        tuned = api.tune(**given, progress=progress)
    typer.echo(f"proposed, of {len(tuned.tried)} policies tried: {tuned}")
    typer.echo(f"\nPolicy: {out / 'policy.toml'}\nReport: {out / 'report.html'}")
    if not tuned.holds:
        typer.echo(tuned.shortfall, err=True)
        raise typer.Exit(1)
