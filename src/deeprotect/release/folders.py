"""Releases a data set file by file: finished files stay, and an interrupted run continues where it stopped.

A part appears under its name whole, after its draws were charged, or not at all. What a broken run had drawn for the
part it was at lies in a hidden file, which the next run removes before it draws afresh: nobody was given it. Where
somebody could read that file all the same, those windows were released twice, and cost twice.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from deeprotect.bundle import Bundle
from deeprotect.errors import DeeprotectError, InputError
from deeprotect.privacy.accounting import Spending
from deeprotect.release.ledger import DrawCounts
from deeprotect.release.tables import Progress, ReleaseSummary, Releasing
from deeprotect.tables.atomic import LEFT_BEHIND, lock
from deeprotect.tables.data_set import DataSetPart
from deeprotect.tables.outputs import open_sink
from deeprotect.tables.passing import PassThrough

UNFINISHED = ".deeprotect-unfinished.json"


def release_data_set(
    parts: Sequence[DataSetPart],
    folder: Path,
    releasing: Releasing,
    *,
    bundle: Bundle,
    passing: PassThrough,
    progress: Progress,
) -> ReleaseSummary:
    """Release every part that the folder does not hold yet; a summary of those, and how many it held.

    Where recordings are numbered, a run goes on with the same files only: others would have taken their numbers.
    """
    released: list[ReleaseSummary] = []
    names = "\n".join(str(part.source) for part in parts).encode("utf-8", "surrogatepass")
    numbered = passing.recording == "numbered"
    files = {"files": hashlib.sha256(names).hexdigest()} if numbered else {}
    after = 0
    with _unfinished(folder, {"bundle": bundle.digest, **files}) as mark:
        for number, part in enumerate(parts):
            target, place = folder / part.place, str(part.place)
            share = _share_of(progress, number, len(parts))
            if target.exists():
                after += mark.recordings(place) if numbered else 0
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                with (
                    _progress_said(released, parts, bundle),
                    releasing(str(part.source), passing=replace(passing, after=after), progress=share) as tables,
                    open_sink(target, tables.schema) as sink,
                ):
                    one = tables.write(sink)
                    mark.finish(place, one)
                after += _numbers_of(one)
                released.append(one)
            share(1.0)
    return replace(_together(released, bundle), kept=len(parts) - len(released))


def plan_data_set(
    parts: Sequence[DataSetPart],
    folder: Path,
    releasing: Releasing,
    *,
    bundle: Bundle,
    passing: PassThrough,
    progress: Progress,
) -> ReleaseSummary:
    """What a run would release and cost: of every part that the folder does not hold yet."""
    new = [part for part in parts if not (folder / part.place).exists()]
    found = []
    for number, part in enumerate(new):
        share = _share_of(progress, number, len(new))
        with releasing(str(part.source), passing=passing, progress=share) as tables:
            found.append(tables.plan())
    return replace(_together(found, bundle), kept=len(parts) - len(new))


def _together(each: Sequence[ReleaseSummary], bundle: Bundle) -> ReleaseSummary:
    draws = sum((one.draws for one in each), DrawCounts())
    return ReleaseSummary(
        rows=sum(one.rows for one in each),
        cost=Spending.of(bundle.mechanism.event, draws.paid),
        dropped=tuple(dict.fromkeys(name for one in each for name in one.dropped)),
        unchanged=tuple(dict.fromkeys(name for one in each for name in one.unchanged)),
        clipped=tuple(dict.fromkeys(name for one in each for name in one.clipped)),
        renumbered=any(one.renumbered for one in each),
        recordings=sum(one.recordings for one in each),
        short=sum(one.short for one in each),
        files=len(each),
        draws=draws,
        people=tuple(dict.fromkeys(name for one in each for name in one.people)),
    )


@contextmanager
def _progress_said(released: Sequence[ReleaseSummary], parts: Sequence[DataSetPart], bundle: Bundle) -> Iterator[None]:
    """A run that breaks off says what it has released and what that cost."""
    try:
        yield
    except DeeprotectError as failure:
        done = _together(released, bundle)
        said = f"{len(released)} of {_counted(len(parts), 'file')}, {_counted(done.rows, 'row')}, released before that"
        cost = f" ({done.cost}); the same command goes on from there" if released else ""
        failure.args = (f"{failure}; {said}{cost}",)
        raise


def _numbers_of(summary: ReleaseSummary) -> int:
    """How many its recordings took."""
    return summary.recordings if summary.renumbered else 0


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _share_of(progress: Progress, number: int, count: int) -> Progress:
    return lambda share: progress((number + share) / count)


@dataclass(frozen=True)
class _Mark:
    """The file that says a folder is unfinished: whose run it is, and how many recordings each finished file has."""

    stream: TextIO
    folder: Path

    def finish(self, place: str, summary: ReleaseSummary) -> None:
        """Write the number of a file's recordings down, on disk before the file has its name."""
        self._write({"file": place, "recordings": _numbers_of(summary)})

    def recordings(self, place: str) -> int:
        """Of a finished file, so that the next one's numbers begin behind."""
        found = [line["recordings"] for line in self._lines()[1:] if line["file"] == place]
        if not found:
            raise InputError(
                f"{self.folder}: an earlier version began this release, and did not note its numbers of recordings; "
                "choose another name for all of it"
            )
        return int(found[-1])

    def check(self, run: Mapping[str, str]) -> None:
        """This very run's, from its first line on."""
        lines = self._lines()
        if not lines:
            self._write(run)
        elif lines[0].get("bundle") != run["bundle"]:
            raise InputError(
                f"{self.folder}: another bundle began this release; go on with that one, or choose another name for "
                "all of it"
            )
        elif lines[0] != run:
            raise InputError(
                f"{self.folder}: a run with other files, or with their names kept, began this release; give the same "
                "ones, or choose another name for all of it"
            )

    def _lines(self) -> list[dict[str, Any]]:
        """Without what was cut off in the end: the file that it tells of has no name yet."""
        self.stream.seek(0)
        text = self.stream.read()
        if text.endswith("}"):  # as earlier versions left it
            text += "\n"
            self.stream.write("\n")
        self.stream.truncate(len(text[: text.rfind("\n") + 1].encode()))
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def _write(self, line: Mapping[str, object]) -> None:
        self.stream.write(f"{json.dumps(line)}\n")
        self.stream.flush()
        os.fsync(self.stream.fileno())


@contextmanager
def _unfinished(folder: Path, run: Mapping[str, str]) -> Iterator[_Mark]:
    """A folder that says it is unfinished until all is there; it is taken up again by the same run only."""
    if not folder.parent.is_dir():
        raise InputError(f"{folder}: the folder {folder.parent} does not exist; create it first")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: exists and is not a directory; choose another name")
    if folder.exists() and any(folder.iterdir()) and not (folder / UNFINISHED).exists():
        raise InputError(f"{folder}: it exists already, and no run left it unfinished; choose another name")
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    with (folder / UNFINISHED).open("a+") as stream:
        lock(stream, folder)
        mark = _Mark(stream, folder)
        mark.check(run)
        for left in folder.rglob("*"):
            if LEFT_BEHIND.fullmatch(left.name):
                left.unlink()
        try:
            yield mark
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
