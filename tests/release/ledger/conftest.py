"""Ledgers on both databases: a file, and a real PostgreSQL server that the tests start for themselves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from tests.postgres import Cluster
from tests.release.ledger.prices import price

from deeprotect.release.ledger import Account
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger


@pytest.fixture(scope="session")
def server():
    """A server of its own; gone after the tests."""
    cluster = Cluster()
    cluster.start()
    yield f"host={cluster.folder} user=postgres"
    cluster.stop()
    cluster.remove()


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
