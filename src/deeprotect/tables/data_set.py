"""A data set of many files: its parts, and their places in an output folder of the same structure."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deeprotect.errors import InputError, TableError, printable
from deeprotect.tables.addresses import is_address, suffix_of
from deeprotect.tables.outputs import WRITERS
from deeprotect.tables.sources import files_at, refuse_blank

_PARTITION = re.compile(r"([^=]+)=.*")


@dataclass(frozen=True)
class DataSetPart:
    """A file to read, and its place in the output folder."""

    source: Path
    place: Path


def parts_of(inputs: Sequence[str], *, passing: Collection[str], numbered: bool) -> list[DataSetPart]:
    """The files of folders (including subfolders), patterns and paths, in order of their names.

    Names of files and folders may reveal people or labels, like those of recordings, so they are `numbered` in order.
    If names are kept, a folder `person=3` is a column of the data set: it must be in `passing` to be released.
    """
    found = {path: root for given in inputs for root, path in _found(given)}
    common = os.path.commonpath([root.resolve() for root in found.values()])
    inside = {path: root.resolve().relative_to(common) / path.relative_to(root) for path, root in sorted(found.items())}
    if numbered:
        return [DataSetPart(path, place) for path, place in zip(inside, _numbered(inside.values()), strict=True)]
    parts = [DataSetPart(path, _place(name)) for path, name in inside.items()]
    written = Counter(part.place for part in parts)
    for part in parts:
        _check_partitions(part, passing)
        if written[part.place] > 1:
            raise TableError(f"{part.source}: another file would be written under the same name; rename one")
    return parts


def _numbered(names: Collection[Path]) -> Iterator[Path]:
    """Each file and folder by its position in its parent folder."""
    among: dict[Path, dict[str, int]] = {}
    for name in sorted(names):
        for part in (name, *name.parents[:-1]):
            siblings = among.setdefault(part.parent, {})
            siblings.setdefault(part.name, len(siblings) + 1)
    for name in names:
        numbers = [str(among[part.parent][part.name]) for part in reversed((name, *name.parents[:-1]))]
        yield Path(*numbers[:-1], numbers[-1] + suffix_of(_place(name)))


def _found(given: str) -> Iterator[tuple[Path, Path]]:
    """Each file with the root of its relative path."""
    refuse_blank(given)
    if is_address(given):
        raise TableError(f"{given}: a table at an address is released into a file; give OUTPUT the name of one")
    if given == "-":
        raise TableError("standard input is one table; give the name of a file to write, or - for standard output")
    root, files = files_at(given, deep=True)
    yield from ((root, each) for each in files)


def _place(inside: Path) -> Path:
    """The same name if its format can be written; otherwise with `.csv`."""
    if suffix_of(inside) in WRITERS:
        return inside
    return inside.with_name(inside.name[: -len(".gz")] if inside.suffix == ".gz" else inside.name).with_suffix(".csv")


def _check_partitions(part: DataSetPart, passing: Collection[str]) -> None:
    for folder in part.place.parts[:-1]:
        named = _PARTITION.fullmatch(folder)
        if named and named[1] not in passing:
            raise InputError(
                f"{printable(str(part.source))}: its folder states the column '{printable(named[1])}', which is not "
                "released; rename the folder without =, if its name may be released, or map it as the recording"
            )
