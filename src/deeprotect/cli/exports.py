"""The verb that takes a protector elsewhere: export."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from deeprotect.cli.bundles import BundlePath
from deeprotect.cli.tables import Force

if TYPE_CHECKING:
    from deeprotect.bundle import Bundle


def export(
    bundle: BundlePath,
    target: Annotated[Literal["browser", "device", "onnx"], typer.Option(help="Where it will run.")] = "browser",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to write; without it, BUNDLE-TARGET here.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the bundle in the form that another place runs.

    browser: an extension, and a script for a site. device: a file for the npm package `deeprotect`, and its digest.
    onnx: encoder and public windows for everything else.

    Example: deeprotect export protector --target browser --out protector-browser
    """
    from deeprotect.bundle import Bundle
    from deeprotect.tables.output_checks import refuse_folder

    folder = out or Path(f"{bundle.name.removesuffix('.zip')}-{target}")
    refuse_folder(folder, [bundle], force=force)
    for line in {"browser": _browser, "device": _device, "onnx": _onnx}[target](Bundle.load(bundle), folder):
        typer.echo(line, err=True)


def _browser(bundle: "Bundle", folder: Path) -> Iterator[str]:
    from deeprotect.exporting.browser import export_browser

    exported = export_browser(bundle, folder)
    yield f"{exported.extension}: load it in chrome://extensions (developer mode, load unpacked)"
    yield f"{exported.script}: for a site that embeds it; about.html beside it says what that is worth"


def _device(bundle: "Bundle", folder: Path) -> Iterator[str]:
    from deeprotect.exporting.device import export_device

    exported = export_device(bundle, folder)
    yield f"{exported.protector}: import it into an app beside the npm package deeprotect"
    yield f"{exported.script}: the same package as one script, for an app that hosts an engine"
    yield f"SHA-256 {exported.digest}: pin it where the file is fetched from elsewhere"


def _onnx(bundle: "Bundle", folder: Path) -> Iterator[str]:
    from deeprotect.exporting.onnx import export_onnx

    exported = export_onnx(bundle, folder)
    yield f"{exported.encoder}: windows in, codes out; {exported.manifest} says how to draw and what to show"
