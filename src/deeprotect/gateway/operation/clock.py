"""The clock for charges: the machine's, as long as it agrees with elapsed time.

Limits per hour and day depend on the clock. A jump could free them at once, so after one nothing is charged until the
operator confirms the clock. docs/claims.md#the-clock-of-the-gateway
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import text

from deeprotect.errors import LedgerUnavailableError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import Clock, utc_now

JUMP = timedelta(seconds=5)
"""Largest total deviation since the start or the last confirmation; small corrections stay below it."""
CONFIRM = "deeprotect gateway confirm-clock"
_ELSEWHERE = "SELECT clock_timestamp(), inet_server_addr() IS DISTINCT FROM inet_client_addr()"


def passed() -> timedelta:
    """Time since some moment, by a clock that cannot be set and that continues while the machine sleeps."""
    sleepless = getattr(time, "CLOCK_BOOTTIME", None)
    seconds = time.monotonic_ns() if sleepless is None else time.clock_gettime_ns(sleepless)
    return timedelta(microseconds=seconds // 1000)


class TrustedClock:
    """The current time; raises once the time of day and the elapsed time disagree."""

    def __init__(self, *, now: Clock = utc_now, passed: Callable[[], timedelta] = passed) -> None:
        self._now, self._passed = now, passed
        self.confirm()

    def __call__(self) -> datetime:
        now = self._now()
        if (trouble := self._trouble(now)) is not None:
            raise LedgerUnavailableError(trouble)
        return now

    @property
    def ahead(self) -> timedelta:
        """How far the clock is ahead of its expected value."""
        return self._now() - self._passed() - self._start

    @property
    def trouble(self) -> str | None:
        return self._trouble(self._now())

    def _trouble(self, now: datetime) -> str | None:
        ahead = now - self._passed() - self._start
        if abs(ahead) <= JUMP:
            return None
        which = "forward" if ahead > JUMP else "back"
        return (
            f"the clock jumped {which} by {abs(ahead).total_seconds():.0f} s, to {now:%Y-%m-%d %H:%M:%S} UTC, and "
            f"limits are freed by it: set it right, or confirm that it is: {CONFIRM}"
        )

    def confirm(self) -> None:
        """Accept the clock as right, by the operator's decision."""
        self._start = self._now() - self._passed()

    def compare(self, other: datetime | None) -> None:
        """Compare with the clock of another machine, if any: two clocks that agree are right."""
        if other is not None and abs(self._now() - other) <= JUMP:
            self.confirm()


def clock_of(database: Database) -> datetime | None:
    """The database's clock, if its server runs on another machine; None on this one, which has the same clock."""
    if database.engine.dialect.name == "sqlite":
        return None
    with database.reading() as connection:
        now, is_elsewhere = connection.execute(text(_ELSEWHERE)).one()
    found: datetime = now
    return found if is_elsewhere else None
