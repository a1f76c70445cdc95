"""Releasing a data set file by file: what is finished stays, and a run that was broken off goes on where it stopped.

A part appears under its name whole, after its draws were charged, or not at all. What a broken run had drawn for the
part it was at lies in a hidden file, which the next run removes before it draws afresh: nobody was given it. Where
somebody could read that file all the same, those windows were released twice, and cost twice.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.privacy.accounting import totals
from deeprotect.release.ledger import DrawCounts
from deeprotect.release.releasing import Progress, ReleaseSummary
from deeprotect.tables.atomic import LEFT_BEHIND
from deeprotect.tables.data_set import DataSetPart

UNFINISHED = ".deeprotect-unfinished.json"
ReleaseOne = Callable[[Path, Path, Progress], ReleaseSummary]


def release_data_set(
    parts: Sequence[DataSetPart], folder: Path, release_one: ReleaseOne, *, bundle: Bundle, progress: Progress
) -> ReleaseSummary:
    """Release every part that the folder does not hold yet; a summary of those, and how many it held."""
    released = []
    with _unfinished(folder, bundle.digest):
        for number, part in enumerate(parts):
            target = folder / part.place
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                share = _share_of(progress, number, len(parts))
                released.append(release_one(part.source, target, share))
            progress((number + 1) / len(parts))
    draws = sum((each.draws for each in released), DrawCounts())
    return ReleaseSummary(
        rows=sum(each.rows for each in released),
        spending=totals([(bundle.mechanism.event, draws.paid)]),
        dropped=tuple(dict.fromkeys(name for each in released for name in each.dropped)),
        unchanged=tuple(dict.fromkeys(name for each in released for name in each.unchanged)),
        clipped=tuple(dict.fromkeys(name for each in released for name in each.clipped)),
        renumbered=any(each.renumbered for each in released),
        files=len(released),
        kept=len(parts) - len(released),
        draws=draws,
    )


def _share_of(progress: Progress, number: int, count: int) -> Progress:
    return lambda share: progress((number + share) / count)


@contextmanager
def _unfinished(folder: Path, bundle: str) -> Iterator[None]:
    """A folder that says it is unfinished until all is there; it is taken up again by the same bundle only."""
    if not folder.parent.is_dir():
        raise InputError(f"{folder}: the folder {folder.parent} does not exist; create it first")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is there and not a folder; choose another name")
    if folder.exists() and any(folder.iterdir()) and not (folder / UNFINISHED).exists():
        raise InputError(f"{folder}: it exists already, and no run left it unfinished; choose another name")
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    with (folder / UNFINISHED).open("a+") as mark:
        _lock(mark, folder)
        _check_bundle(mark, folder, bundle)
        for left in folder.rglob("*"):
            if LEFT_BEHIND.fullmatch(left.name):
                left.unlink()
        try:
            yield
        except BaseException:
            _leave_nothing_empty(folder)
            if new and not any(folder.iterdir()):
                folder.rmdir()
            raise
        (folder / UNFINISHED).unlink()


def _leave_nothing_empty(folder: Path) -> None:
    """A run that finished no file has nothing that the next could go on with."""
    if any(path.is_file() and path.name != UNFINISHED for path in folder.rglob("*")):
        return
    (folder / UNFINISHED).unlink()
    for inner in sorted(folder.rglob("*"), reverse=True):
        inner.rmdir()


def _lock(mark: TextIO, folder: Path) -> None:
    """One run at a time; the system unlocks what belonged to a process that was killed."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"{folder}: another run is writing there; wait for it, or choose another name") from None


def _check_bundle(mark: TextIO, folder: Path, bundle: str) -> None:
    mark.seek(0)
    found, stated = mark.read(), json.dumps({"bundle": bundle})
    if not found:
        mark.write(stated)
        mark.flush()
    elif found != stated:
        raise InputError(
            f"{folder}: another bundle began this release; go on with that one, or choose another name for all of it"
        )
