"""Verbs that measure: demo."""

from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.progress import bar


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and results.json go.")] = Path("out/demo"),
) -> None:
    """Train, protect and attack on the embedded wrist data; writes a page and prints a table."""
    from deeprotect.cli.tables import results_table
    from deeprotect.evaluation.demo import demo as run

    with bar("demo") as progress:
        results = run(out, progress=progress)
    results_table(results)
    typer.echo(f"\nReport: {out / 'report.html'}")
