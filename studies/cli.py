"""The verbs of `python -m studies`: parse, call, print; no logic."""

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deeprotect.api.evaluating import processes_or_cluster
from deeprotect.cli.evaluate import Jobs, Report, Scheduler
from deeprotect.cli.printing import bar, json_text
from deeprotect.cli.tables import Force
from deeprotect.errors import InputError
from deeprotect.tables.outputs import Output

BENCH = ("bench.json", "bench.svg", "performance.md")
Source = Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Local copies of the data sets.")]
Found = Annotated[Path, typer.Option("--out", metavar="FILE", help="JSON file to write.")]
Epochs = Annotated[int | None, typer.Option(metavar="N", help="Fewer than usual, for a quick trial.")]
if TYPE_CHECKING:
    from deeprotect.evaluation.experiment import RunResult
    from deeprotect.evaluation.workers import Jobs as Processes
    from studies.benchmark.gateway_load import Trial
    from studies.reproduction.reproduce import ReproduceRequest


def reproduce(
    cases: Annotated[
        list[int] | None, typer.Argument(metavar="CASE", help="Which case studies (1, 2, 3); without one, all.")
    ] = None,
    out: Report = Path("out/reproduce"),
    source: Source = None,
    study: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Instead: the default mechanism on a known table; repeatable; all for all."),
    ] = None,
    app: Annotated[
        str, typer.Option(metavar="MODEL", help="With --study: what the app is, as svm, naive_bayes, ridge.")
    ] = "extra_trees",
    features: Annotated[
        str | None, typer.Option(metavar="STUDY", help="Instead: features and noise compared as in the paper.")
    ] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", help="Cross-validation (3; 2 with --quick).")] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer folds, windows, ε and epochs; minutes.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed for splits, owners, models and noise.")] = 0,
    force: Force = False,
) -> None:
    """Run the paper's three case studies again on public data; writes every figure, its number and ours.

    Example: python -m studies reproduce 3 --quick --out out/speech
    """
    from deeprotect.evaluation.report.report_files import REPORT
    from studies.reproduction.reproduce import ReproduceRequest
    from studies.reproduction.size import FULL, QUICK

    wanted = {"studies.json": bool(study), "features.json": bool(features)}
    cases_wanted = bool(cases) or not any(wanted.values())
    parts = [name for name, asked in wanted.items() if asked] + [*REPORT] * cases_wanted
    Output.at(out).check_report(parts, force=force)
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
            command=shlex.join(["python", "-m", "studies", *sys.argv[1:]]),
        )
        _case_studies(request, out)


def _case_studies(request: "ReproduceRequest", out: Path) -> None:
    from deeprotect.cli.printing import print_seconds
    from studies.printing import case_table
    from studies.reproduction.case import SHOWN_EPSILON
    from studies.reproduction.reproduce import reproduce as run

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
    from deeprotect.evaluation.report.report_files import write_json
    from deeprotect.tables.atomic import files_into
    from studies.printing import study_lines
    from studies.reproduction.known_tables import run_study, select_studies

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
    from deeprotect.evaluation.report.report_files import write_json
    from deeprotect.tables.atomic import files_into
    from studies.printing import features_table
    from studies.reproduction.feature_comparison import compare

    with bar("features"):
        comparison = compare(name, directory=source, seed=seed)
    features_table(comparison)
    with files_into(out) as folder:
        write_json(folder / "features.json", comparison.to_json())


def cadence(
    out: Found,
    source: Source = None,
    seed: Annotated[int, typer.Option(help="Random seed for models and noise.")] = 0,
    force: Force = False,
) -> None:
    """Steps a minute on MotionSense, read by an app and by the pedometer of a public package, raw and released.

    Example: python -m studies cadence --out out/cadence.json
    """
    from studies.printing import cadence_lines
    from studies.reproduction.cadence import measure

    Output.at(out).check(force=force)
    with bar("cadence"):
        result = measure(source, seed=seed)
    typer.echo("\n".join(cadence_lines(result)))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json_text(result.to_json()) + "\n")


