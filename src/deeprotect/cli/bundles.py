"""Verbs on a bundle: describe, verify, audit, export."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from deeprotect.cli.printing import bar, json_text
from deeprotect.cli.tables import Force
from deeprotect.errors import InputError

if TYPE_CHECKING:
    from deeprotect.bundle import Bundle
    from deeprotect.bundle.ready import Entry


BundlePath = Annotated[
    Path, Argument(metavar="BUNDLE", help="A bundle, a folder or .zip file, or a name of `protectors`.")
]
Key = Annotated[
    Path | None, Option(metavar="PUBLIC", help="Require a signature by this Ed25519 public key, a PEM file.")
]


def describe(
    bundle: BundlePath,
    page: Annotated[
        Path | None, Option("--html", metavar="FILE", help="Write the card as an HTML page instead.")
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Print the model card: what may be inferred, what is promised, and what is not.

    Example: deeprotect describe protector --html card.html
    """
    from deeprotect.bundle import Bundle
    from deeprotect.bundle.card import card, card_page
    from deeprotect.tables.atomic import whole_file
    from deeprotect.tables.outputs import Output

    if page is not None and as_json:
        raise InputError("--json prints the manifest and --html writes the card; ask for one at a time")
    if page is not None:
        Output.at(page).check([bundle], force=force)
    found = Bundle.load(bundle)
    if page is not None:
        with whole_file(page) as stream:
            stream.write(card_page(found).encode())
        typer.echo(f"{page}: the card of {bundle}", err=True)
        return
    typer.echo(found.manifest.to_json() if as_json else card(found), nl=False)


def protectors(as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False) -> None:
    """List protectors that need no training: `deeprotect protect activity walk.csv released.csv`.

    Example: deeprotect protectors --json
    """
    from deeprotect.bundle import Bundle, ready
    from deeprotect.cli.printing import protector_lines

    found = [(name, Bundle.load(ready.FOLDER / f"{name}.zip"), entry) for name, entry in ready.entries().items()]
    if as_json:
        typer.echo(json_text([_facts(*each) for each in found]))
        return
    for each in found:
        typer.echo("\n".join(protector_lines(_facts(*each))))


def _facts(name: str, bundle: "Bundle", entry: "Entry") -> dict[str, Any]:
    from deeprotect.bundle import ready
    from deeprotect.bundle.card import measured, new_people

    policy = bundle.policy
    apart = [line for result in bundle.manifest.results for line in new_people(result, policy)]
    return {
        "name": name,
        "useful": list(policy.inferences.useful),
        "sensitive": list(policy.inferences.sensitive),
        "promise": str(bundle.mechanism.event),
        "epsilon": bundle.mechanism.event.epsilon,
        "seconds_per_draw": float(policy.seconds_per_draw),
        "rate_hz": bundle.schema.rate_hz,
        "channels": {channel.name: channel.unit for channel in bundle.schema.channels},
        "licence": entry.licence,
        "measured": [line for line in measured(bundle) if line not in apart],
        "new_people": ready.figures_on_new_people(entry, bundle.manifest.results),
        "digest": entry.digest,
    }


def verify(
    bundle: BundlePath,
    key: Key = None,
    as_json: Annotated[bool, Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Recompute everything that the bundle promises; exit code 1 if anything does not hold.

    Example: deeprotect verify protector --key public.pem
    """
    from deeprotect import api

    report = api.verify(bundle, key=key)
    typer.echo(json_text(report.to_json()) if as_json else str(report))
    if not report.holds:
        raise typer.Exit(1)


def audit(
    bundle: BundlePath,
    runs: Annotated[int, Option(metavar="N", help="How often to release each of the two inputs.")] = 100_000,
    data: Annotated[str | None, Option(metavar="TABLE", help="Labelled recordings to try as inputs, too.")] = None,
    out: Annotated[Path | None, Option(metavar="PNG", help="Also draw the attack, as a PNG file.")] = None,
    force: Force = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Attack the release and print a lower bound on ε with its confidence.

    Exit code 1 if it exceeds the claim, or what the mechanism's own numbers allow between the two inputs attacked.

    Example: deeprotect audit protector --runs 1000000 --out audit.png
    """
    from deeprotect import api

    with bar("attacking") as progress:
        result = api.audit(bundle, runs=runs, table=data, out=out, force=force, progress=progress)
    typer.echo(json_text(result.to_json()) if as_json else str(result))
    if not result.holds:
        raise typer.Exit(1)


def export(
    bundle: BundlePath,
    target: Annotated[Literal["browser", "device", "onnx"], Option(help="Where it will run.")] = "browser",
    out: Annotated[Path | None, Option(metavar="DIR", help="The folder to write; default: BUNDLE-TARGET.")] = None,
    force: Force = False,
) -> None:
    """Write the bundle for another runtime.

    browser: an extension, and a script for a site. device: a file for the npm package `deeprotect`, and its digest.
    onnx: the encoder and the public windows, for any other runtime.

    Example: deeprotect export protector --target browser --out protector-browser
    """
    from deeprotect.bundle import Bundle
    from deeprotect.tables.outputs import Output

    folder = out or Path(f"{bundle.name.removesuffix('.zip')}-{target}")
    Output.at(folder).check_whole_folder([bundle], force=force)
    for line in _exported(target, Bundle.load(bundle), folder):
        typer.echo(line, err=True)


def _exported(target: str, bundle: "Bundle", folder: Path) -> Iterator[str]:
    from deeprotect.exporting import targets
    from deeprotect.exporting.protector_file import PROTECTOR

    if target == "browser":
        targets.export_browser(bundle, folder)
        script = folder / targets.EMBEDDED / targets.SCRIPT
        yield f"{folder / targets.EXTENSION}: load it in chrome://extensions (developer mode, load unpacked)"
        yield f"{script}: for a site that embeds it; about.html beside it explains its limits"
    elif target == "device":
        digest = targets.export_device(bundle, folder)
        yield f"{folder / PROTECTOR}: import it into an app beside the npm package deeprotect"
        yield f"{folder / targets.SCRIPT}: the same package as one script, for an app that hosts an engine"
        yield f"SHA-256 {digest}: pin it if the file is fetched from elsewhere"
    else:
        targets.export_onnx(bundle, folder)
        manifest = folder / targets.MANIFEST
        yield f"{folder / targets.ENCODER}: windows in, codes out; {manifest} explains how to draw and what to show"
