"""Files elsewhere, `s3://…` or `https://…`: opened and written by way of fsspec, where it is installed."""

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
    """Whether it says how to get there, and is no file of this machine."""
    return isinstance(path, str) and "://" in path


def suffix_of(path: str | Path) -> str:
    """What a name says about the kind of a table, `.csv` or `.csv.gz`; at an address, before the question mark."""
    name = str(path).partition("?")[0] if is_address(path) else str(path)
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


@contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
    """A file at an address; what goes wrong on the way is said without what the other side says."""
    system, place = _found(path)
    with _reached(path):
        stream = system.open(place, "rb")
        if isinstance(stream, io.BytesIO):  # memory:// hands out one for all readers, and one place in it
            stream = io.BytesIO(stream.getvalue())
    with stream:
        yield stream


def size_of(path: str) -> int:
    """In bytes; 0 where nobody says."""
    system, place = _found(path)
    with _reached(path):
        return int(system.size(place) or 0)


@contextmanager
def writing(path: str) -> Iterator[BinaryIO]:
    """A stream to write to; it is brought to its address when it is whole, or not at all."""
    system, place = _found(path)
    with tempfile.TemporaryFile() as stream:
        yield stream
        stream.seek(0)
        with _reached(path), system.open(place, "wb") as there:
            shutil.copyfileobj(stream, there)


def is_same(one: str, other: str) -> bool:
    """Whether two addresses, or an address and a path, are one place: `file://` is this machine under another name."""
    (system, place), (another, there) = (
        _found(each if is_address(each) else f"file://{each}") for each in (one, other)
    )
    return type(system) is type(another) and os.path.realpath(place) == os.path.realpath(there)


def is_there(path: str) -> bool:
    system, place = _found(path)
    with _reached(path):
        return bool(system.exists(place))


def addresses_of(path: str) -> list[str]:
    """The file, or those that match a pattern or lie in a folder."""
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
    """The file system that reaches an address, and the place in it."""
    scheme = printable(path.partition("://")[0])
    try:
        import fsspec
    except ImportError:
        raise InputError(f"{printable(path)}: files at {scheme}:// need fsspec: pip install fsspec") from None
    try:
        system, place = fsspec.core.url_to_fs(path)
    except ImportError as missing:  # of the package for this kind of address
        raise InputError(f"{printable(path)}: {scheme}:// needs one more package: {printable(str(missing))}") from None
    except ValueError:
        raise InputError(f"{printable(path)}: no files are known at {scheme}://; give another address") from None
    return system, str(place)


@contextmanager
def _reached(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{printable(path)}: no such file") from None
    except (InputError, MemoryError):
        raise
    except Exception as failure:  # every kind of file system has errors of its own, whose words may hold keys
        raise TableError(f"{printable(path)}: it cannot be reached ({type(failure).__name__})") from None
