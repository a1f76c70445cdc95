"""The verb that takes a protector elsewhere: export."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from deeprotect.cli.bundles import BundlePath
from deeprotect.cli.tables import Force


def export(
    bundle: BundlePath,
    target: Annotated[Literal["browser"], typer.Option(help="Where it will run.")] = "browser",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder to write; without it, BUNDLE-browser here.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the bundle in the form that another place runs: a browser extension, and a script for a site.

    Example: deeprotect export protector --target browser --out protector-browser
    """
    from deeprotect.bundle import Bundle
    from deeprotect.exporting.browser import export_browser
    from deeprotect.tables.output_checks import refuse_folder

    folder = out or Path(f"{bundle.name.removesuffix('.zip')}-{target}")
    refuse_folder(folder, [bundle], force=force)
    exported = export_browser(Bundle.load(bundle), folder)
    typer.echo(f"{exported.extension}: load it in chrome://extensions (developer mode, load unpacked)", err=True)
    typer.echo(f"{exported.script}: for a site that embeds it; about.html beside it says what that is worth", err=True)
