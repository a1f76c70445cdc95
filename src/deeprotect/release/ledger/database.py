"""The database of a stored ledger: a SQLite file, or PostgreSQL by its address."""

import hashlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from deeprotect.errors import DeeprotectError, LedgerError, LedgerUnavailableError, printable
from deeprotect.release.ledger import database_tables as schema
from deeprotect.tables.atomic import private_file

WAIT_SECONDS, _UPGRADE_SECONDS = 60, 3600
_PATIENCE = 1.5  # times the wait for a lock, which the server itself limits
POSTGRES = "postgresql+psycopg"
_CREATING = "deeprotect: tables"
_LOCK_ALL = "SELECT pg_advisory_xact_lock(n) FROM (SELECT unnest(%s::bigint[]) AS n ORDER BY 1) AS locks"
"""Lock names in one order, so that programs that need several cannot deadlock."""


@dataclass(frozen=True)
class Database:
    """One address; every block below is one transaction, on its own connection.

    Programs that query a server continually may keep connections until `disconnect`. A file is reopened each time, so
    that nothing is written to a file that was moved away.
    """

    engine: Engine
    where: str  # for messages, without a password
    wait_seconds: float

    @classmethod
    def existing(cls, address: str, *, wait_seconds: float = WAIT_SECONDS) -> Self:
        """An existing ledger."""
        database = cls._at(address, wait_seconds)
        path = database._path
        if path is not None and not path.exists():
            raise LedgerError(f"{database.where}: no such ledger; `deeprotect protect --ledger` makes one")
        with database.reading() as connection:
            schema.check(connection, database.where)
            older = schema.version_of(connection) != schema.VERSION
        return cls.existing_or_new(address, wait_seconds=wait_seconds) if older else database

    @classmethod
    def existing_or_new(
        cls, address: str, *, wait_seconds: float = WAIT_SECONDS, keep_connections: bool = False
    ) -> Self:
        """An existing ledger, or an empty one."""
        database = cls._at(address, wait_seconds, keep_connections=keep_connections)
        path = database._path
        if path is not None and not path.parent.is_dir():
            raise LedgerError(f"{database.where}: the folder {printable(str(path.parent))} does not exist; create it")
        if path is not None:
            private_file(path)  # it names people; SQLite gives its journals the same mode
        with database.writing(_CREATING) as connection:
            # A file with other tables belongs to another program; a server's database may hold several things.
            if path is None or not inspect(connection).get_table_names():
                schema.create(connection)
            schema.check(connection, database.where)
            is_old = schema.version_of(connection) != schema.VERSION
        if is_old:  # with much to add up, it may take longer than anything else
            with cls._at(address, _UPGRADE_SECONDS).writing(_CREATING) as connection:
                schema.upgrade(connection)
        if path is not None:
            database._let_readers_be()
        return database

    @classmethod
    def _at(cls, address: str, wait_seconds: float, *, keep_connections: bool = False) -> Self:
        url = _url(address)
        if url.drivername == POSTGRES:
            wait = {"connect_timeout": math.ceil(wait_seconds)}
            # Read committed, whatever the server's default: data read after waiting for a lock must not be older.
            server = partial(create_engine, url, isolation_level="READ COMMITTED", connect_args=wait)
            # Check pooled connections before use: the server may have been restarted.
            kept = partial(server, pool_pre_ping=True, pool_timeout=wait_seconds)
            engine = kept() if keep_connections else server(poolclass=NullPool)
            event.listen(engine, "do_connect", partial(_connected, wait_seconds))
            return cls(engine, printable(url.render_as_string(hide_password=True), 200), wait_seconds)
        path, where = Path(url.database or ""), printable(address, 200)
        if path.exists() and not path.is_file():
            raise LedgerError(f"{where}: a ledger is a regular file; choose another name")
        # No isolation level: this program begins transactions itself.
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": wait_seconds, "isolation_level": None})
        return cls(engine, where, wait_seconds)

    def _let_readers_be(self) -> None:
        """Use a write-ahead log, so that readers do not block writers."""
        with self._said_in_one_line(), self.engine.connect() as connection, suppress(OperationalError):
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")  # if others write, one of them does it

    @property
    def _path(self) -> Path | None:
        return Path(self.engine.url.database or "") if self.engine.dialect.name == "sqlite" else None

    def disconnect(self) -> None:
        """Close connections, at the end and before a fork: processes must not share a connection."""
        self.engine.dispose()

    @contextmanager
    def writing(self, *locks: str) -> Iterator[Connection]:
        """A transaction that holds these locks from its first query to the commit; SQLite has one lock for all."""
        with self._said_in_one_line(), self.engine.begin() as connection:
            if self._path is None:
                wait = f"'{math.ceil(1000 * self.wait_seconds)}ms'"
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")
                connection.exec_driver_sql(_LOCK_ALL, (sorted({_number(lock) for lock in locks}),))
            else:
                # A commit is reported only once it is on disk, log and journal included: no release without charge.
                connection.exec_driver_sql("PRAGMA synchronous = EXTRA")
                # Checkpoint with every commit, so that a copied or moved file is complete.
                connection.exec_driver_sql("PRAGMA wal_autocheckpoint = 1")
                connection.exec_driver_sql("PRAGMA foreign_keys = ON")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view of the whole ledger, while others write."""
        with self._said_in_one_line(), self.engine.connect() as connection:
            if self._path is None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            else:
                connection.exec_driver_sql("BEGIN")
            yield connection

    @contextmanager
    def _said_in_one_line(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise _explained(error, self.where) from None


def _connected(wait_seconds: float, _: Any, __: Any, where: Any, options: Any) -> Any:
    """A connection that times out when the server stops responding."""
    from psycopg import Connection, OperationalError

    class Patient(Connection[Any]):
        def wait(self, gen: Any, *times: Any, **more: Any) -> Any:
            return super().wait(self._in_time(gen, time.monotonic() + _PATIENCE * wait_seconds), *times, **more)

        def _in_time(self, gen: Any, end: float) -> Any:
            """Run the driver's protocol, checking the time whenever nothing arrives for a while."""
            ready = None
            while True:
                try:
                    ready = yield gen.send(ready)
                except StopIteration as done:
                    return done.value
                if not ready and time.monotonic() > end:
                    self.pgconn.finish()
                    raise OperationalError("the server does not answer")

    return Patient.connect(*where, **options)


