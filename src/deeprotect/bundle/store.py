"""Bundles on disk: a folder or a zip file, written whole or not at all, read with every hash checked."""

import secrets
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

from deeprotect.bundle.manifest import Manifest, Part
from deeprotect.errors import BundleError

MANIFEST = "manifest.json"
LARGEST_FILE = 1 << 29  # a zip entry that unpacks to more than this is not one of ours


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write all files under a temporary name, then move them to `path`; a bundle that is there is replaced."""
    if not path.parent.is_dir():
        raise BundleError(f"{path}: the folder {path.parent} does not exist; create it first")
    if path.exists() and not _is_bundle(path):
        raise BundleError(f"{path}: exists and is not a bundle; choose another name or remove it")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        _write_zip(part, files) if path.suffix == ".zip" else _write_folder(part, files)
        if path.is_dir():
            old = path.with_name(f".{path.name}.{secrets.token_hex(4)}.old")
            path.rename(old)
            part.rename(path)
            shutil.rmtree(old)
        else:
            part.replace(path)
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)


def read(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest and the files it names, each matching its hash."""
    manifest = Manifest.from_json(file_of(path, MANIFEST), where=str(path))
    files = {name: file_of(path, name) for name in manifest.files}
    for name, content in files.items():
        if manifest.files[name] != Part.of(content):
            raise BundleError(f"{path}: {name} was altered or truncated (its hash differs); get a fresh copy")
    return manifest, files


def _is_bundle(path: Path) -> bool:
    if path.is_dir():
        return (path / MANIFEST).is_file() or not any(path.iterdir())
    return path.suffix == ".zip" and zipfile.is_zipfile(path)


def _write_folder(part: Path, files: Mapping[str, bytes]) -> None:
    part.mkdir()
    for name, content in files.items():
        (part / name).write_bytes(content)


def _write_zip(part: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def file_of(path: Path, name: str) -> bytes:
    if not path.exists():
        raise BundleError(f"{path}: no such bundle; make one with `deeprotect train`")
    if Path(name).name != name:
        raise BundleError(f"{path}: names a file outside the bundle ({name}); refused")
    try:
        return (path / name).read_bytes() if path.is_dir() else _from_zip(path, name)
    except (FileNotFoundError, KeyError):
        missing = "not a DEEProtect bundle: " if name == MANIFEST else "incomplete: "
        raise BundleError(f"{path}: {missing}{name} is missing") from None
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
        raise BundleError(f"{path}: {name} cannot be read: not a whole zip file or folder ({error})") from None


def _from_zip(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo(name).file_size > LARGEST_FILE:
            raise BundleError(f"{path}: {name} is too large to be part of a bundle; refused")
        return archive.read(name)
