"""Verbs that measure: demo, audit, bench."""

import json
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.progress import bar
from deeprotect.cli.protect import BundlePath


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and results.json go.")] = Path("out/demo"),
) -> None:
    """Train, protect and attack on the embedded wrist data; writes a page and prints a table."""
    from deeprotect.cli.printing import results_table
    from deeprotect.evaluation.demo import demo as run

    with bar("demo") as progress:
        results = run(out, progress=progress)
    results_table(results)
    typer.echo(f"\nReport: {out / 'report.html'}")


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
    from deeprotect.evaluation.report.figures.audit import write
    from deeprotect.training.dataset import read_windows

    protector = Bundle.load(bundle)
    windows = None if data is None else read_windows(data, protector.policy)
    with bar("attacking") as progress:
        result = run(protector, runs=runs, windows=windows, progress=progress)
    if out is not None:
        write(out, result.findings)
    typer.echo(json.dumps(result.to_json(), indent=1) if as_json else "\n".join(map(str, result.findings)))
    for line in result.left_out:
        typer.echo(f"left out: {line}", err=True)
    if not result.holds:
        raise typer.Exit(1)


def bench(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Speed and memory as ratios against peers, measured in the same run; takes about half a minute."""
    from deeprotect.benchmark.benchmark import measure
    from deeprotect.cli.ratios import ratios_table

    with bar("measuring") as progress:
        ratios = measure(progress=progress)
    if as_json:
        typer.echo(json.dumps({"schema": 1, "ratios": [each.to_json() for each in ratios]}, indent=1))
    else:
        ratios_table(ratios)