def _url(address: str) -> URL:
    """Parse a file's name, or postgresql+psycopg://user@host/database."""
    if "://" not in address:
        # Absolute, because SQLite treats some names as temporary databases: an empty one, and :memory:.
        return URL.create("sqlite", database=str(Path(address).absolute()))
    known = f"give a file's name, or {POSTGRES}://user@host/database"
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise LedgerError(f"that is not the address of a ledger; {known}") from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername=POSTGRES)
    if url.drivername != POSTGRES:
        raise LedgerError(f"a ledger cannot be kept in '{printable(url.drivername)}'; {known}")
    return url


def _explained(error: DBAPIError, where: str) -> DeeprotectError:
    """One line for each kind of failure; the driver's own text may contain an address with its password."""
    name = getattr(error.orig, "sqlite_errorname", None) or type(error.orig).__name__
    match name:
        case "SQLITE_NOTADB" | "SQLITE_CORRUPT":
            return LedgerError(f"{where}: not a ledger of DEEProtect, or a damaged one; restore it from a copy")
        case "SQLITE_BUSY" | "SQLITE_LOCKED" | "LockNotAvailable":
            return LedgerUnavailableError(f"{where}: locked by another program for too long; try again when it is done")
        case "SQLITE_CANTOPEN" | "SQLITE_READONLY" | "SQLITE_PERM" | "SQLITE_READONLY_DIRECTORY":
            return LedgerError(f"{where}: cannot be opened for writing; check its folder and permissions")
        case "SQLITE_FULL" | "SQLITE_IOERR_SHMSIZE" | "DiskFull":
            return LedgerUnavailableError(f"{where}: the disk is full; make room")
        case "InsufficientPrivilege":
            return LedgerError(f"{where}: this user may not make or write the tables; grant it, or use another user")
    if isinstance(error, OperationalError) and not name.startswith("SQLITE"):
        return LedgerUnavailableError(f"{where}: the server cannot be reached or refuses; check address and server")
    return LedgerUnavailableError(f"{where}: the database failed ({name}); nothing was released")


def _number(lock: str) -> int:
    """A lock's name as PostgreSQL's 64-bit number; a hash collision only causes extra waiting."""
    return int.from_bytes(hashlib.sha256(lock.encode()).digest()[:8], "big", signed=True)
