"""The report of a check: problems and notes, their number, first place and fix, but never a cell."""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deeprotect.errors import MOST_LISTED, Argument, InputError, printable
from deeprotect.signals.clock import RATE_TOLERANCE
from deeprotect.tables.roles import Roles

MOST_COLUMNS = 8  # columns named in one line
_WORDS = tomllib.loads(resources.files(__package__).joinpath("problems.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Problem:
    """A problem or note; `count` is None if nothing is counted."""

    kind: str
    what: str
    count: int | None
    fix: str
    columns: tuple[str, ...] = ()
    first_row: int | None = None

    def __str__(self) -> str:
        more = len(self.columns) - MOST_COLUMNS
        names = ", ".join(map(printable, self.columns[:MOST_COLUMNS])) + (f" and {more} more" if more > 0 else "")
        count = f": {self.count}" if self.count is not None else ""
        place = f", first at row {self.first_row}" if self.first_row is not None else ""
        return f"{self.what}{f' ({names})' if names else ''}{count}{place}; {self.fix}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def problem(key: str, columns: Iterable[str] = (), *, count: int | None = None, **words: Any) -> Problem:
    """A problem with the text of problems.toml."""
    said, names = _WORDS[key], tuple(columns)
    what, fix = said["what"].format(**words), said["fix"].format(**words)
    return Problem(said.get("kind", key), what, count, fix, names)


def some(key: str, columns: Iterable[str], **words: Any) -> list[Problem]:
    """One problem for all these columns; empty without columns."""
    names = tuple(columns)
    return [problem(key, names, count=len(names), **words)] if names else []


@dataclass
class ProblemCount:
    """Counts rows over the batches of a source, and remembers the first."""

    count: int = 0
    first_row: int | None = None  # counted from 1
    columns: dict[str, None] = field(default_factory=dict)

    def add(self, hits: NDArray[np.bool_] | NDArray[np.int64], first_row: int, column: str | None = None) -> None:
        """Add a mask over consecutive rows, or their numbers inside the batch; `first_row` is the batch's, from 0."""
        rows = np.flatnonzero(hits) if hits.dtype == bool else hits
        if not len(rows):
            return
        self.count += len(rows)
        row = first_row + int(rows.min()) + 1
        self.first_row = row if self.first_row is None else min(self.first_row, row)
        if column is not None:
            self.columns[column] = None


class ProblemTally(defaultdict[str, ProblemCount]):
    """Counts by key in problems.toml."""

    def __init__(self) -> None:
        super().__init__(ProblemCount)

    def problems(self, *keys: str, said: str | None = None, **words: Any) -> list[Problem]:
        """The problems that occurred; `said` is the key of another text."""
        found = [(key, self[key]) for key in keys if self[key].count]
        return [
            replace(problem(said or key, each.columns, count=each.count, **words), first_row=each.first_row)
            for key, each in found
        ]


@dataclass(frozen=True)
class CheckReport:
    """Problems have a fix; notes need a decision by the user."""

    where: str
    rows: int
    recordings: int
    rate_hz: float | None
    roles: Roles
    schema: pa.Schema
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]

    def settled_rate(self, given_hz: float | None) -> float:
        """The given rate or the measured one, which must agree."""
        if given_hz is None:
            unread = next((each for each in self.problems if each.kind == "time not understood"), None)
            if unread is not None and self.roles.time is not None:
                name = printable(self.roles.time)
                raise InputError(f"{self.where}: column '{name}' is neither numbers nor ISO 8601; {unread.fix}")
            if self.rate_hz is None:
                raise InputError(
                    f"{self.where}: no time column shows the sampling rate; give it with ", Argument("rate_hz")
                )
            return self.rate_hz
        if self.rate_hz is not None and not abs(given_hz / self.rate_hz - 1) <= RATE_TOLERANCE:
            raise InputError(
                f"{self.where}: ",
                Argument("rate_hz", given_hz),
                f" is not what its time shows, about {self.rate_hz:g}; leave it out, or resample with `deeprotect "
                "prepare --rate-hz`",
            )
        return given_hz

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "table": self.where,
            "rows": self.rows,
            "recordings": self.recordings,
            "rate_hz": self.rate_hz,
            "time": self.roles.time,
            "recording": self.roles.recording,
            "person": self.roles.person,
            "channels": list(self.roles.channels),
            "problems": [each.to_json() for each in self.problems],
            "notes": [each.to_json() for each in self.notes],
        }

    def lines(self) -> list[str]:
        """One line per problem or note, for people."""
        found = [*(f"problem: {each}" for each in self.problems), *(f"note: {each}" for each in self.notes)]
        count = len(self.problems)
        end = f"{count} problem{'s' if count > 1 else ''}" if count else "nothing wrong was found"
        return [self.summary, *found, end]

    @property
    def summary(self) -> str:
        """One line: length, recordings, rate and channels."""
        roles, rate = self.roles, f", about {self.rate_hz:g} Hz" if self.rate_hz else ""
        time = f"time in '{printable(roles.time)}'{rate}" if roles.time else "no time column"
        pieces = f"{self.recordings} in '{printable(roles.recording)}'" if roles.recording else "one, for all rows"
        person = f"; people in '{printable(roles.person)}'" if roles.person else ""
        channels = printable(", ".join(roles.channels), MOST_LISTED) or "none known"
        return f"{self.where}: {self.rows} rows; {time}; recordings: {pieces}{person}; channels: {channels}"
