"""Verbs on real tables: studies of the channel, and the paper's comparison of features."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from deeprotect.cli.progress import bar

Source = Annotated[Path | None, typer.Option("--from", metavar="DIR", help="Local copies of the data sets.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the results as JSON.")]
Seed = Annotated[int, typer.Option(help="Of splits, models and evaluation noise.")]


def studies(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; without one, all.")] = None,
    source: Source = None,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Measure the default mechanism on real tables: apps, attackers, limits, 95 % intervals."""
    from deeprotect.cli.printing import study_lines
    from deeprotect.reproduction.studies import Finding, chosen
    from deeprotect.reproduction.studies import studies as run

    total, done = len(chosen(names or [])), 0

    with bar("studies") as progress:

        def report(finding: Finding) -> None:
            nonlocal done
            done += 1
            progress(done / total)
            for line in study_lines(finding):
                typer.echo(line)

        found = [each.to_json() for each in run(names or [], directory=source, seed=seed, report=report)]
    _write(out, found)


def features(
    name: Annotated[str, typer.Argument(metavar="[STUDY]", help="A study's windows.")] = "hapt-person",
    source: Source = None,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Compare seven features of every minimiser, and the noise that each mechanism needs, as the paper does."""
    from deeprotect.cli.printing import features_table
    from deeprotect.reproduction.feature_comparison import compare

    with bar("features"):
        comparison = compare(name, directory=source, seed=seed)
    features_table(comparison)
    _write(out, comparison.to_json())


def _write(out: Path | None, content: Any) -> None:
    from deeprotect.tables.atomic import whole_file

    if out is not None:
        with whole_file(out) as stream:
            stream.write(json.dumps(content, indent=1).encode())
