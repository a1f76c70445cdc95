"""Ledgers on both databases: a file, and a real PostgreSQL server that the tests start for themselves."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from tests.release.ledger.prices import price

from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger

WANTED = "needs PostgreSQL and psycopg; apt-get install postgresql, and install deeprotect[ledger]"


def _program(name):
    """Debian keeps the server's programs out of the path."""
    found = [shutil.which(name), *sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))]
    return next((str(path) for path in reversed(found) if path), None)


def _as_server(*command):
    """PostgreSQL refuses to run as root."""
    alone = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
    subprocess.run([*alone, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


@pytest.fixture(scope="session")
def server():
    """A cluster of its own in a folder of its own, reached by a socket there; gone after the tests."""
    try:
        import psycopg
    except ModuleNotFoundError:
        psycopg = None
    if psycopg is None or _program("initdb") is None:
        (pytest.fail if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1" else pytest.skip)(WANTED)
    folder = Path(tempfile.mkdtemp(prefix="ledger-"))  # short: a socket's path has at most 107 characters
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    data, settings = (
        str(folder / "data"),
        f"-c listen_addresses= -c fsync=off -c default_transaction_isolation=serializable -k {folder}",
    )
    _as_server(_program("initdb"), "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--locale=C", "-E", "UTF8")
    _as_server(_program("pg_ctl"), "-D", data, "-w", "-o", settings, "-l", str(folder / "log"), "start")
    yield f"host={folder} user=postgres"
    _as_server(_program("pg_ctl"), "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(folder)


_numbers = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a ledger may be made; nothing is there yet."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("own_database")


@pytest.fixture
def own_database(server):
    """A schema of its own, which is all that a ledger sees; a whole database would be 7 MB each time."""
    import psycopg

    name = f"ledger_{next(_numbers)}"
    with psycopg.connect(f"{server} dbname=postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    folder = server.split()[0].removeprefix("host=")
    return f"postgresql+psycopg://postgres@/postgres?host={folder}&options=-csearch_path%3D{name}"


class SetClock:
    """A clock that stands still unless it is moved."""

    def __init__(self):
        self.now = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, **by):
        self.now += timedelta(**by)


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def open_ledger(address, clock):
    """A new connection each time, as another process would have one."""

    def opened(stream="walk", *, person=None, app="", bundle="bundle", at=None, **limits):
        cost = replace(at or price(**limits), bundle=bundle)
        return StoredLedger(Database.existing_or_new(address), Account(stream, person, app), cost, clock=clock)

    return opened
