"""Folders that an export writes: scripts that were built from device/ and browser/, with a protector beside them."""

import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from deeprotect.errors import InputError
from deeprotect.tables.atomic import whole_folder

FILES = Path(__file__).parent / "files"


def export_folder(out: Path, *, ours: Iterable[str]) -> AbstractContextManager[Path]:
    """A folder, whole or not at all; one that holds nothing but `ours`, as an earlier export wrote it, is replaced."""
    if out.exists() and not (out.is_dir() and {each.name for each in out.iterdir()} <= set(ours)):
        raise InputError(f"{out}: exists and is no export; choose another name or remove it")
    return whole_folder(out)


def copy_built(name: str, folder: Path) -> None:
    """One of the built parts."""
    shutil.copytree(FILES / name, folder, dirs_exist_ok=True)
