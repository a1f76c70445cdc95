"""A bundle for browsers: an extension to load, and one script for a site that embeds it."""

import base64
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from deeprotect.bundle import Bundle
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.store import MANIFEST
from deeprotect.errors import BundleError, InputError
from deeprotect.exporting.motion_places import places_of
from deeprotect.tables.atomic import whole_folder

FILES = Path(__file__).parent / "files"
PLATFORM = "platform.json"
EXTENSION, EMBEDDED, SCRIPT = "extension", "embedded", "deeprotect.js"
RUNS = ("channel", "baseline", "paper", "laplace")
"""Mechanisms whose ε the browser can derive again."""


@dataclass(frozen=True)
class Exported:
    """Where the parts were written."""

    extension: Path
    script: Path


def export_browser(bundle: Bundle, out: Path) -> Exported:
    """Write both into a folder, whole or not at all; one that an earlier export wrote is replaced."""
    _check(bundle)
    if not (FILES / EXTENSION / "shim.js").is_file():
        raise InputError(
            "the browser's part is not built; run `make browser` (needs node 20 and npm) where you cloned it"
        )
    if out.exists() and not _is_ours(out):
        raise InputError(f"{out}: exists and is no export; choose another name or remove it")
    files = _bundle_files(bundle)
    with whole_folder(out) as folder:
        shutil.copytree(FILES / EXTENSION, folder / EXTENSION)
        shutil.copytree(FILES / EMBEDDED, folder / EMBEDDED)
        (folder / EXTENSION / "bundle").mkdir()
        for name, content in files.items():
            (folder / EXTENSION / "bundle" / name).write_bytes(content)
        script = folder / EMBEDDED / SCRIPT
        script.write_text(_embedded(script.read_text(encoding="utf-8"), files), encoding="utf-8")
    return Exported(out / EXTENSION, out / EMBEDDED / SCRIPT)


def _check(bundle: Bundle) -> None:
    if bundle.mechanism.scripts is not None:
        raise BundleError("a browser cannot release scripts; train without slots in the policy to export for it")
    if bundle.mechanism.name not in RUNS:
        raise BundleError(
            f"mechanism {bundle.mechanism.name} cannot be checked in a browser; train with mechanism = 'channel'"
        )


def _bundle_files(bundle: Bundle) -> dict[str, bytes]:
    """The bundle as it is, and the places of its channels beside it."""
    places = [place.to_json() for place in places_of(bundle.schema.channels)]
    return {
        MANIFEST: bundle.manifest.to_json(),
        TENSORS: bundle.files[TENSORS],
        PLATFORM: json.dumps(places, indent=1).encode() + b"\n",
    }


def _embedded(script: str, files: dict[str, bytes]) -> str:
    """The script with the bundle in it, visible to nothing else in the page."""
    texts = {
        "manifest": files[MANIFEST].decode(),
        "tensors": base64.b64encode(files[TENSORS]).decode(),
        "platform": files[PLATFORM].decode(),
    }
    bundle = json.dumps(texts).replace("</", "<\\/")  # a page may hold the script in its own text
    return f"(() => {{\nconst deeprotectBundle = {bundle};\n{script}}})();\n"


def _is_ours(path: Path) -> bool:
    """Nothing is removed that we did not write."""
    return path.is_dir() and {each.name for each in path.iterdir()} <= {EXTENSION, EMBEDDED}
