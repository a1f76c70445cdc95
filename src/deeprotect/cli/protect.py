"""Verbs around a bundle: train, protect, describe, verify."""

import json
from pathlib import Path
from typing import Annotated

import typer

from deeprotect.cli.budget import refuse_half_a_ledger, remembered
from deeprotect.cli.progress import bar
from deeprotect.errors import printable

Key = Annotated[
    Path | None, typer.Option(metavar="PUBLIC", help="The Ed25519 public key that must have signed it, a PEM file.")
]
BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle: a folder or a .zip file.")]


def train(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy, a TOML file.")],
    data: Annotated[str, typer.Option(metavar="TABLE", help="Labelled recordings: CSV, Parquet or Arrow.")],
    out: Annotated[
        Path, typer.Option(metavar="BUNDLE", help="The bundle to write: a folder, or a name ending in .zip.")
    ],
    sign: Annotated[
        Path | None, typer.Option(metavar="KEY", help="Sign the bundle with this Ed25519 private key, a PEM file.")
    ] = None,
) -> None:
    """Learn a protector."""
    from deeprotect.bundle import signing
    from deeprotect.bundle.card import measured
    from deeprotect.policy import Policy
    from deeprotect.protector import Protector

    rules = Policy.load(policy)
    key = signing.private_key(sign) if sign else None  # a wrong key is said before the long work, not after
    with bar("training") as progress:
        protector = Protector.fit(rules, data, progress=progress)
    signing.save(protector.bundle, out, key=key) if key else protector.save(out)
    typer.echo(f"{out}: {protector.bundle.mechanism.event}, mechanism {protector.bundle.mechanism.name}", err=True)
    for line in measured(protector.bundle):
        typer.echo(line, err=True)


def protect(
    bundle: BundlePath,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="CSV, Parquet or Arrow; - for CSV on standard input.")],
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="The same kinds; - for CSV on standard output.")],
    key: Key = None,
    ledger: Annotated[
        str | None, typer.Option(metavar="LEDGER", help="Remember charges in this file, or postgresql+psycopg://… .")
    ] = None,
    stream: Annotated[str | None, typer.Option(metavar="NAME", help="Whose data it is, in the ledger.")] = None,
    person: Annotated[str | None, typer.Option(metavar="NAME", help="The stream's person; default: itself.")] = None,
    app: Annotated[str | None, typer.Option(metavar="NAME", help="Who gets the release.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard error.")] = False,
) -> None:
    """Release a table of any size: the same form, other content; with --key only by a signed bundle.

    With --ledger and --stream charges are remembered, the policy's budget is kept, and the same file gives the same
    release again, at no further cost.
    """
    from deeprotect.bundle import signing
    from deeprotect.protector import Protector
    from deeprotect.tables.outputs import refuse_input, refuse_unknown_kind, refuse_unwritable

    refuse_input(output, [source])
    refuse_unwritable(output)
    refuse_unknown_kind(output)
    refuse_half_a_ledger(ledger, output, stream=stream, person=person, app=app)
    signed = signing.load(bundle, key=signing.public_key(key)) if key else None
    protector = Protector(signed) if signed else Protector.load(bundle)
    book = protector.ledger(ledger, stream=stream, person=person, app=app or "") if ledger and stream else None
    with bar("protecting") as progress:
        summary = protector.protect_file(source, output, ledger=book, progress=progress)
    if as_json:
        typer.echo(json.dumps(summary.to_json()), err=True)
        return
    if summary.dropped:
        typer.echo(f"left out, not channels: {printable(', '.join(summary.dropped), 1000)}", err=True)
    if summary.warning:
        typer.echo(f"warning: {summary.warning}", err=True)
    typer.echo(f"released {summary.rows} rows; {summary.spending}", err=True)
    for line in remembered(summary.draws, ledger, stream):
        typer.echo(line, err=True)
    certificate = protector.bundle.manifest.certificate
    if certificate.get("codes_without_noise"):
        typer.echo(f"noise: {certificate['noise']}", err=True)


def describe(
    bundle: BundlePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Say what may be inferred, what is promised, and what is not."""
    from deeprotect.protector import Protector

    protector = Protector.load(bundle)
    typer.echo(protector.bundle.manifest.to_json() if as_json else protector.describe(), nl=False)


def verify(
    bundle: BundlePath,
    key: Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Work out again everything the bundle promises; exit code 1 when anything does not hold."""
    from deeprotect.bundle import signing
    from deeprotect.bundle.verification.verify import verify as run

    report = run(bundle, key=signing.public_key(key) if key else None)
    typer.echo(json.dumps(report.to_json(), indent=1, ensure_ascii=False) if as_json else str(report))
    if not report.holds:
        raise typer.Exit(1)