def peers(
    out: Found,
    policy: Annotated[
        Path | None, typer.Argument(metavar="POLICY", help="A policy file (see `deeprotect init`); not with --study.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(metavar="TABLE", help="Labelled recordings for the policy; repeatable.")
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead: this study's table, on the field's split.")
    ] = None,
    source: Source = None,
    picture: Annotated[Path | None, typer.Option(metavar="SVG", help="With --study: draw it, too.")] = None,
    mechanism: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this peer; repeatable.")] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(metavar="E", help="Of peers that promise one; repeatable (the policy's).")
    ] = None,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer windows, attackers and epochs.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed for splits, models and noise.")] = 0,
) -> None:
    """What others do about private sensor data, beside a policy's own promise; with attackers who learn from releases.

    Example: python -m studies peers policy.toml --data walk.csv --out peers.json --quick

    Example: python -m studies peers --study motionsense-4-magnitudes-gender --from DIR --out peers.json
    """
    if study is not None:
        if policy or data or epsilon or quick:
            raise InputError("--study brings its own table and policy; leave out POLICY, --data, --epsilon and --quick")
        found = _peers_on(study, source, names=mechanism or (), jobs=processes_or_cluster(jobs, None), seed=seed)
        _written(found, out)
        if picture is not None:
            from studies.peers.picture import draw

            picture.write_text(draw(found.rows, "activity").svg_file())
        return
    if policy is None or not data or picture:
        raise InputError("give a policy and --data TABLE, or --study NAME, which also takes --picture")
    from deeprotect.cli.printing import results_table
    from deeprotect.evaluation.runs.own_table import EvaluateRequest
    from deeprotect.policy import Policy
    from studies.peers.comparison import compare

    request = EvaluateRequest(
        mechanisms=mechanism or (),
        epsilons=epsilon or (),
        jobs=processes_or_cluster(jobs, None),
        quick=quick,
        seed=seed,
    )
    asked = request.policy(Policy.load(policy))
    with bar("comparing") as progress:
        found = compare(request.read(data, asked), asked, request, progress=progress)
    results_table(_written(found, out))


def _peers_on(name: str, source: Path | None, *, names: Sequence[str], jobs: "Processes", seed: int) -> "RunResult":
    from studies.peers.benchmark import SENSITIVE, compare_on, lines
    from studies.reproduction.known_tables import select_studies

    (study,) = select_studies([name])
    data = study.load(source)
    asked = study.policy(data).vary(inferences={"useful": [study.useful], "sensitive": list(SENSITIVE)})
    windows, split = study.windows(data, asked), study.split_of(data)
    with bar("comparing") as progress:
        found = compare_on(windows, asked, split, study.draws, names=names, jobs=jobs, seed=seed, progress=progress)
    for line in lines(found.rows, study.useful):
        typer.echo(line)
    return found


def _written(found: "RunResult", out: Path) -> dict[str, Any]:
    """The rows as JSON, in the file as well; what was left out, and times, are printed."""
    from deeprotect.cli.printing import print_seconds
    from deeprotect.evaluation.results import Results

    results = Results(rows=found.rows, left_out=found.left_out).to_json()
    for line in found.left_out:
        typer.echo(f"left out: {line}", err=True)
    print_seconds(found.seconds)
    out.write_text(json_text(results) + "\n")
    return results


def membership(
    out: Found,
    source: Source = None,
    study: Annotated[str, typer.Option(metavar="NAME", help="Whose windows and inferences to take.")] = "hapt-mode",
    bundles: Annotated[int, typer.Option(metavar="N", help="Each trained on half of the people.")] = 10,
    epochs: Epochs = None,
    seed: Annotated[int, typer.Option(help="Of who takes part.")] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Processes.")] = 1,
) -> None:
    """Attack bundles: who took part in their training?

    Example: python -m studies membership --study watch-exercise --out membership.json
    """
    from studies.printing import membership_lines
    from studies.reproduction.known_tables import select_studies
    from studies.reproduction.membership import trial

    (chosen,) = select_studies([study])
    data = chosen.load(source)
    policy = chosen.policy(data).vary(privacy=trial.PRIVACY, training={"max_epochs": epochs} if epochs else {})
    with bar("membership") as progress:
        report = lambda done: progress(done / bundles)  # noqa: E731
        windows = chosen.windows(data, policy)
        found = trial.run(windows, policy, bundles=bundles, seed=seed, jobs=jobs, report=report)
    body = {"study": study, "bundles": bundles, "seed": seed, "epochs": epochs}
    out.write_text(json.dumps(body | {"settings": [each.to_json() for each in found]}, indent=1) + "\n")
    for each in found:
        typer.echo("\n".join(membership_lines(each)))


def ready(
    source: Source = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where they and protectors.toml are, or are to be.")
    ] = Path("src/deeprotect/protectors"),
    folds: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Measure on people kept apart in so many folds; 0 keeps the figures."),
    ] = 0,
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this one; repeatable.")] = None,
) -> None:
    """Train the protectors that come with the package, on MotionSense.

    Example: python -m studies ready --from DIR --folds 4
    """
    from studies.reproduction.ready import make

    make(source, out, folds=folds, only=only or (), say=lambda line: typer.echo(line, err=True))


