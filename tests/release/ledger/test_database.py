"""Addresses and what goes wrong with them: one line each, and no password in it."""

import os
import sqlite3
import stat
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import OperationalError
from tests.release.ledger.bookings import charge, record

from deeprotect.errors import LedgerError, LedgerUnavailableError
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import VERSION
from deeprotect.signals import Run


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(LedgerError, match=r"no\.db: no such ledger; `deeprotect protect --ledger` makes one"):
        Database.existing(str(tmp_path / "no.db"))
    assert not (tmp_path / "no.db").exists()
    with pytest.raises(LedgerError, match=r"the folder .* does not exist; create it"):
        Database.existing_or_new(str(tmp_path / "no" / "ledger.db"))


@pytest.mark.parametrize("linked", [False, True])
def test_a_ledger_and_its_journal_are_their_users_alone(tmp_path, linked):
    path, before = tmp_path / "ledger.db", os.umask(0)
    try:
        if linked:
            (tmp_path / "link.db").symlink_to(path)
        database = Database.existing_or_new(str(tmp_path / "link.db" if linked else path))
        with database.writing() as connection:
            connection.exec_driver_sql("CREATE TABLE more (x)")
            modes = {
                each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir() if not each.is_symlink()
            }
    finally:
        os.umask(before)
    assert modes == {"ledger.db": 0o600, "ledger.db-shm": 0o600, "ledger.db-wal": 0o600}


def test_an_empty_database_is_no_ledger_until_it_is_made_one(address):
    if "://" not in address:
        Path(address).touch()
    with pytest.raises(LedgerError, match="not a ledger of DEEProtect"):
        Database.existing(address)
    Database.existing_or_new(address)
    Database.existing(address)


@pytest.mark.parametrize("content", [b"time,acc_x\n0,1\n", os.urandom(5000), b"SQLite format 3\0" + bytes(4000)])
def test_a_file_that_is_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "walk.csv"
    path.write_bytes(content)
    for opened in (Database.existing, Database.existing_or_new):
        with pytest.raises(LedgerError, match=r"walk\.csv: not a ledger of DEEProtect"):
            opened(str(path))
    assert path.read_bytes() == content


def test_somebody_elses_database_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mail (text)")
    connection.close()
    with pytest.raises(LedgerError, match="not a ledger of DEEProtect"):
        Database.existing_or_new(str(path))
    assert b"deeprotect" not in path.read_bytes()


def test_no_name_means_a_database_that_vanishes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Database.existing_or_new(":memory:")
    assert (tmp_path / ":memory:").is_file()
    with pytest.raises(LedgerError, match="a ledger is a regular file"):
        Database.existing_or_new("")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="a ledger is a regular file"):
        Database.existing_or_new(str(tmp_path))


def test_a_ledger_of_a_later_version_is_refused(address):
    with Database.existing_or_new(address).writing("test") as connection:
        connection.execute(text(f"UPDATE deeprotect_ledger SET version = {VERSION + 1}"))
    for opened in (Database.existing, Database.existing_or_new):
        with pytest.raises(
            LedgerError, match=rf"version {VERSION + 1} is not the one this program knows \({VERSION}\)"
        ):
            opened(address)


def test_a_server_that_does_not_answer_is_said_without_the_password():
    pytest.importorskip("psycopg", reason="needs psycopg; install deeprotect[ledger]")
    with pytest.raises(LedgerUnavailableError, match="cannot be reached") as failure:
        Database.existing("postgresql://ann:secret@localhost:1/ledger")
    assert "secret" not in str(failure.value)
    assert failure.value.__cause__ is None


@pytest.mark.parametrize(
    "address", ["mysql://localhost/x", "postgresql+asyncpg://localhost/x", "sqlite:///x.db", "://"]
)
def test_other_databases_are_refused(address):
    with pytest.raises(LedgerError, match=r"give a file's name, or postgresql\+psycopg://user@host/database"):
        Database.existing(address)


def test_a_ledger_that_others_hold_is_said_to_be_locked(address):
    holder, waiting = Database.existing_or_new(address), Database.existing_or_new(address, wait_seconds=0.01)
    with (
        holder.writing("someone"),
        pytest.raises(LedgerUnavailableError, match="locked by another program"),
        waiting.writing("someone"),
    ):
        pass


def test_people_do_not_wait_for_each_other_on_a_server(own_database):
    holder, other = Database.existing_or_new(own_database), Database.existing_or_new(own_database, wait_seconds=0.01)
    with holder.writing("ann"), other.writing("bob"):
        pass


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("SQLITE_READONLY", "cannot be opened for writing"),
        ("SQLITE_CANTOPEN", "cannot be opened for writing"),
        ("SQLITE_FULL", "the disk is full"),
        ("SQLITE_IOERR_READ", r"the database failed \(SQLITE_IOERR_READ\); nothing was released"),
    ],
)
def test_what_a_disk_does_is_said_in_one_line(tmp_path, name, line):
    failure = sqlite3.OperationalError("something with /a/path in it")
    failure.sqlite_errorname = name
    with (
        pytest.raises((LedgerError, LedgerUnavailableError), match=rf"ledger\.db: {line}"),
        Database.existing_or_new(str(tmp_path / "ledger.db")).writing("x"),
    ):
        raise OperationalError("INSERT", {}, failure)


def test_a_statement_is_of_one_moment_while_others_write(open_ledger, address):
    ledger = open_ledger()
    database = Database.existing(address)
    with database.reading() as connection:
        counted = text("SELECT count(*) FROM deeprotect_charges")
        before = connection.execute(counted).scalar()
        charge(ledger, [Run("a", 0, 1)], count=1)
        assert connection.execute(counted).scalar() == before


def test_nothing_but_reading_and_adding_is_asked_of_the_database(open_ledger):
    said = []
    listener = lambda *arguments: said.append(arguments[2])  # noqa: E731
    event.listen(Engine, "before_cursor_execute", listener)
    try:
        for _ in range(2):
            ledger = open_ledger(per_hour=100.0)
            charge(ledger, [Run("a", 0, 3)], count=3)
            record(ledger, [Run("a", 0, 3)], np.zeros((3, 1)))
    finally:
        event.remove(Engine, "before_cursor_execute", listener)
    assert any("INSERT INTO deeprotect_draws" in each for each in said)
    assert not [each for each in said if each.split()[0] in ("UPDATE", "DELETE", "DROP", "REPLACE", "TRUNCATE")]
