"""Sign-in sessions, stored as hashes of cookies and shared by all processes; and limits on attempts to sign in."""

import hashlib
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from deeprotect.gateway.registration.addresses import new_token, token_hash
from deeprotect.gateway.registration.registry_tables import admins
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now

LONGEST = timedelta(hours=12)
MOST_FAILURES = 10
FAILURES_SECONDS = 60.0
MOST_CLIENTS = 10_000
_LOCK = "deeprotect: console"
_tables = sa.MetaData()
sessions = sa.Table(
    "deeprotect_console_sessions",
    _tables,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("admin_hash", sa.LargeBinary, nullable=False),  # a new admin token ends all earlier sessions
    sa.Column("expires", sa.BigInteger, nullable=False),  # microseconds of UTC since 1970
    sa.Column("raw", sa.Integer, nullable=False),  # 1 while raw samples are shown beside released ones
)


@dataclass(frozen=True)
class AdminSession:
    """One signed-in browser of the admin; only the browser knows the cookie."""

    cookie: str
    expires: datetime
    shows_raw: bool

    @property
    def form_token(self) -> str:
        return form_token(self.cookie)


def form_token(cookie: str) -> str:
    """The token that a form must carry, derived from the cookie, which other sites do not know."""
    return hashlib.sha256(b"deeprotect form\0" + cookie.encode("utf-8", "surrogatepass")).hexdigest()


class Sessions:
    """Sessions begin with the admin's token and end by sign-out, by time, or with a new admin token."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database, self._clock = database, clock
        with database.writing(_LOCK) as connection:
            if not sa.inspect(connection).has_table(sessions.name):
                _tables.create_all(connection)

    def begin(self, admin_token: str) -> str | None:
        """The cookie of a new session; None for a wrong token."""
        cookie, now = new_token(), self._clock()
        with self._database.writing(_LOCK) as connection:
            known = connection.execute(sa.select(admins.c.id).where(admins.c.token_hash == token_hash(admin_token)))
            if known.one_or_none() is None:
                return None
            connection.execute(sa.delete(sessions).where(sessions.c.expires <= microseconds(now)))
            row = {"token_hash": token_hash(cookie), "admin_hash": token_hash(admin_token), "raw": 0}
            connection.execute(sa.insert(sessions).values(**row, expires=microseconds(now + LONGEST)))
        return cookie

    def find(self, cookie: str) -> AdminSession | None:
        """The session, unless it has ended."""
        asked = sa.select(sessions.c.expires, sessions.c.raw).where(
            sessions.c.token_hash == token_hash(cookie),
            sessions.c.expires > microseconds(self._clock()),
            sessions.c.admin_hash.in_(sa.select(admins.c.token_hash)),
        )
        with self._database.reading() as connection:
            row = connection.execute(asked).one_or_none()
        return None if row is None else AdminSession(cookie, moment_of(row.expires), shows_raw=bool(row.raw))

    def show_raw(self, session: AdminSession, shown: int) -> None:
        """Show (1) or hide (0) raw samples."""
        self._execute(sa.update(sessions).where(_is(session)).values(raw=shown))

    def end(self, session: AdminSession) -> None:
        self._execute(sa.delete(sessions).where(_is(session)))

    def _execute(self, statement: sa.Executable) -> None:
        with self._database.writing(_LOCK) as connection:
            connection.execute(statement)


def _is(session: AdminSession) -> sa.ColumnElement[bool]:
    return sessions.c.token_hash == token_hash(session.cookie)


class Attempts:
    """Failed attempts of each client in the last minute, in this process's memory."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures: dict[str, deque[float]] = {}

    def wait(self, client: str) -> float:
        """Seconds until this client may try again; 0 if at once."""
        recent = self._recent(client)
        return recent[0] + FAILURES_SECONDS - self._now() if len(recent) >= MOST_FAILURES else 0.0

    def failed(self, client: str) -> None:
        if len(self._failures) >= MOST_CLIENTS:
            self._failures = {name: times for name in list(self._failures) if (times := self._recent(name))}
        self._failures.setdefault(client, deque(maxlen=MOST_FAILURES)).append(self._now())

    def succeeded(self, client: str) -> None:
        self._failures.pop(client, None)

    def _recent(self, client: str) -> deque[float]:
        times = self._failures.get(client, deque())
        while times and times[0] <= self._now() - FAILURES_SECONDS:
            times.popleft()
        return times
