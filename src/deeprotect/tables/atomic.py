"""Files and folders that appear under their name complete and forced to disk, or not at all.

Until then they are private to this user.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from deeprotect.errors import InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LEFT_BEHIND = re.compile(r"\..+\.[0-9a-f]{8}\.part")
"""Pattern of temporary names; a file that keeps one was left by a killed process."""
_OWN_FILE, _OWN_FOLDER = 0o600, 0o700
_FILE, _FOLDER = 0o666, 0o777  # before the user's umask
_reading_umask = threading.Lock()


def private_file(path: Path) -> None:
    """Create an empty private file unless it exists; opening it later reports any problem with the path."""
    with suppress(OSError, RuntimeError):  # circular links
        # Never open an existing file: closing it would drop this process's database locks on it.
        os.close(os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWN_FILE))


def refuse_irregular(path: Path) -> None:
    """Refuse to replace a device or a folder by a file."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: exists and is not a regular file; choose another name")


def refuse_homeless(path: Path) -> None:
    """Refuse a path whose folder does not exist; it is not created."""
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")


def lock(stream: IO[Any], where: Path) -> None:
    """Allow one run at a time; the system releases the lock of a killed process."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{where}: another run is writing there; wait for it, or choose another name") from None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the only right to write a file, from the first check to the end; a second run is refused at once."""
    refuse_homeless(path)
    if sys.platform == "win32":
        yield
        return
    mark = path.with_name(f".{path.name}.lock")
    with mark.open("a") as stream:
        lock(stream, path)
        if not os.fstat(stream.fileno()).st_nlink:  # deleted by a run that has just ended
            raise InputError(f"{path}: another run was writing there; check its output, or choose another name")
        try:
            yield
        finally:
            mark.unlink()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream to write to; an existing file stays until the new one is complete."""
    refuse_irregular(path)
    with _beside(path) as part:
        private_file(part)
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), _mode(path, _FILE))
            os.fsync(stream.fileno())
        part.replace(path)
        _force(path.parent)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill; at the end it replaces the existing folder."""
    with _beside(path) as part:
        part.mkdir(_OWN_FOLDER)
        yield part
        part.chmod(_mode(path, _FOLDER))
        for name in (*part.iterdir(), part):
            _force(name)
        if path.exists():
            with _beside(path) as old:
                path.rename(old)
                part.rename(path)
        else:
            part.rename(path)
        _force(path.parent)


@contextmanager
def files_into(folder: Path) -> Iterator[Path]:
    """A temporary folder to fill; at the end its files move into `folder`, where all other files stay.

    `folder` and its parents are created at the end, too, so that interrupted work creates none.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _beside(folder / "files" if folder.is_dir() else folder.absolute()) as part:
        part.mkdir(_OWN_FOLDER)
        yield part
        if folder.is_dir():
            for name in sorted(path.relative_to(part) for path in part.rglob("*") if path.is_file()):
                (folder / name).parent.mkdir(exist_ok=True)
                (part / name).replace(folder / name)
        else:
            part.chmod(_mode(folder, _FOLDER))
            part.rename(folder)
        _force(folder)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A hidden name in the same folder; anything left under it at the end is removed."""
    refuse_homeless(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
    except OSError as failure:
        if failure.errno in FULL:  # raised while writing, without a file name
            failure.filename = str(path)
        raise
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)


def _mode(path: Path, usual: int) -> int:
    """The existing mode, or else the usual one minus the user's umask."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    with _reading_umask:
        mask = os.umask(
            0o077
        )  # reading it means setting it; files of other threads meanwhile are too private, not too open
        os.umask(mask)
    return usual & ~mask


def _force(path: Path) -> None:
    """Force to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
