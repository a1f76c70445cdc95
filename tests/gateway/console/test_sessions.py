from datetime import UTC, datetime, timedelta

import pytest

from deeprotect.gateway.console.sessions import LONGEST, Sessions, form_token
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.release.ledger.database import Database


@pytest.fixture
def now():
    return [datetime(2026, 1, 1, tzinfo=UTC)]


@pytest.fixture
def database(tmp_path):
    return Database.existing_or_new(str(tmp_path / "ledger.sqlite"))


@pytest.fixture
def sessions(database, now):
    return Sessions(database, clock=lambda: now[0])


@pytest.fixture
def admin(database):
    return Registry(database).new_admin()


def test_a_session_begins_with_the_admins_token_only(sessions, admin):
    assert sessions.begin("other") is None
    cookie = sessions.begin(admin)
    assert sessions.find(cookie) is not None
    assert sessions.find(admin) is None
    assert sessions.find("") is None


def test_a_session_ends_by_time(sessions, admin, now):
    cookie = sessions.begin(admin)
    now[0] += LONGEST - timedelta(seconds=1)
    assert sessions.find(cookie) is not None
    now[0] += timedelta(seconds=1)
    assert sessions.find(cookie) is None


def test_every_process_knows_a_session(sessions, admin, database):
    cookie = sessions.begin(admin)
    assert Sessions(database, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)).find(cookie) is not None


def test_raw_samples_are_off_until_they_are_switched_on(sessions, admin):
    cookie = sessions.begin(admin)
    assert not sessions.find(cookie).shows_raw
    sessions.show_raw(sessions.find(cookie), 1)
    assert sessions.find(cookie).shows_raw
    assert not sessions.find(sessions.begin(admin)).shows_raw


def test_neither_cookie_nor_token_is_stored(sessions, admin, tmp_path):
    cookie = sessions.begin(admin)
    content = (tmp_path / "ledger.sqlite").read_bytes()
    for secret in (cookie, admin, form_token(cookie)):
        assert secret.encode() not in content
