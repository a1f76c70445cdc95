"""The verb `studies`: the channel on six real tables, with attackers and intervals."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from deeprotect.cli.progress import bar


def studies(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; without one, all.")] = None,
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Local copies of the data sets.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the results as JSON.")] = None,
    seed: Annotated[int, typer.Option(help="Of splits, models and evaluation noise.")] = 0,
) -> None:
    """Measure the default mechanism on real tables: apps, attackers, limits, 95 % intervals."""
    from deeprotect.cli.tables import study_lines
    from deeprotect.evaluation.studies import Finding, chosen
    from deeprotect.evaluation.studies import studies as run
    from deeprotect.release.sinks import whole_file

    total, done = len(chosen(names or [])), 0

    with bar("studies") as progress:

        def report(finding: Finding) -> None:
            nonlocal done
            done += 1
            progress(done / total)
            for line in study_lines(finding):
                typer.echo(line)

        found: list[Any] = [each.to_json() for each in run(names or [], directory=source, seed=seed, report=report)]
    if out is not None:
        with whole_file(out) as stream:
            stream.write(json.dumps(found, indent=1).encode())
