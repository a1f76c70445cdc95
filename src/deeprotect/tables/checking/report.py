"""What a check says: what the table is, what is wrong with it, and what one should know."""

from dataclasses import dataclass
from typing import Any

from deeprotect.errors import printable
from deeprotect.tables.checking.problems import Problem
from deeprotect.tables.roles import Roles

MOST_LISTED = 300  # characters of column names in one line


@dataclass(frozen=True)
class CheckReport:
    """Problems have a fix; notes are for whoever decides."""

    where: str
    rows: int
    recordings: int
    rate_hz: float | None
    roles: Roles
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]

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
        """For people, one thing a line."""
        found = [*(f"problem: {each}" for each in self.problems), *(f"note: {each}" for each in self.notes)]
        count = len(self.problems)
        end = f"{count} problem{'s' if count > 1 else ''}" if count else "nothing wrong was found"
        return [self.summary, *found, end]

    @property
    def summary(self) -> str:
        """One line: how long, in what pieces, at which rate, with which channels."""
        roles, rate = self.roles, f", about {self.rate_hz:g} Hz" if self.rate_hz else ""
        time = f"time in '{printable(roles.time)}'{rate}" if roles.time else "no time column"
        pieces = f"{self.recordings} in '{printable(roles.recording)}'" if roles.recording else "one, for all rows"
        person = f"; people in '{printable(roles.person)}'" if roles.person else ""
        channels = printable(", ".join(roles.channels), MOST_LISTED) or "none known"
        return f"{self.where}: {self.rows} rows; {time}; recordings: {pieces}{person}; channels: {channels}"
