"""A bundle for browsers: an extension to load, and one script for a site that embeds it."""

from dataclasses import dataclass
from pathlib import Path

from deeprotect.bundle import Bundle
from deeprotect.exporting.built_files import copy_built, export_folder
from deeprotect.exporting.protector_file import PROTECTOR, ProtectorFile

EXTENSION, EMBEDDED, SCRIPT = "extension", "embedded", "deeprotect.js"


@dataclass(frozen=True)
class Exported:
    """Where the parts were written."""

    extension: Path
    script: Path


def export_browser(bundle: Bundle, out: Path) -> Exported:
    """Write both into a folder, whole or not at all; one that an earlier export wrote is replaced."""
    protector = ProtectorFile.of(bundle)
    with export_folder(out, ours=(EXTENSION, EMBEDDED)) as folder:
        copy_built(EXTENSION, folder / EXTENSION)
        copy_built(EMBEDDED, folder / EMBEDDED)
        (folder / EXTENSION / "bundle").mkdir()
        (folder / EXTENSION / "bundle" / PROTECTOR).write_text(protector.text, encoding="ascii")
        script = folder / EMBEDDED / SCRIPT
        script.write_text(_embedded(script.read_text(encoding="utf-8"), protector.text), encoding="utf-8")
    return Exported(out / EXTENSION, out / EMBEDDED / SCRIPT)


def _embedded(script: str, protector: str) -> str:
    """The script with the bundle in it, visible to nothing else in the page."""
    literal = protector.strip().replace("</", "<\\/")  # a page may hold the script in its own text
    return f"(() => {{\nconst deeprotectBundle = {literal};\n{script}}})();\n"
