import json

import pytest

from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.gateway.registration.directory import Directory
from deeprotect.release.ledger.database import Database

DATABASE = ("--database", "gateway.sqlite")


@pytest.fixture
def register(deeprotect, folder):
    """Run in a folder in which a gateway that serves the bundle `walk` has been started."""
    Registry(Database.existing_or_new(str(folder / "gateway.sqlite"))).serve(
        "here:8765", ["walk"], ["acc_x", "acc_y", "light"]
    )

    def run(*words):
        verbs = ("list", "revoke", "rotate", "events", "resume", "confirm-clock", "token")
        return deeprotect("gateway", *(() if words[0] in verbs else ("register",)), *words, *DATABASE)

    return run


def test_a_device_gets_an_address_that_is_printed_once_and_stored_nowhere(register, folder):
    done = register("device", "watch", "--person", "anna", "--platform", "ios", "--at", "https://gate.example/")
    assert done.returncode == 0, done.stderr
    into, phone = done.stdout.split()
    token = into.removeprefix("https://gate.example/in/")
    assert phone == f"https://gate.example/phone/{token}"
    assert token not in done.stderr
    found = Directory(Registry.existing(str(folder / "gateway.sqlite"))).device_of(token)
    assert (found.stream, found.person, found.sensors) == ("watch", "anna", {"platform": "ios"})
    assert token.encode() not in (folder / "gateway.sqlite").read_bytes()


def test_how_a_devices_messages_are_read_is_registered_with_it(register, folder):
    said = ("--platform", "ios", "--standardised", "--acceleration", "total", "--channel", "light=light.lux")
    done = register("device", "watch", *said)
    assert done.returncode == 0, done.stderr
    token = done.stdout.split()[0].rpartition("/")[2]
    expected = {"platform": "ios", "standardised": True, "acceleration": "total", "channels": {"light": "light.lux"}}
    assert Directory(Registry.existing(str(folder / "gateway.sqlite"))).device_of(token).sensors == expected


def test_an_app_gets_a_token_and_is_listed(register, folder):
    register("device", "watch", "--person", "anna")
    done = register(
        "app", "fit", "--stream", "watch", "--bundle", "walk", "--push", "http://u:secret@localhost:9/key?x"
    )
    assert done.returncode == 0, done.stderr
    assert Directory(Registry.existing(str(folder / "gateway.sqlite"))).app_of(done.stdout.strip()).name == "fit"
    listed = register("list").stdout
    assert "stream watch, of anna" in listed
    assert "  app fit, bundle walk, pushed to http://localhost:9/…" in listed
    assert done.stdout.strip() not in listed


def test_a_list_for_scripts(register):
    register("device", "watch")
    register("app", "fit", "--stream", "watch", "--bundle", "walk")
    body = json.loads(register("list", "--json").stdout)
    assert [each["stream"] for each in body["devices"]] == ["watch"]
    assert [(each["name"], each["bundle"]) for each in body["apps"]] == [("fit", "walk")]


def test_what_is_revoked_is_no_longer_listed(register):
    register("device", "watch")
    register("app", "fit", "--stream", "watch", "--bundle", "walk")
    assert register("revoke", "watch", "--app", "fit").returncode == 0
    assert "app fit" not in register("list").stdout
    assert register("revoke", "watch").returncode == 0
    assert register("list").stdout == "nothing is registered\n"


def test_the_admins_token_replaces_the_one_before(register, folder):
    first, second = (register("token", "admin").stdout.strip() for _ in range(2))
    registry = Registry.existing(str(folder / "gateway.sqlite"))
    assert registry.is_admin(second)
    assert not registry.is_admin(first)


def test_a_person_and_metrics_get_links_of_their_own(register, folder):
    register("device", "watch", "--person", "anna")
    page = register("token", "person", "anna", "--at", "https://gate.example/").stdout.strip()
    metrics = register("token", "metrics").stdout.strip()
    registry = Registry.existing(str(folder / "gateway.sqlite"))
    assert registry.linked("person", page.removeprefix("https://gate.example/me/")) == "anna"
    assert registry.linked("metrics", metrics) is not None
    assert "nobody" in register("token", "person", "nobody").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("app", "fit", "--stream", "nowhere", "--bundle", "walk"), "register its device first"),
        (("revoke", "nowhere"), "no stream 'nowhere' is registered"),
        (("revoke", "watch", "--app", "fit"), "has no app 'fit'"),
        (("device", "watch"), "has a device"),
        (("device", "two\nlines"), "one printable line"),
        (("device", "phone", "--platform", "windows"), "ios"),
        (("device", "phone", "--channel", "light"), "light=light.lux"),
        (("device", "phone", "--channel", "light=<x>"), "sensors: "),
        (("app", "fit", "--stream", "watch", "--bundle", "walk", "--push", "ftp://x"), "https://host/"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(register, words, said):
    register("device", "watch")
    done = register(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--field", "acc_zz=payload.ax"), "--field acc_zz: there is no such channel; did you mean acc_"),
        (("--channel", "uv=light.uv"), "--channel uv: there is no such channel; there are: acc_x, acc_y, light"),
        (("--topic", "a/#"), 'topic = "a/#" must be one topic, without the wildcards + and #'),
        (("--topic", "deeprotect/raw/x"), "is the gateway's own, as all topics that begin with deeprotect/"),
        (("--field", "acc_x=a..b"), "must be up to eight keys joined by dots, like payload.ax"),
        (("--channel", "light=lux"), "must be a sensor and its value, like light.lux"),
    ],
)
def test_a_typing_error_is_told_in_words_when_a_device_is_registered(register, option, says):
    done = register("device", "watch", *option)
    assert done.returncode == 2
    assert says in done.stderr
    assert "\\x00" not in done.stderr
    assert register("list").stdout == "nothing is registered\n"


def test_time_and_session_may_be_placed_beside_channels(register):
    placed = ("--field", "time=t", "--field", "session=s", "--field", "acc_x=x")
    assert register("device", "watch", *placed).returncode == 0


def test_resuming_somebody_who_has_not_stopped_says_so(register, folder):
    register("device", "watch", "--person", "anna")
    done = register("resume", "nobody")
    assert (done.returncode, "'nobody' has not paused or stopped" in done.stderr) == (2, True)
    Registry.existing(str(folder / "gateway.sqlite")).halt("anna", stop=True)
    done = register("resume", "anna")
    assert (done.returncode, done.stderr) == (0, "resumed: anna\n")