def participants(source: Source = None) -> None:
    """What it would cost to hide who took part in the training.

    Example: python -m studies participants --from DIR
    """
    from studies.reproduction.known_tables import select_studies
    from studies.reproduction.membership.participants import STUDIES, measure

    for name in STUDIES:
        for line in measure(select_studies([name])[0], source):
            typer.echo(line)


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
    processes: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="With gateway: gateways, behind nginx if there are several.")
    ] = 2,
    ledger: Annotated[
        Literal["sqlite", "postgres"], typer.Option(help="With gateway: a new one; PostgreSQL is started for it.")
    ] = "sqlite",
    once: Annotated[bool, typer.Option("--once", help="With gateway: so many streams and no more.")] = False,
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

    Example: python -m studies bench --out out/bench

    Example: python -m studies bench device protector

    Example: python -m studies bench gateway protector --streams 1000 --processes 2 --ledger postgres
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
        if bundle is None:
            raise InputError("bench gateway needs a bundle: python -m studies bench gateway BUNDLE")
        from studies.benchmark.gateway_load import Trial

        _bench_gateway(Trial(bundle, processes=processes, ledger=ledger), streams, once=once, as_json=as_json)
        return
    if bundle is not None:
        raise InputError("only `bench device` and `bench gateway` take a bundle; leave it out")
    if out is not None:
        Output.at(out).check_report(BENCH, force=force)
    from studies.benchmark.benchmark import measure_all, measure_short
    from studies.benchmark.reference import held_against, read_reference
    from studies.printing import ratios_table

    reference = read_reference(against) if against else {}
    with bar("measuring") as progress:
        measure = measure_short if short else measure_all
        results, worse = held_against(lambda names: measure(names or part or (), progress=progress), reference)
    if out is not None:
        from studies.benchmark.performance_page import write

        write(out, results)
    typer.echo(json_text(results.to_json())) if as_json else ratios_table(results.ratios)
    for line in worse:
        typer.echo(line, err=True)
    if worse:
        raise typer.Exit(1)


def _bench_device(bundle: Path | None, *, as_json: bool) -> None:
    from studies.benchmark.device import left_out, measure
    from studies.printing import overheads_table

    if bundle is None:
        raise InputError("bench device needs a bundle: python -m studies bench device BUNDLE")
    overheads = measure(bundle)
    if as_json:
        typer.echo(json_text({"schema": 1, "overheads": [each.to_json() for each in overheads]}))
    else:
        overheads_table(overheads)
    for place in left_out(overheads):
        typer.echo(f"left out: {place}; in a clone with node and Chromium, run `make browser` first", err=True)


def _bench_scale(rows: int | None, *, as_json: bool) -> None:
    from studies.benchmark.scale import ROWS, scale, streams
    from studies.printing import ratios_table

    def say(line: str) -> None:
        typer.echo(line, err=True)

    ratios = [*scale(rows or ROWS, say=say), streams(say=say)]
    if as_json:
        typer.echo(json_text({"schema": 1, "ratios": [each.to_json() for each in ratios]}))
    else:
        ratios_table(ratios)


def _bench_gateway(trial: "Trial", streams: int, *, once: bool, as_json: bool) -> None:
    from studies.benchmark.gateway_load import measure, most_held
    from studies.printing import load_table

    more = most_held(trial, streams, say=lambda line: typer.echo(line, err=True))
    loads = [measure(trial, streams)] if once else list(more)
    if as_json:
        typer.echo(json_text({"schema": 1, "loads": [each.to_json() for each in loads]}))
    else:
        load_table(loads)


def faults(
    fault: Annotated[list[str] | None, typer.Argument(metavar="FAULT", help="Which; without one, all.")] = None,
) -> None:
    """Break gateways on purpose, under load and with real servers, and print the table of docs/gateway-faults.md.

    Eight minutes. Needs nginx, PostgreSQL and Mosquitto.

    Example: python -m studies faults killed burst
    """
    from studies.benchmark.faults import table

    typer.echo(table(fault or [], lambda line: typer.echo(line, err=True)))


def fleet(
    devices: Annotated[int, typer.Option(min=1, metavar="N", help="All of them live.")] = 1_000_000,
    message_seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="From one message to the next.")] = 1.0,
    episode_seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="From one draw to the next.")] = 30.0,
    check: Annotated[int, typer.Option(min=1000, metavar="N", help="Streams of the point that is checked.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What a fleet needs, from constants measured here; and the model against a point that it was not made from.

    Example: python -m studies fleet --devices 1000000 --episode-seconds 30
    """
    from studies.benchmark.fleet import Fleet, compressed_clock, constants

    found = constants(say=lambda line: typer.echo(line, err=True))
    planned, point = Fleet(devices, message_seconds, episode_seconds), compressed_clock(check)
    expected = point.draws * found.draw_clock
    checked = {"streams": check, "expected seconds": expected, "measured seconds": point.seconds}
    parts = {"gateway": planned.needs(found), "on devices": planned.on_devices(found), "check": checked}
    if as_json:
        typer.echo(json_text({"schema": 1, "constants": found.to_json(), **parts}))
        return
    for title, values in ({"constants": found.to_json()} | parts).items():
        typer.echo(f"{title}:")
        for name, value in values.items():
            typer.echo(f"  {name}: {value:,.4g}" if value < 100 else f"  {name}: {value:,.0f}")
