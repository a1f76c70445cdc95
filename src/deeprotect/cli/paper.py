"""Verbs that measure the project itself: reproduce, bench."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deeprotect.cli.evaluate import Jobs, Report, Scheduler, command_line, processes_or_cluster, refuse_report
from deeprotect.cli.json_output import json_text
from deeprotect.cli.progress import bar
from deeprotect.cli.tables import Force
from deeprotect.errors import InputError

BENCH = ("bench.json", "bench.svg", "performance.md")
if TYPE_CHECKING:
    from deeprotect.reproduction.reproduce import ReproduceRequest


def reproduce(
    cases: Annotated[
        list[int] | None, typer.Argument(metavar="CASE", help="Which case studies (1, 2, 3); without one, all.")
    ] = None,
    out: Report = Path("out/reproduce"),
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Local copies of the data sets.")] = None,
    study: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Instead: the default mechanism on a known table; repeatable; all for all."),
    ] = None,
    app: Annotated[
        str, typer.Option(metavar="MODEL", help="With --study: what the app is, as svm, naive_bayes, ridge.")
    ] = "random_forest",
    features: Annotated[
        str | None, typer.Option(metavar="STUDY", help="Instead: features and noise compared as in the paper.")
    ] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Cross-validation (3; 2 with --quick).")] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds, windows, ε and epochs; minutes.")] = False,
    seed: Annotated[int, typer.Option(help="Of splits, owners, models and evaluation noise.")] = 0,
    force: Force = False,
) -> None:
    """Run the paper's three case studies again on public data; writes every figure, its number and ours.

    Example: deeprotect reproduce 3 --quick --out out/speech
    """
    from deeprotect.evaluation.report.report_files import REPORT
    from deeprotect.reproduction.reproduce import ReproduceRequest
    from deeprotect.reproduction.size import FULL, QUICK

    wanted = {"studies.json": bool(study), "features.json": bool(features)}
    cases_wanted = bool(cases) or not any(wanted.values())
    parts = [name for name, asked in wanted.items() if asked] + [*REPORT] * cases_wanted
    refuse_report(out, parts, force=force)
    if study:
        _studies(study, out, source=source, seed=seed, app=app)
    if features:
        _features(features, out, source=source, seed=seed)
    if cases_wanted:
        request = ReproduceRequest(
            numbers=cases or (),
            directory=source,
            size=(QUICK if quick else FULL).with_folds(folds),
            jobs=processes_or_cluster(jobs, scheduler),
            seed=seed,
            command=command_line(),
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


def _studies(names: list[str], out: Path, *, source: Path | None, seed: int, app: str) -> None:
    from deeprotect.attack.models import require_model
    from deeprotect.cli.printing import study_lines
    from deeprotect.evaluation.report.report_files import write_json
    from deeprotect.reproduction.studies import run_study, select_studies
    from deeprotect.tables.atomic import files_into

    require_model(app)
    studies = select_studies([] if "all" in names else names)
    results = []
    with bar("studies") as progress:
        for study in studies:
            results.append(run_study(study, directory=source, seed=seed, app=app))
            progress(len(results) / len(studies))
            typer.echo("\n".join(study_lines(results[-1])))
    with files_into(out) as folder:
        write_json(folder / "studies.json", [each.to_json() for each in results])


def _features(name: str, out: Path, *, source: Path | None, seed: int) -> None:
    from deeprotect.cli.printing import features_table
    from deeprotect.evaluation.report.report_files import write_json
    from deeprotect.reproduction.feature_comparison import compare
    from deeprotect.tables.atomic import files_into

    with bar("features"):
        comparison = compare(name, directory=source, seed=seed)
    features_table(comparison)
    with files_into(out) as folder:
        write_json(folder / "features.json", comparison.to_json())


def bench(
    what: Annotated[
        Literal["peers", "device", "gateway", "scale"],
        typer.Argument(
            help="Speed against peers, a bundle's cost on a device, streams that a gateway holds, or Spark and Dask."
        ),
    ] = "peers",
    bundle: Annotated[Path | None, typer.Argument(metavar="BUNDLE", help="With device or gateway.")] = None,
    short: Annotated[
        bool, typer.Option("--short", help="A minute instead of twenty; some parts are left out.")
    ] = False,
    part: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this part; repeatable.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write bench.json, a picture and performance.md there.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Exit code 1 where a ratio is worse than in this file by over a third."),
    ] = None,
    streams: Annotated[int, typer.Option(min=1, metavar="N", help="With gateway: how many to begin with.")] = 1000,
    rows: Annotated[
        int | None, typer.Option(min=1_000_000, metavar="N", help="With scale: rows of the table (50 million).")
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Speed and memory as ratios against peers, measured in the same run.

    With scale: Spark on one worker and two, Dask likewise, and 2,000 devices on Spark; needs Java.

    With device: processor time, memory and delay of a live stream with a bundle and without, in Python and, in a clone
    after `make browser`, in the engines of phones and in Chromium. With gateway: live streams on this machine, more and
    more of them.

    Example: deeprotect bench --out out/bench

    Example: deeprotect bench device protector

    Example: deeprotect bench gateway protector --streams 1000
    """
    if what != "peers" and (short or part or out or against):
        raise InputError(f"bench {what} takes a bundle, or --rows, and --json only; leave out the rest")
    if what == "scale":
        _bench_scale(rows, as_json=as_json)
        return
    if what == "device":
        _bench_device(bundle, as_json=as_json)
        return
    if what == "gateway":
        _bench_gateway(bundle, streams, as_json=as_json)
        return
    if bundle is not None:
        raise InputError("only `bench device` and `bench gateway` take a bundle; leave it out")
    if out is not None:
        refuse_report(out, BENCH, force=force)
    from deeprotect.benchmark.benchmark import measure_all, measure_short
    from deeprotect.benchmark.reference import held_against, read_reference
    from deeprotect.cli.printing import ratios_table

    reference = read_reference(against) if against else {}
    with bar("measuring") as progress:
        measure = measure_short if short else measure_all
        results, worse = held_against(lambda names: measure(names or part or (), progress=progress), reference)
    if out is not None:
        from deeprotect.benchmark.performance_page import write

        write(out, results)
    typer.echo(json_text(results.to_json())) if as_json else ratios_table(results.ratios)
    for line in worse:
        typer.echo(line, err=True)
    if worse:
        raise typer.Exit(1)


