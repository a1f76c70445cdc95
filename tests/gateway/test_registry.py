from datetime import UTC, datetime

import pytest

from deeprotect.errors import InputError, LedgerError
from deeprotect.gateway.registration.device_registry import Registry
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
    found = registry.device_of(token)
    assert (found.stream, found.person, found.sensors) == ("watch", "anna", {"platform": "ios"})
    assert found.created == datetime(2026, 1, 1, tzinfo=UTC)
    assert registry.device_of(token + "x") is None
    assert registry.app_of(token) is None
    assert not registry.is_admin(token)


def test_without_a_person_a_stream_is_one_of_its_own(registry):
    assert registry.device_of(registry.add_device("watch")).person == "watch"


def test_an_app_is_good_for_one_stream_and_one_bundle(registry):
    registry.add_device("watch", person="anna")
    token = registry.add_app("fit", stream="watch", bundle="walk", push="http://localhost:1/data")
    found = registry.app_of(token)
    assert (found.name, found.stream, found.bundle, found.push) == ("fit", "watch", "walk", "http://localhost:1/data")
    assert registry.device_of(token) is None


def test_what_is_registered_is_listed_in_order_whatever_it_is_called(registry):
    for stream in ("b", HOSTILE, "a"):
        registry.add_device(stream)
        registry.add_app(HOSTILE, stream=stream, bundle="walk")
    assert [device.stream for device in registry.devices()] == ["b", HOSTILE, "a"]
    assert [app.stream for app in registry.apps()] == ["b", HOSTILE, "a"]


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


def test_a_bundle_that_is_not_served_is_refused_where_one_knows(registry):
    registry.add_device("watch")
    with pytest.raises(InputError, match="no bundle 'run' is served; there is: walk"):
        registry.add_app("fit", stream="watch", bundle="run", served=["walk"])
    assert not registry.apps()


def test_what_is_revoked_is_gone_and_its_name_is_free(registry):
    device = registry.add_device("watch")
    app = registry.add_app("fit", stream="watch", bundle="walk")
    registry.revoke_app("fit", stream="watch")
    assert registry.app_of(app) is None
    assert registry.device_of(device) is not None
    assert registry.app_of(registry.add_app("fit", stream="watch", bundle="walk")) is not None


def test_with_a_device_all_apps_of_its_stream_are_revoked(registry):
    for stream in ("watch", "phone"):
        registry.add_device(stream)
    app, other = (registry.add_app("fit", stream=stream, bundle="walk") for stream in ("watch", "phone"))
    registry.revoke_device("watch")
    assert registry.app_of(app) is None
    assert registry.app_of(other) is not None
    assert [device.stream for device in registry.devices()] == ["phone"]


def test_revoking_what_is_not_there_is_one_line(registry):
    registry.add_device("watch")
    with pytest.raises(InputError, match="no stream 'phone' is registered"):
        registry.revoke_device("phone")
    with pytest.raises(InputError, match="stream 'watch' has no app 'fit'"):
        registry.revoke_app("fit", stream="watch")
    registry.revoke_device("watch")
    with pytest.raises(InputError):
        registry.revoke_device("watch")


def test_a_choice_is_kept_until_it_is_taken_back(registry):
    registry.add_device("watch")
    registry.add_app("fit", stream="watch", bundle="walk")
    registry.choose("fit", stream="watch", epsilon="2.50", every=10)
    assert [(app.epsilon, app.every) for app in registry.apps()] == [("2.50", 10)]
    registry.choose("fit", stream="watch", epsilon=None, every=None)
    assert [(app.epsilon, app.every) for app in registry.apps()] == [(None, None)]
    with pytest.raises(InputError):
        registry.choose("other", stream="watch", epsilon="1", every=None)


def test_a_new_admin_replaces_the_one_before(registry):
    assert not registry.has_admin()
    first = registry.new_admin()
    assert registry.is_admin(first)
    second = registry.new_admin()
    assert registry.has_admin()
    assert registry.is_admin(second)
    assert not registry.is_admin(first)


def test_no_token_is_stored(registry, address):
    device = registry.add_device("watch")
    tokens = [device, registry.add_app("fit", stream="watch", bundle="walk"), registry.new_admin()]
    with open(address, "rb") as file:  # noqa: PTH123
        content = file.read()
    assert not any(token.encode() in content for token in tokens)


def test_two_processes_see_the_same_registry(registry, address):
    token = registry.add_device("watch")
    assert Registry.at(address).device_of(token).stream == "watch"
    Registry.at(address).revoke_device("watch")
    assert registry.device_of(token) is None


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    other = tmp_path / "notes.sqlite"
    other.write_text("these are notes")
    with pytest.raises(LedgerError):
        Registry.at(str(other))
    assert other.read_text() == "these are notes"
