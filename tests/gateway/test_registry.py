from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from deeprotect.errors import InputError, LedgerError
from deeprotect.gateway.registration import events
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.gateway.registration.directory import Directory
from deeprotect.release.ledger.database import Database

HOSTILE = "<script>alert(1)</script> & 'Ann' \"x\""


@pytest.fixture
def address(tmp_path):
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def registry(address):
    return Registry(Database.existing_or_new(address), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_a_device_is_found_by_its_token_and_by_nothing_else(registry):
    token = registry.add_device("watch", person="anna", sensors={"platform": "ios"})
    found = device_of(registry, token)
    assert (found.stream, found.person, found.sensors) == ("watch", "anna", {"platform": "ios"})
    assert found.created == datetime(2026, 1, 1, tzinfo=UTC)
    assert device_of(registry, token + "x") is None
    assert app_of(registry, token) is None
    assert not registry.is_admin(token)


def device_of(registry, token):
    return Directory(registry).device_of(token)


def app_of(registry, token):
    return Directory(registry).app_of(token)


def test_without_a_person_a_stream_is_one_of_its_own(registry):
    assert device_of(registry, registry.add_device("watch")).person == "watch"


def test_an_app_is_good_for_one_stream_and_one_bundle(registry):
    registry.add_device("watch", person="anna")
    token = registry.add_app("fit", stream="watch", bundle="walk", push="http://localhost:1/data")
    found = app_of(registry, token)
    assert (found.name, found.stream, found.bundle, found.push) == ("fit", "watch", "walk", "http://localhost:1/data")
    assert device_of(registry, token) is None


def test_what_is_registered_is_listed_in_order_whatever_it_is_called(registry):
    for stream in ("b", HOSTILE, "a"):
        registry.add_device(stream)
        registry.add_app(HOSTILE, stream=stream, bundle="walk")
    assert [device.stream for device in Directory(registry).devices()] == ["b", HOSTILE, "a"]
    assert [app.stream for app in Directory(registry).apps()] == ["b", HOSTILE, "a"]


def test_names_that_cannot_be_shown_are_refused(registry):
    for name in ("", "two\nlines", "\x1b[2J", "\u202ename", "x" * 101):
        with pytest.raises(InputError):
            registry.add_device(name)


def test_the_same_name_twice_is_refused(registry):
    registry.add_device("watch")
    registry.add_app("fit", stream="watch", bundle="walk")
    with pytest.raises(InputError, match="has a device"):
        registry.add_device("watch")
    with pytest.raises(InputError, match="has an app"):
        registry.add_app("fit", stream="watch", bundle="other")


def test_an_app_needs_a_stream_that_is_there(registry):
    with pytest.raises(InputError, match="register its device first"):
        registry.add_app("fit", stream="nowhere", bundle="walk")


def test_a_bundle_that_no_gateway_serves_is_refused_with_those_that_one_does(registry):
    registry.add_device("watch")
    registry.serve("first:8765", ["walk", "old"])
    registry.serve("second:8765", ["sleep"])
    registry.serve("first:8765", ["walk"])  # started again, with another list
    with pytest.raises(InputError, match="no bundle 'old' is served; these are: sleep, walk"):
        registry.add_app("fit", stream="watch", bundle="old")
    assert not Directory(registry).apps()
    assert app_of(registry, registry.add_app("fit", stream="watch", bundle="sleep"))


def test_what_is_revoked_is_gone_and_its_name_is_free(registry):
    device = registry.add_device("watch")
    app = registry.add_app("fit", stream="watch", bundle="walk")
    registry.revoke_app("fit", stream="watch")
    assert app_of(registry, app) is None
    assert device_of(registry, device) is not None
    assert app_of(registry, registry.add_app("fit", stream="watch", bundle="walk")) is not None


def test_with_a_device_all_apps_of_its_stream_are_revoked(registry):
    for stream in ("watch", "phone"):
        registry.add_device(stream)
    app, other = (registry.add_app("fit", stream=stream, bundle="walk") for stream in ("watch", "phone"))
    registry.revoke_device("watch")
    assert app_of(registry, app) is None
    assert app_of(registry, other) is not None
    assert [device.stream for device in Directory(registry).devices()] == ["phone"]


def test_revoking_what_is_not_there_is_one_line(registry):
    registry.add_device("watch")
    with pytest.raises(InputError, match="no stream 'phone' is registered"):
        registry.revoke_device("phone")
    with pytest.raises(InputError, match="stream 'watch' has no app 'fit'"):
        registry.revoke_app("fit", stream="watch")
    registry.revoke_device("watch")
    with pytest.raises(InputError):
        registry.revoke_device("watch")


def test_a_new_admin_replaces_the_one_before(registry):
    first = registry.new_admin()
    assert registry.is_admin(first)
    second = registry.new_admin()
    assert registry.is_admin(second)
    assert not registry.is_admin(first)


def test_of_gateways_that_start_at_once_one_says_the_admins_token(address):
    registries = [Registry(Database.existing_or_new(address)) for _ in range(4)]
    with ThreadPoolExecutor() as pool:
        said = [token for token in pool.map(Registry.first_admin, registries) if token is not None]
    assert len(said) == 1
    assert registries[0].is_admin(said[0])


def test_no_token_is_stored(registry, address):
    device = registry.add_device("watch")
    tokens = [device, registry.add_app("fit", stream="watch", bundle="walk"), registry.new_admin()]
    with open(address, "rb") as file:  # noqa: PTH123
        content = file.read()
    assert not any(token.encode() in content for token in tokens)


def test_two_processes_see_the_same_registry(registry, address):
    token = registry.add_device("watch")
    assert Directory(Registry.existing(address)).device_of(token).stream == "watch"
    Registry.existing(address).revoke_device("watch")
    assert device_of(registry, token) is None


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    other = tmp_path / "notes.sqlite"
    other.write_text("these are notes")
    with pytest.raises(LedgerError):
        Registry.existing(str(other))
    assert other.read_text() == "these are notes"


@pytest.fixture
def now():
    return [datetime(2026, 1, 1, tzinfo=UTC)]


@pytest.fixture
def timed(address, now):
    return Registry(Database.existing_or_new(address), clock=lambda: now[0])


def test_while_tokens_overlap_both_are_good_for_the_same_device_and_its_apps_stay(timed, now):
    old = timed.add_device("watch", person="anna", sensors={"platform": "ios"})
    app = timed.add_app("fit", stream="watch", bundle="walk")
    before = device_of(timed, old)
    new = timed.rotate("watch", overlap=timedelta(minutes=10))
    assert device_of(timed, old) == device_of(timed, new) == before
    assert (len(Directory(timed).devices()), len(Directory(timed).apps())) == (1, 1)
    now[0] += timedelta(minutes=10)
    assert device_of(timed, old) is None
    assert device_of(timed, new) == before
    assert app_of(timed, app).name == "fit"


def test_an_app_that_is_rotated_is_the_same_app_and_is_drawn_for_once(timed):
    timed.add_device("watch")
    old = timed.add_app("fit", stream="watch", bundle="walk")
    new = timed.rotate("watch", app="fit", overlap=timedelta(hours=1))
    assert app_of(timed, old).key == app_of(timed, new).key
    directory = Directory(timed)
    assert len(directory.apps_of("watch")) == len(directory.apps()) == 1


def test_without_an_overlap_the_old_token_is_gone_by_every_clock(timed, now):
    old = timed.add_device("watch")
    new = timed.rotate("watch", overlap=timedelta())
    now[0] -= timedelta(hours=1)  # a gateway whose clock is behind
    assert device_of(timed, old) is None
    assert device_of(timed, new) is not None


def test_rotating_again_never_lengthens_the_life_of_an_older_token(timed, now):
    first = timed.add_device("watch")
    second = timed.rotate("watch", overlap=timedelta(minutes=10))
    third = timed.rotate("watch", overlap=timedelta(hours=1))
    now[0] += timedelta(minutes=10)
    assert [device_of(timed, token) is None for token in (first, second, third)] == [True, False, False]
    timed.revoke_device("watch")
    assert [device_of(timed, token) for token in (second, third)] == [None, None]


def test_the_directory_ends_a_rotated_token_by_itself(timed, now):
    old = timed.add_device("watch")
    new = timed.rotate("watch", overlap=timedelta(minutes=10))
    directory = Directory(timed)
    assert directory.device_of(old) is not None
    now[0] += timedelta(minutes=10)
    assert directory.device_of(old) is None
    assert directory.device_of(new) is not None


def test_a_slow_reading_never_brings_back_what_was_revoked_meanwhile(timed):
    token = timed.add_device("watch")
    directory, has_read, may_end = Directory(timed), Event(), Event()
    timed.add_device("phone")
    known, first = timed.known, [True]

    def slow_at_first():
        found = known()
        if first:
            first.clear()
            has_read.set()
            may_end.wait(10)
        return found

    timed.known = slow_at_first
    with ThreadPoolExecutor() as pool:
        older = pool.submit(directory.refresh)
        has_read.wait(10)
        timed.revoke_device("watch")
        newer = pool.submit(directory.refresh)
        wait([newer], timeout=0.2)
        may_end.set()
        older.result(), newer.result()
    assert directory.device_of(token) is None


def test_rotating_what_is_not_there_is_one_line(timed):
    with pytest.raises(InputError, match="no stream 'watch' is registered"):
        timed.rotate("watch", overlap=timedelta(0))
    timed.add_device("watch")
    with pytest.raises(InputError, match="stream 'watch' has no app 'fit'"):
        timed.rotate("watch", app="fit", overlap=timedelta(0))


def test_in_a_folder_without_a_gateway_nothing_is_made(tmp_path):
    with pytest.raises(InputError, match="there is no gateway here"):
        Registry.existing(str(tmp_path / "gateway.sqlite"))
    Database.existing_or_new(str(tmp_path / "ledger.sqlite"))  # a ledger, which no gateway was started with
    with pytest.raises(InputError, match="there is no gateway here"):
        Registry.existing(str(tmp_path / "ledger.sqlite"))
    assert [path.name for path in tmp_path.iterdir() if "gateway" in path.name] == []


def test_links_open_one_thing_each_and_a_new_one_ends_the_one_before(timed):
    device = timed.add_device("watch", person="anna")
    page, metrics = timed.new_link("person", "anna"), timed.new_link("metrics")
    assert (timed.linked("person", page), timed.linked("metrics", metrics)) == ("anna", "")
    assert timed.linked("metrics", page) is timed.linked("person", metrics) is timed.linked("person", device) is None
    assert device_of(timed, page) is app_of(timed, page) is None
    assert not timed.is_admin(page)
    again = timed.new_link("person", "anna")
    assert timed.linked("person", page) is None
    timed.revoke_link("person", "anna")
    assert timed.linked("person", again) is None
    assert timed.linked("metrics", metrics) == ""
    with pytest.raises(InputError, match="no such link"):
        timed.revoke_link("person", "anna")
    with pytest.raises(InputError, match="nobody called 'bob'"):
        timed.new_link("person", "bob")


def test_a_pause_ends_by_itself_and_a_stop_by_the_operator_alone(timed, now):
    timed.add_device("watch", person="anna")
    timed.add_app("fit", stream="watch", bundle="walk")
    directory = Directory(timed)

    def served():
        directory.refresh()
        return len(directory.apps_of("watch"))

    timed.halt("anna", stop=False, until=now[0] + timedelta(hours=1))
    assert served() == 0
    now[0] += timedelta(hours=1)
    assert served() == 1
    timed.halt("anna", stop=True)
    timed.halt("anna", stop=False, until=now[0])  # a pause does not make a stop end
    timed.resume("anna")
    assert served() == 0
    assert Registry.existing(timed.database.where).known().halts["anna"].stopped
    timed.resume("anna", by_operator=True)
    assert served() == 1


def test_what_is_done_is_listed_newest_first_and_found_by_a_name(timed, now):
    timed.add_device("watch", person="anna")
    timed.add_device("phone", person="bob")
    now[0] += timedelta(seconds=1)
    timed.rotate("watch", overlap=timedelta(minutes=10))
    timed.halt("anna", stop=True)
    told = [(each.what, dict(each.facts)) for each in events.read(timed.database, most=10, about="WATCH")]
    assert told == [
        ("token rotated", {"stream": "watch", "overlap": "600 s"}),
        ("device registered", {"stream": "watch", "person": "anna"}),
    ]
    assert [each.what for each in events.read(timed.database, most=2)] == ["stopped by the person", "token rotated"]
    assert [each.what for each in events.read(timed.database, most=9, skip=3)] == ["device registered"]
    assert events.read(timed.database, most=9, about="%") == []


def test_events_are_kept_to_a_number(timed, monkeypatch):
    monkeypatch.setattr(events, "MOST_KEPT", 5)
    for number in range(3):
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        events.keep(timed.database, [events.OperatorEvent(moment, f"{number}.{each}", {}) for each in range(4)])
    assert [each.what for each in events.read(timed.database, most=99)] == ["2.3", "2.2", "2.1", "2.0", "1.3"]


def test_an_earlier_registry_is_taken_over_and_an_app_that_was_given_less_is_given_nothing(address):
    database = Database.existing_or_new(address)
    with database.writing("test") as connection:
        for line in EARLIER.strip().split(";\n"):
            connection.exec_driver_sql(line)
    registry = Registry(database)
    assert [device.stream for device in Directory(registry).devices()] == ["watch"]
    assert [app.name for app in Directory(registry).apps()] == ["plain"]
    assert device_of(registry, registry.rotate("watch", overlap=timedelta(minutes=1))) is not None


EARLIER = """
CREATE TABLE deeprotect_devices (id INTEGER PRIMARY KEY, stream TEXT NOT NULL, person TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE, sensors TEXT NOT NULL, created BIGINT NOT NULL, revoked BIGINT);
CREATE TABLE deeprotect_apps (id INTEGER PRIMARY KEY, name TEXT NOT NULL, stream TEXT NOT NULL, bundle TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE, push TEXT, epsilon TEXT, every INTEGER, created BIGINT NOT NULL, revoked BIGINT);
CREATE TABLE deeprotect_admins (id INTEGER PRIMARY KEY, token_hash BLOB NOT NULL UNIQUE, created BIGINT NOT NULL);
CREATE TABLE deeprotect_registry (changes BIGINT NOT NULL);
INSERT INTO deeprotect_registry VALUES (3);
INSERT INTO deeprotect_devices VALUES (1, 'watch', 'anna', x'01', '{}', 1, NULL);
INSERT INTO deeprotect_apps VALUES (1, 'plain', 'watch', 'walk', x'02', NULL, NULL, NULL, 1, NULL);
INSERT INTO deeprotect_apps VALUES (2, 'less', 'watch', 'walk', x'03', NULL, '2.5', NULL, 1, NULL);
INSERT INTO deeprotect_apps VALUES (3, 'held', 'watch', 'walk', x'04', NULL, NULL, 10, 1, NULL)
"""