def _bench_device(bundle: Path | None, *, as_json: bool) -> None:
    from deeprotect.benchmark.device import left_out, measure
    from deeprotect.cli.printing import overheads_table

    if bundle is None:
        raise InputError("bench device needs a bundle: deeprotect bench device BUNDLE")
    overheads = measure(bundle)
    if as_json:
        typer.echo(json_text({"schema": 1, "overheads": [each.to_json() for each in overheads]}))
    else:
        overheads_table(overheads)
    for place in left_out(overheads):
        typer.echo(f"left out: {place}; in a clone with node and Chromium, run `make browser` first", err=True)


def _bench_scale(rows: int | None, *, as_json: bool) -> None:
    from deeprotect.benchmark.scale import ROWS, scale, streams
    from deeprotect.cli.printing import ratios_table

    def say(line: str) -> None:
        typer.echo(line, err=True)

    ratios = [*scale(rows or ROWS, say=say), streams(say=say)]
    if as_json:
        typer.echo(json_text({"schema": 1, "ratios": [each.to_json() for each in ratios]}))
    else:
        ratios_table(ratios)


def _bench_gateway(bundle: Path | None, streams: int, *, as_json: bool) -> None:
    from deeprotect.benchmark.gateway_load import most_held
    from deeprotect.cli.printing import load_table

    if bundle is None:
        raise InputError("bench gateway needs a bundle: deeprotect bench gateway BUNDLE")
    loads = list(most_held(bundle, streams, say=lambda line: typer.echo(line, err=True)))
    if as_json:
        typer.echo(json_text({"schema": 1, "loads": [each.to_json() for each in loads]}))
    else:
        load_table(loads)
