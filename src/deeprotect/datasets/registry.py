"""The registry of data sets: their origin, licence and content."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deeprotect.errors import DatasetError

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Files(_Facts):
    """The structural check of an unpacked copy: a pattern under the root, and its least number of matches."""

    pattern: str
    at_least: int = Field(gt=0)


class DatasetEntry(_Facts):
    """One data set; `archive_sha256` is the known NAME.tar.xz, `address_sha256` the publisher's own archive.

    If the hash of a publisher's archive is unknown, its files are checked by `files_sha256` or, without that, by name
    and count.
    """

    name: str
    title: str
    contains: str
    publisher: str
    homepage: str
    licence: str
    citation: str
    rate_hz: float = Field(gt=0)
    window_s: float = Field(gt=0)
    labels: tuple[str, ...]
    useful: tuple[str, ...]
    sensitive: tuple[str, ...]
    splits: dict[str, dict[str, tuple[str, ...]]] = Field(default_factory=dict)
    package: str | None = None
    address: str | None = None
    address_sha256: Sha256 | None = None
    archive_sha256: Sha256 | None = None
    files_sha256: Sha256 | None = None
    inner: str | None = None
    roots: tuple[str, ...] = (".",)
    files: tuple[Files, ...] = ()


def parse(text: str) -> dict[str, DatasetEntry]:
    """Parse entries by name from TOML; an invalid registry is refused entirely."""
    try:
        tables = tomllib.loads(text)
        return {name: DatasetEntry(name=name, **table) for name, table in tables.items()}
    except (tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
        raise DatasetError(f"the data set registry is damaged: {_first_line(error)}") from error


@cache
def _known() -> dict[str, DatasetEntry]:
    return parse(files("deeprotect.datasets").joinpath("registry.toml").read_text("utf-8"))


def names() -> tuple[str, ...]:
    return tuple(_known())


def entry(name: str) -> DatasetEntry:
    if name not in _known():
        raise DatasetError(f"data set '{name}' is unknown; known: {', '.join(names())}")
    return _known()[name]


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0]
