"""Remote files, `s3://…` or `https://…`, opened and written through fsspec, if it is installed."""

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from deeprotect.errors import InputError, TableError, printable


def is_address(path: object) -> bool:
    """Whether a path is an address, as opposed to a local file."""
    return isinstance(path, str) and "://" in path


def suffix_of(path: str | Path) -> str:
    """The suffix that decides the format, such as `.csv` or `.csv.gz`; in an address, before the question mark."""
    name = str(path).partition("?")[0] if is_address(path) else str(path)
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


@contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
    """Open a file at an address; errors are reported without the remote system's text."""
    system, place = _found(path)
    with _reached(path):
        stream = system.open(place, "rb")
        if isinstance(stream, io.BytesIO):  # memory:// shares one stream and position among readers
            stream = io.BytesIO(stream.getvalue())
    with stream:
        yield stream


def size_of(path: str) -> int:
    """Size in bytes; 0 if unknown."""
    system, place = _found(path)
    with _reached(path):
        return int(system.size(place) or 0)


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """A stream to write to; the file appears at its address when it is complete, or not at all."""
    system, place = _found(path)
    with tempfile.TemporaryFile() as stream:
        yield stream
        stream.seek(0)
        with _reached(path), system.open(place, "wb") as there:
            shutil.copyfileobj(stream, there)


def is_same(one: str, other: str) -> bool:
    """Whether two addresses, or an address and a path, are the same file: `file://` is a local path."""
    (system, place), (another, there) = (
        _found(each if is_address(each) else f"file://{each}") for each in (one, other)
    )
    return type(system) is type(another) and os.path.realpath(place) == os.path.realpath(there)


def is_there(path: str) -> bool:
    system, place = _found(path)
    with _reached(path):
        return bool(system.exists(place))


def addresses_of(path: str) -> list[str]:
    """The file, or those that match a pattern or are in a folder."""
    system, place = _found(path)
    with _reached(path):
        pattern = "*" in place
        if not pattern and (Path(place.partition("?")[0]).suffix or not system.isdir(place)):
            return [path]
        found = system.glob(place) if pattern else system.ls(place, detail=False)
    if not found:
        raise TableError(f"{path}: no file matches")
    return sorted(system.unstrip_protocol(each) for each in found)


def _found(path: str) -> tuple[Any, str]:
    """The file system for an address, and the path in it."""
    scheme = printable(path.partition("://")[0])
    try:
        import fsspec
    except ImportError:
        raise InputError(f"{printable(path)}: files at {scheme}:// need fsspec: pip install fsspec") from None
    try:
        system, place = fsspec.core.url_to_fs(path)
    except ImportError as missing:  # raised for the package of this kind of address
        raise InputError(f"{printable(path)}: {scheme}:// needs one more package: {printable(str(missing))}") from None
    except ValueError:
        raise InputError(f"{printable(path)}: unknown kind of address, {scheme}://; give another one") from None
    return system, str(place)


@contextmanager
def _reached(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{printable(path)}: no such file") from None
    except (InputError, MemoryError):
        raise
    except Exception as failure:  # file systems raise their own errors, whose text may contain keys
        raise TableError(f"{printable(path)}: it cannot be reached ({type(failure).__name__})") from None
