"""A bundle for apps: the protector, its digest, and the runtime as one script for engines that an app hosts itself."""

from dataclasses import dataclass
from pathlib import Path

from deeprotect.bundle import Bundle
from deeprotect.exporting.built_files import copy_built, export_folder
from deeprotect.exporting.protector_file import PROTECTOR, ProtectorFile

PART, SCRIPT, DIGEST = "device", "deeprotect.js", "protector.sha256"


@dataclass(frozen=True)
class Exported:
    """Where the protector was written, and the digest that a host pins."""

    protector: Path
    script: Path
    digest: str


def export_device(bundle: Bundle, out: Path) -> Exported:
    """Write them into a folder, whole or not at all; one that an earlier export wrote is replaced."""
    protector = ProtectorFile.of(bundle)
    with export_folder(out, ours=(PROTECTOR, SCRIPT, DIGEST)) as folder:
        copy_built(PART, folder)
        (folder / PROTECTOR).write_text(protector.text, encoding="ascii")
        (folder / DIGEST).write_text(f"{protector.digest}  {PROTECTOR}\n", encoding="ascii")  # as sha256sum -c reads it
    return Exported(out / PROTECTOR, out / SCRIPT, protector.digest)
