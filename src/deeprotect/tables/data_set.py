"""A data set of many files: its parts, and where each goes in a folder of the same structure."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deeprotect.errors import InputError, TableError, printable
from deeprotect.tables.files import READERS, kind_of
from deeprotect.tables.several import refuse_blank
from deeprotect.tables.sinks import WRITERS

_PARTITION = re.compile(r"([^=]+)=.*")


@dataclass(frozen=True)
class DataSetPart:
    """A file to read, and its place in the output folder."""

    source: Path
    place: Path


def is_folder(output: str) -> bool:
    """Whether an output is a folder of tables: it is one already, ends in a slash, or has no suffix."""
    refuse_blank(output)
    return output != "-" and (Path(output).is_dir() or output.endswith("/") or not Path(output).suffix)


def parts_of(inputs: Sequence[str], *, passing: Collection[str]) -> list[DataSetPart]:
    """The files of folders (with all that is in them), patterns and paths, in order of their names.

    A folder `person=3` is a column of the data set, and leaves with its name: only those in `passing` may.
    """
    found = {path: root for given in inputs for root, path in _found(given)}
    common = os.path.commonpath([root.resolve() for root in found.values()])
    parts = [
        DataSetPart(path, _place(root.resolve().relative_to(common) / path.relative_to(root)))
        for path, root in sorted(found.items())
    ]
    written = Counter(part.place for part in parts)
    for part in parts:
        _check_partitions(part, passing)
        if written[part.place] > 1:
            raise TableError(f"{part.source}: another file would be written under the same name; rename one")
    return parts


def _found(given: str) -> Iterator[tuple[Path, Path]]:
    """The folder that structure is counted from, with each file in it."""
    refuse_blank(given)
    path = Path(given)
    if given == "-":
        raise TableError("standard input is one table; give the name of a file to write, or - for standard output")
    if path.is_dir():
        files = [each for each in path.rglob("*") if each.is_file() and _is_table(each.relative_to(path))]
        root = path
    elif any(mark in given for mark in "*?[") and not path.exists():
        fixed = list(path.parts)[: next(n for n, part in enumerate(path.parts) if re.search(r"[*?\[]", part))]
        root = Path(*fixed)
        files = [each for each in root.glob(str(path.relative_to(root))) if each.is_file()]
    else:
        root, files = path.parent, [path]
    if not files:
        raise TableError(f"{given}: no table is there; it looks for {', '.join(READERS)}")
    yield from ((root, each) for each in files)


def _is_table(inside: Path) -> bool:
    """Names that begin with a dot or a line are notes of other programs, by custom."""
    return kind_of(inside) in READERS and not any(part.startswith((".", "_")) for part in inside.parts)


def _place(inside: Path) -> Path:
    """The same name, for kinds that are written; `.csv` for text that is not."""
    if inside.suffix.lower() in WRITERS:
        return inside
    return inside.with_name(inside.name[: -len(".gz")] if inside.suffix == ".gz" else inside.name).with_suffix(".csv")


def _check_partitions(part: DataSetPart, passing: Collection[str]) -> None:
    for folder in part.place.parts[:-1]:
        named = _PARTITION.fullmatch(folder)
        if named and named[1] not in passing:
            raise InputError(
                f"{printable(str(part.source))}: its folder tells the column '{printable(named[1])}', which does not "
                "leave; rename the folder without =, if its name may, or map it as the recording"
            )
