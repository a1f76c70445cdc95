"""Verbs around a bundle: train, protect, describe."""

import json
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.progress import bar

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle: a folder or a .zip file.")]


def train(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy, a TOML file.")],
    data: Annotated[str, typer.Option(metavar="TABLE", help="Labelled recordings: CSV, Parquet or Arrow.")],
    out: Annotated[
        Path, typer.Option(metavar="BUNDLE", help="The bundle to write: a folder, or a name ending in .zip.")
    ],
) -> None:
    """Learn a protector."""
    from deeprotect.policy import Policy
    from deeprotect.protector import Protector

    rules = Policy.load(policy)
    with bar("training") as progress:
        protector = Protector.fit(rules, data, progress=progress)
    protector.save(out)
    typer.echo(f"{out}: {protector.bundle.mechanism.event}, mechanism {protector.bundle.mechanism.name}", err=True)


def protect(
    bundle: BundlePath,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="CSV, Parquet or Arrow; - for CSV on standard input.")],
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="The same kinds; - for CSV on standard output.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard error.")] = False,
) -> None:
    """Release a table of any size: the same form, other content."""
    from deeprotect.protector import Protector

    protector = Protector.load(bundle)
    with bar("protecting") as progress:
        summary = protector.protect_file(source, output, progress=progress)
    if as_json:
        typer.echo(json.dumps(summary.to_json()), err=True)
        return
    if summary.dropped:
        typer.echo(f"left out, not channels: {', '.join(summary.dropped)}", err=True)
    typer.echo(f"released {summary.rows} rows; {summary.spending}", err=True)


def describe(
    bundle: BundlePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Say what may be inferred, what is promised, and what is not."""
    from deeprotect.protector import Protector

    protector = Protector.load(bundle)
    typer.echo(protector.bundle.manifest.to_json() if as_json else protector.describe(), nl=False)
