"""Checks of outputs before the work: existing files, inputs, missing folders."""

import os
from collections.abc import Iterable
from pathlib import Path

from deeprotect.errors import Argument, InputError, OutputExistsError
from deeprotect.tables.addresses import is_address, is_same, is_there
from deeprotect.tables.atomic import refuse_homeless, refuse_irregular
from deeprotect.tables.sinks import written_kind

STANDARD = "-"


def refuse_output(path: str | Path, inputs: Iterable[str | Path], *, force: bool) -> None:
    """Refuse to overwrite an existing file without `force`, or an input."""
    refuse_unwritable(path)
    refuse_input(path, inputs)
    if not force:
        refuse_existing(path)


def refuse_folder(path: Path, inputs: Iterable[str | Path], *, force: bool) -> None:
    """Refuse to replace an existing folder without `force`, or an input."""
    refuse_input(path, inputs)
    if not force:
        refuse_existing(path)
    refuse_unwritable_folder(path)


def refuse_existing(path: str | Path, *, forcible: bool = True) -> None:
    """Refuse to overwrite an existing file."""
    if str(path) != STANDARD and (is_there(str(path)) if is_address(path) else os.path.lexists(path)):
        raise OutputExistsError(str(path), replaceable=forcible)


def refuse_input(path: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse an output that is an input, under any name."""
    for each in inputs:
        if STANDARD not in (str(path), str(each)) and _same_file(path, each):
            raise InputError(f"{path}: it is the input, and an output never replaces its input; choose another name")


def refuse_among_inputs(folder: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output folder in an input folder, or around an input: released files would be read as input."""
    place = folder.resolve()
    for each in inputs:
        if each.resolve().is_relative_to(place) or (each.is_dir() and place.is_relative_to(each.resolve())):
            raise InputError(f"{folder}: inputs lie in it, or it lies in a folder of inputs; choose another name")


def refuse_unwritable(path: str | Path) -> None:
    """Refuse an impossible file name, or a folder that is not writable."""
    if str(path) == STANDARD or is_address(path):
        return
    place = Path(path)
    if not place.name or place.name == ".." or place.is_dir():
        raise InputError(f"{path}: it is a folder; give the name of a file in it")
    refuse_irregular(place)
    refuse_homeless(place)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise InputError(f"{path}: the folder {place.parent} cannot be written to; choose another")


def refuse_unwritable_folder(path: str | Path) -> None:
    """Refuse a path that is not a writable folder and cannot become one; nothing is created."""
    place = Path(path)
    if os.path.lexists(place) and not place.is_dir():
        raise InputError(f"{path}: it is not a folder; give another ", Argument("out"))
    nearest = next(each for each in (place.absolute(), *place.absolute().parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(
            f"{path}: cannot create this folder ({nearest} is not writable); give another ", Argument("out")
        )


def refuse_existing_in(folder: str | Path, names: Iterable[str]) -> None:
    """Refuse to overwrite existing files and folders of these names; others may stay."""
    for name in names:
        if os.path.lexists(Path(folder) / name):
            raise OutputExistsError(str(folder), name)


def refuse_unknown_kind(path: str | Path) -> None:
    """Refuse a suffix that no format has."""
    if str(path) != STANDARD:
        written_kind(path)


def _same_file(one: str | Path, other: str | Path) -> bool:
    if is_address(one) or is_address(other):
        return is_same(str(one), str(other))
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)
