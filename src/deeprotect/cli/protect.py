"""Verbs around a bundle: train, protect, export, describe, verify."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

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
    sources: Annotated[
        list[str],
        typer.Argument(metavar="INPUT…", help="CSV, Parquet or Arrow: files, folders, patterns; - for standard input."),
    ],
    output: Annotated[
        str,
        typer.Argument(metavar="OUTPUT", help="A file of the same kinds, - for CSV on standard output; or a folder."),
    ],
    key: Key = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Threads that encode; without it, one per core.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard error.")] = False,
) -> None:
    """Release tables of any size: the same form, other content; with --key only by a signed bundle.

    Several inputs go into an output file as one table, or file by file into a folder; what an earlier run has finished
    in that folder stays.
    """
    from deeprotect.bundle import signing
    from deeprotect.protector import Protector
    from deeprotect.tables.data_set import is_folder
    from deeprotect.tables.output_checks import refuse_input, refuse_unknown_kind, refuse_unwritable

    if not is_folder(output):
        refuse_input(output, sources)
        refuse_unwritable(output)
        refuse_unknown_kind(output)
    signed = signing.load(bundle, key=signing.public_key(key)) if key else None
    protector = Protector(signed) if signed else Protector.load(bundle)
    with bar("protecting") as progress:
        if is_folder(output):
            summary = protector.protect_files(sources, output, workers=workers, progress=progress)
        else:
            summary = protector.protect_file(sources, output, workers=workers, progress=progress)
    if as_json:
        typer.echo(json.dumps(summary.to_json()), err=True)
        return
    if summary.dropped:
        typer.echo(f"left out, not channels: {printable(', '.join(summary.dropped), 1000)}", err=True)
    if summary.warning:
        typer.echo(f"warning: {summary.warning}", err=True)
    files = f" of {summary.files} files, {summary.kept} files were finished before" if is_folder(output) else ""
    typer.echo(f"released {summary.rows} rows{files}; {summary.spending}", err=True)
    certificate = protector.bundle.manifest.certificate
    if certificate.get("codes_without_noise"):
        typer.echo(f"noise: {certificate['noise']}", err=True)


def export(
    bundle: BundlePath,
    target: Annotated[Literal["browser"], typer.Option(help="Where it will run.")] = "browser",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to write; without it, BUNDLE-browser here.")
    ] = None,
) -> None:
    """Write the bundle in the form that another place runs: a browser extension, and a script for a site."""
    from deeprotect.bundle import Bundle
    from deeprotect.exporting.browser import export_browser

    exported = export_browser(Bundle.load(bundle), out or Path(f"{bundle.name.removesuffix('.zip')}-{target}"))
    typer.echo(f"{exported.extension}: load it in chrome://extensions (developer mode, load unpacked)", err=True)
    typer.echo(f"{exported.script}: for a site that embeds it; about.html beside it says what that is worth", err=True)


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
