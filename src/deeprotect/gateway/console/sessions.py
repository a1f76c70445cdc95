"""Who is signed in: sessions in the database, so that every process knows them, by the hash of their cookie."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Executable,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    delete,
    insert,
    inspect,
    select,
    update,
)

from deeprotect.gateway.registration.registry_tables import admins
from deeprotect.gateway.registration.tokens import new_token, token_hash
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import Clock, microseconds, moment_of, utc_now

LONGEST = timedelta(hours=12)
_LOCK = "deeprotect: console"
_tables = MetaData()
sessions = Table(
    "deeprotect_console_sessions",
    _tables,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("admin_hash", LargeBinary, nullable=False),  # a new admin's token ends all sessions of the one before
    Column("expires", BigInteger, nullable=False),  # microseconds of UTC since 1970
    Column("raw", Integer, nullable=False),  # 1 while raw samples are shown beside released ones
)


@dataclass(frozen=True)
class Session:
    """One browser of the admin's; the cookie is known to it alone."""

    cookie: str
    expires: datetime
    shows_raw: bool

    @property
    def form_token(self) -> str:
        return form_token(self.cookie)


def form_token(cookie: str) -> str:
    """What a form must carry: only who knows the cookie can work it out, and no other site does."""
    return hashlib.sha256(b"deeprotect form\0" + cookie.encode("utf-8", "surrogatepass")).hexdigest()


class Sessions:
    """Begun with the admin's token, ended by sign-out, by time, or by a new admin."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database, self._clock = database, clock
        with database.writing(_LOCK) as connection:
            if not inspect(connection).has_table(sessions.name):
                _tables.create_all(connection)

    def begin(self, admin_token: str) -> str | None:
        """The cookie of a new session; None where it is not the admin's token."""
        cookie, now = new_token(), self._clock()
        with self._database.writing(_LOCK) as connection:
            known = connection.execute(select(admins.c.id).where(admins.c.token_hash == token_hash(admin_token)))
            if known.one_or_none() is None:
                return None
            connection.execute(delete(sessions).where(sessions.c.expires <= microseconds(now)))
            row = {"token_hash": token_hash(cookie), "admin_hash": token_hash(admin_token), "raw": 0}
            connection.execute(insert(sessions).values(**row, expires=microseconds(now + LONGEST)))
        return cookie

    def find(self, cookie: str) -> Session | None:
        """The session, unless it is over."""
        asked = select(sessions.c.expires, sessions.c.raw).where(
            sessions.c.token_hash == token_hash(cookie),
            sessions.c.expires > microseconds(self._clock()),
            sessions.c.admin_hash.in_(select(admins.c.token_hash)),
        )
        with self._database.reading() as connection:
            row = connection.execute(asked).one_or_none()
        return None if row is None else Session(cookie, moment_of(row.expires), shows_raw=bool(row.raw))

    def show_raw(self, session: Session, shown: int) -> None:
        """1 from now on, or 0."""
        self._execute(update(sessions).where(_is(session)).values(raw=shown))

    def end(self, session: Session) -> None:
        self._execute(delete(sessions).where(_is(session)))

    def _execute(self, statement: Executable) -> None:
        with self._database.writing(_LOCK) as connection:
            connection.execute(statement)


def _is(session: Session) -> ColumnElement[bool]:
    return sessions.c.token_hash == token_hash(session.cookie)
