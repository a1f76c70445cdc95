"""Fetching a data set from the publisher or a local copy, verified and unpacked once into a cache; and loading it."""

import hashlib
import shutil
import tarfile
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pooch

from deeprotect.datasets import registry, watch
from deeprotect.datasets.dataset import Dataset, tidy
from deeprotect.datasets.registry import DatasetEntry
from deeprotect.errors import DatasetError


def default_cache() -> Path:
    return Path(pooch.os_cache("deeprotect")) / "datasets"


def fetch(name: str, *, source: Path | None = None, cache: Path | None = None) -> Path:
    """The folder that contains the data set's files; downloaded unless `source` or the cache has it.

    `source` is a folder that contains NAME.tar.xz, NAME.zip or the unpacked folder NAME, or one of these itself.
    """
    entry = registry.entry(name)
    if entry.package is not None:
        return require_root(entry, watch.folder())
    home = (cache or default_cache()) / name
    if source is not None:
        return _from_local(entry, Path(source), home)
    if (root := find_root(entry, home)) is not None:
        return root
    archive = _download(entry, home.parent)
    try:
        return _unpack(entry, archive, home)
    finally:
        archive.unlink()  # do not find a wrong archive next time


def locate(name: str, directory: Path | None = None) -> Path:
    """Like fetch, but never downloads: absent data is an error that says how to get it."""
    entry = registry.entry(name)
    if directory is not None or entry.package is not None:
        return fetch(name, source=directory)
    root = find_root(entry, default_cache() / name)
    if root is None:
        raise DatasetError(_how_to_get(entry, "is not here"))
    return root


def load(name: str, *, directory: Path | str | None = None, rate_hz: float | None = None) -> Dataset:
    """Load the tidy table of a data set in the cache or in `directory`; never downloads.

    A `rate_hz` below the recorded rate averages over each new sample's time cell, which prevents aliasing.
    """
    entry = registry.entry(name)
    rate = entry.rate_hz if rate_hz is None else float(rate_hz)
    if not 0 < rate < float("inf"):
        raise DatasetError(f"rate_hz = {rate:g} must be a positive number")
    root = locate(name, None if directory is None else Path(directory))
    reader = _reader(name)
    table = tidy(reader.read(root, rate_hz=rate), reader.CHANNELS, labels=reader.LABELS, rate_hz=rate)
    if not table.num_rows:
        raise DatasetError(f"rate_hz = {rate:g} leaves no row of any recording; choose a higher one")
    return Dataset(name, table, tuple(reader.CHANNELS), tuple(reader.LABELS), rate, entry)


def _reader(name: str) -> Any:
    """The file of the same name: each has CHANNELS, LABELS and read(root, *, rate_hz)."""
    return import_module(f"deeprotect.datasets.{name}")


def find_root(entry: DatasetEntry, folder: Path) -> Path | None:
    """The first of the entry's roots that contains all its files."""
    for pattern in entry.roots:
        candidates = [folder] if pattern == "." else sorted(folder.glob(pattern))
        for root in candidates:
            if all(len(list(root.glob(files.pattern))) >= files.at_least for files in entry.files):
                return root
    return None


def require_root(entry: DatasetEntry, folder: Path) -> Path:
    root = find_root(entry, folder)
    if root is None:
        wanted = ", ".join(f"{files.at_least} × {files.pattern}" for files in entry.files)
        raise DatasetError(_how_to_get(entry, f"is incomplete in {folder.name} (needs {wanted})"))
    return root


def _from_local(entry: DatasetEntry, source: Path, home: Path) -> Path:
    for path in (source / f"{entry.name}.tar.xz", source / f"{entry.name}.zip", source):
        if path.is_file():
            if not path.name.endswith((".tar.xz", ".zip")):
                raise DatasetError(_how_to_get(entry, f"is not {path.name}: it is neither .tar.xz nor .zip"))
            _verify(path, entry.archive_sha256 if path.name.endswith(".tar.xz") else entry.address_sha256)
            return find_root(entry, home) or _unpack(entry, path, home)
    folder = source / entry.name
    if not folder.is_dir() and find_root(entry, source) is None:
        raise DatasetError(_how_to_get(entry, f"is not in {source} (no {entry.name}.tar.xz, no folder)"))
    return _known_files(entry, require_root(entry, folder if folder.is_dir() else source))


def _download(entry: DatasetEntry, folder: Path) -> Path:
    pooch.get_logger().setLevel("WARNING")  # the caller reports progress
    known_hash = f"sha256:{entry.address_sha256}" if entry.address_sha256 else None
    try:
        path = pooch.retrieve(entry.address, known_hash, fname=f"{entry.name}.download", path=folder)
    except (OSError, ValueError) as error:  # ValueError: the hash differs, or the address is not one
        reason = str(error).splitlines()[0][:120]
        fix = f"try again, or download {entry.address} and give the file with --from"
        raise DatasetError(f"data set '{entry.name}' could not be downloaded ({reason}); {fix}") from error
    return Path(path)


def _verify(path: Path, sha256: str | None) -> None:
    if sha256 is None:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise DatasetError(f"{path.name} is not the known archive (sha256 {found[:12]}…); get it again")


def _known_files(entry: DatasetEntry, root: Path) -> Path:
    """The root; refused if known hashes differ from its files."""
    if entry.files_sha256 is None:
        return root
    listing = hashlib.sha256()
    for path in sorted(path for files in entry.files for path in root.glob(files.pattern)):
        listing.update(
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(root).as_posix()}\n".encode()
        )
    if listing.hexdigest() != entry.files_sha256:
        raise DatasetError(_how_to_get(entry, "differs from the published files"))
    return root


def _unpack(entry: DatasetEntry, archive: Path, home: Path) -> Path:
    """Unpack into a temporary folder first, so that the cache never contains half a data set."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatasetError(f"cannot write the cache {home.parent}; choose another with cache=") from error
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f"{home.name}.part") as part:
        fresh = Path(part) / home.name
        _extract(archive, fresh)
        for inner in fresh.glob(entry.inner) if entry.inner else ():
            _extract(inner, inner.parent)
        _known_files(entry, require_root(entry, fresh))
        shutil.rmtree(home, ignore_errors=True)
        fresh.rename(home)
    return require_root(entry, home)


def _extract(archive: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle:
                bundle.extractall(folder)  # noqa: S202 - zipfile drops drive letters and ".." itself
        else:
            with tarfile.open(archive) as bundle:
                bundle.extractall(folder, filter="data")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise DatasetError(f"{archive.name} cannot be unpacked ({type(error).__name__}); get it again") from error


def _how_to_get(entry: DatasetEntry, what: str) -> str:
    return (
        f"data set '{entry.name}' {what}; run: deeprotect datasets fetch {entry.name} "
        f"(or --from DIR with {entry.name}.tar.xz)"
    )
