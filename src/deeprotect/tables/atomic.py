"""Files and folders that appear under their name complete, forced to disk, or not at all.

Until then, and if they never get there, they are this user's alone.
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
"""Names under which files are written; one that stays was left by a process that was killed."""
_OWN_FILE, _OWN_FOLDER = 0o600, 0o700
_FILE, _FOLDER = 0o666, 0o777  # before the user's umask
_reading_umask = threading.Lock()


def private_file(path: Path) -> None:
    """An empty file of this user's alone, unless there is one; who opens it next says what is wrong with the place."""
    with suppress(OSError, RuntimeError):  # links in a ring
        # Never one that is there: closing it would drop the locks that this process has on it as a database.
        os.close(os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWN_FILE))


def refuse_irregular(path: Path) -> None:
    """A device or a folder is never replaced by a file."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: it is there and not a regular file; choose another name")


def refuse_homeless(path: Path) -> None:
    """No folder is made for a file."""
    if not path.parent.is_dir():
        raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")


def lock(stream: IO[Any], where: Path) -> None:
    """One run at a time; the system unlocks what belonged to a process that was killed."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{where}: another run is writing there; wait for it, or choose another name") from None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """The only run that writes a file, from the first look at it to the last; a second one is refused at once."""
    refuse_homeless(path)
    if sys.platform == "win32":
        yield
        return
    mark = path.with_name(f".{path.name}.lock")
    with mark.open("a") as stream:
        lock(stream, path)
        if not os.fstat(stream.fileno()).st_nlink:  # of a run that has just ended
            raise InputError(f"{path}: another run was writing there; look at what it wrote, or choose another name")
        try:
            yield
        finally:
            mark.unlink()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A stream to write to; what was there stays until the new file is whole."""
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
    """An empty folder to fill with files; it takes the place of the folder that was there."""
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
    """A place to fill with files; in the end they take their places in the folder, where all other files stay.

    The folder is made in the end, too, with those above it: work that stops half-way leaves none.
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
    """A hidden name in the same folder; what is left under it in the end is removed."""
    refuse_homeless(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
    except OSError as failure:
        if failure.errno in FULL:  # such come from writing, and know no name
            failure.filename = str(path)
        raise
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)


def _mode(path: Path, usual: int) -> int:
    """Of what is there; else what the user's umask leaves of the usual."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    with _reading_umask:
        mask = os.umask(0o077)  # it is read by being set; what others make meanwhile is too private, not too open
        os.umask(mask)
    return usual & ~mask


def _force(path: Path) -> None:
    """Out of the system's memory, onto the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
