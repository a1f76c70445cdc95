"""Verbs that look at a bundle: describe, verify, audit."""

from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.json_output import json_text
from deeprotect.cli.progress import bar
from deeprotect.cli.tables import Force
from deeprotect.errors import InputError

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle: a folder or a .zip file.")]
Key = Annotated[
    Path | None, typer.Option(metavar="PUBLIC", help="The Ed25519 public key that must have signed it, a PEM file.")
]


def describe(
    bundle: BundlePath,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the card as a page.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Say what may be inferred, what is promised, and what is not; in words that an officer can repeat.

    Example: deeprotect describe protector --html card.html
    """
    from deeprotect.bundle import Bundle
    from deeprotect.bundle.card import card
    from deeprotect.bundle.card_page import card_page
    from deeprotect.tables.atomic import whole_file
    from deeprotect.tables.output_checks import refuse_output

    if page is not None and as_json:
        raise InputError("--json prints the manifest and --html writes the card; ask for one at a time")
    if page is not None:
        refuse_output(page, [bundle], force=force)
    found = Bundle.load(bundle)
    if page is not None:
        with whole_file(page) as stream:
            stream.write(card_page(found).encode())
        typer.echo(f"{page}: the card of {bundle}", err=True)
        return
    typer.echo(found.manifest.to_json() if as_json else card(found), nl=False)


def verify(
    bundle: BundlePath,
    key: Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Work out again everything the bundle promises; exit code 1 when anything does not hold.

    Example: deeprotect verify protector --key public.pem
    """
    from deeprotect import verbs

    report = verbs.verify(bundle, key=key)
    typer.echo(json_text(report.to_json()) if as_json else str(report))
    if not report.holds:
        raise typer.Exit(1)


def audit(
    bundle: BundlePath,
    runs: Annotated[int, typer.Option(metavar="N", help="Releases of each of the two inputs.")] = 100_000,
    data: Annotated[str | None, typer.Option(metavar="TABLE", help="Labelled recordings, for named promises.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="PNG", help="A picture of the attack.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Attack the release, and print a lower bound on ε with its confidence; exit code 1 when it exceeds the claim.

    Example: deeprotect audit protector --runs 1000000 --out audit.png
    """
    from deeprotect import verbs

    with bar("attacking") as progress:
        result = verbs.audit(bundle, runs=runs, data=data, out=out, force=force, progress=progress)
    typer.echo(json_text(result.to_json()) if as_json else str(result))
    for line in result.left_out:
        typer.echo(f"left out: {line}", err=True)
    if not result.holds:
        raise typer.Exit(1)
