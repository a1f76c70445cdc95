"""Bundles on disk, as a folder or a zip file: written atomically, and read with every size and hash checked."""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from deeprotect.bundle import ready
from deeprotect.bundle.layers.tensors import TENSORS
from deeprotect.bundle.manifest import FileDigest, Manifest, digest
from deeprotect.errors import BundleError
from deeprotect.tables.atomic import whole_file, whole_folder

MANIFEST = "manifest.json"
CARD = "card.html"
OURS = {MANIFEST, TENSORS, CARD, "manifest.sig"}
LARGEST_FILE = 1 << 26
"""64 MB; larger files are refused."""
LARGEST_MANIFEST = 1 << 23
"""8 MB; parsed text takes many times its size."""
MOST_FILES, LONGEST_LIST = 64, 1 << 16
"""The most files of a zip file, and bytes of their list."""
_LINK = "{}: {} is a symbolic link, not a regular file; copy the bundle with its links followed (cp -rL)"
_LOCATOR = 20  # bytes before the last record, which locate the list of a ZIP64 file
_END = struct.Struct("<4s3H H2IH")  # the last record of a zip file: files, bytes of their list, where it begins


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write all files under a temporary name, then move them to `path`; an existing bundle is replaced."""
    refuse_place(path)
    if path.suffix == ".zip":
        with whole_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
            for name, content in files.items():
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        return
    with whole_folder(path) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)


def refuse_place(path: Path) -> None:
    """Refuse a path where no bundle can be written: only bundles are ever replaced."""
    if not path.name or path.name == "..":
        raise BundleError(f"{path}: it is a folder in use; give the name of a new one in it")
    if not path.parent.is_dir():
        raise BundleError(f"{path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BundleError(f"{path}: the folder {path.parent} cannot be written to; choose another")
    if os.path.lexists(path) and not _is_bundle(path):
        raise BundleError(f"{path}: exists and is not a bundle; choose another name or remove it")


def read(path: Path) -> tuple[Manifest, dict[str, bytes]]:
    """The manifest, and the tensors, which must have the size and hash in the manifest."""
    manifest = Manifest.from_json(file_of(path, MANIFEST), where=str(path))
    if ready.digest_of(ready.place_of(path)) not in (None, digest(manifest.model_dump(mode="json"))):
        raise BundleError(f"{path}: not the protector that came with this version; install deeprotect again")
    files = files_of(path, manifest)
    check_hashes(files, manifest, where=str(path))
    return manifest, files


def check_hashes(files: Mapping[str, bytes], manifest: Manifest, *, where: str) -> None:
    """Refuse files other than those that the manifest names, and files with another hash."""
    for name in {*files, *manifest.files}:
        if name not in files or manifest.files.get(name) != FileDigest.of(files[name]):
            raise BundleError(f"{where}: {name} was altered or truncated (its hash differs); get a fresh copy")


def files_of(path: Path, manifest: Manifest) -> dict[str, bytes]:
    """The file next to the manifest, which must have the size in the manifest."""
    if set(manifest.files) != {TENSORS}:
        raise BundleError(f"{path}: a bundle has one file beside its manifest, {TENSORS}; get a fresh copy")
    return {TENSORS: file_of(path, TENSORS, size=manifest.files[TENSORS].size)}


def file_of(path: Path, name: str, *, size: int | None = None) -> bytes:
    """One file; with `size`, only if it has that many bytes. Sizes are checked before anything is read.

    A path that does not exist may be the name of a ready protector.
    """
    path = ready.place_of(path)
    if not path.exists():
        raise BundleError(
            f"{path}: no such bundle; make one with `deeprotect train`, or take one of `deeprotect protectors`"
        )
    try:
        content = _from_folder(path, name, size) if path.is_dir() else _from_zip(path, name, size)
    except (FileNotFoundError, KeyError):
        missing = "not a DEEProtect bundle: " if name == MANIFEST else "incomplete: "
        raise BundleError(f"{path}: {missing}{name} is missing") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a whole zip file or folder"
        raise BundleError(f"{path}: {name} cannot be read: {reason or 'not a whole zip file or folder'}") from None
    return content


def _from_folder(path: Path, name: str, size: int | None) -> bytes:
    if (path / name).is_symlink():
        raise BundleError(_LINK.format(path, name))
    with _regular(path / name) as stream:
        found = os.fstat(stream.fileno()).st_size
        _check_size(path, name, found, size)
        return stream.read(found)


def _from_zip(path: Path, name: str, size: int | None) -> bytes:
    with _regular(path) as stream:
        if os.fstat(stream.fileno()).st_size > 2 * LARGEST_FILE:
            raise BundleError(f"{path}: is too large to be a bundle; refused")
        _check_end(path, stream)
        with zipfile.ZipFile(stream) as archive:
            if len(set(archive.namelist())) < len(archive.namelist()):
                raise BundleError(f"{path}: holds two files of one name; refused")
            member = archive.getinfo(name)
            if stat.S_ISLNK(member.external_attr >> 16):
                raise BundleError(_LINK.format(path, name))
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise BundleError(f"{path}: {name} is packed in an unusual way; zip the bundle again")
            _check_size(path, name, member.file_size, size)
            with archive.open(member) as inner:
                return inner.read(member.file_size)


def _check_end(path: Path, stream: BinaryIO) -> None:
    """Refuse a zip that lists too many files before the list is read: entries take far more memory than their bytes."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _LOCATOR - _END.size))
    large, record = stream.read(_LOCATOR), stream.read(_END.size)
    if len(record) < _END.size or not record.startswith(b"PK\5\6"):
        raise zipfile.BadZipFile
    *_, count, listed, _, _ = _END.unpack(record)
    if large.startswith(b"PK\6\7") or count > MOST_FILES or listed > LONGEST_LIST:
        raise BundleError(f"{path}: lists more files than a bundle has; refused")


def _regular(path: Path) -> BinaryIO:
    """Opens a regular file without blocking; a pipe, a socket or a device could hang or never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BundleError(f"{path}: is not a regular file; refused")
    return os.fdopen(descriptor, "rb")


def _check_size(path: Path, name: str, found: int, wanted: int | None) -> None:
    if found > (LARGEST_MANIFEST if name == MANIFEST else LARGEST_FILE):
        raise BundleError(f"{path}: {name} is too large to be part of a bundle; refused")
    if wanted is not None and found != wanted:
        raise BundleError(f"{path}: {name} was altered or truncated (its size differs); get a fresh copy")


def _is_bundle(path: Path) -> bool:
    if path.is_dir():
        return path.suffix != ".zip" and _are_ours([each.name for each in path.iterdir()])
    if path.suffix != ".zip" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return _are_ours(archive.namelist())


def _are_ours(names: Sequence[str]) -> bool:
    return not names or (MANIFEST in names and set(names) <= OURS)
