"""Registration by other programs: for the admin's token alone, all or nothing, the same again, ten thousand at once."""

import time
import warnings
from unittest import mock

import httpx
import pytest
from sqlalchemy import func, select
from tests.gateway.conftest import channel_bundle

from deeprotect.gateway.console.guard import Desk
from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.registration import events
from deeprotect.gateway.registration.registry_tables import devices
from deeprotect.gateway.serving import create_service

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another client than the one that we install
    from fastapi.testclient import TestClient

MANY = 10_000
FLEET = {
    "devices": [
        {"stream": "w1", "person": "ann", "sensors": {"platform": "ios"}},
        {"stream": "w2", "person": "ann"},
        {"stream": "w3"},
    ],
    "apps": [
        {"name": "fit", "stream": "w1", "bundle": "walk"},
        {"name": "fit", "stream": "w2", "bundle": "walk", "push": "http://127.0.0.1:9/x", "form": "rows"},
    ],
    "people": ["ann", "w3"],
}


@pytest.fixture
def gateway(tmp_path):
    channel_bundle().save(tmp_path / "walk")
    found = Gateway(Settings({"walk": tmp_path / "walk"}, str(tmp_path / "ledger.sqlite")))
    found.registry.serve("here", ["walk"], found.bundles.channels().names)
    return found


class Api:
    def __init__(self, client, token):
        self._client, self.headers = client, {"authorization": f"Bearer {token}"}

    def add(self, **asked):
        return self._client.post("/registry", json=asked, headers=self.headers)

    def revoke(self, **asked):
        return self._client.post("/registry/revoke", json=asked, headers=self.headers)

    def listed(self):
        return self._client.get("/registry", headers=self.headers).json()["devices"]


@pytest.fixture
def client(gateway):
    with TestClient(create_service(gateway), client=("203.0.113.9", 50000)) as found:
        yield found


@pytest.fixture
def api(client, gateway):
    return Api(client, gateway.registry.new_admin())


def tokens(answer):
    return [each["token"] for kind in ("devices", "apps", "people") for each in answer.json()[kind]]


def states(answer):
    return {each["state"] for kind in ("devices", "apps", "people") for each in answer.json()[kind]}


def test_what_is_registered_is_known_at_once_and_its_tokens_work(api, gateway):
    answer = api.add(**FLEET)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert states(answer) == {"registered"}
    found, directory = answer.json(), gateway.directory
    device = directory.device_of(found["devices"][0]["token"])
    assert (device.stream, device.person, device.sensors) == ("w1", "ann", {"platform": "ios"})
    assert directory.device_of(found["devices"][2]["token"]).person == "w3"
    app = directory.app_of(found["apps"][1]["token"])
    assert (app.name, app.stream, app.bundle, app.push, app.form) == (
        "fit",
        "w2",
        "walk",
        "http://127.0.0.1:9/x",
        "rows",
    )
    assert gateway.registry.linked("person", found["people"][0]["token"]) == "ann"
    assert [(each["stream"], [app["name"] for app in each["apps"]]) for each in api.listed()] == [
        ("w1", ["fit"]), ("w2", ["fit"]), ("w3", []),
    ]  # fmt: skip


def test_the_same_request_again_changes_nothing_and_gives_no_token(api, gateway):
    first = tokens(api.add(**FLEET))
    before = gateway.registry.known()
    again = api.add(**FLEET)
    assert (states(again), set(tokens(again))) == ({"unchanged"}, {None})
    assert gateway.registry.known() is before
    assert gateway.directory.device_of(first[0]) is not None
    explicit = FLEET["devices"][1] | {"sensors": {"platform": "android"}}  # what it is without a word
    assert states(api.add(devices=[explicit])) == {"unchanged"}


def test_whoever_lost_the_answer_gets_new_tokens_and_the_old_ones_end(api, gateway):
    first, key = tokens(api.add(**FLEET)), gateway.directory.apps()[0].key
    answer = api.add(**FLEET, new_tokens=True)
    assert states(answer) == {"new token"}
    assert not set(first) & set(tokens(answer))
    directory = gateway.directory
    assert [directory.device_of(each) or directory.app_of(each) for each in first] == [None] * len(first)
    assert directory.device_of(tokens(answer)[0]).stream == "w1"
    assert directory.apps()[0].key == key  # its draws go on
    assert (len(directory.devices()), len(directory.apps())) == (3, 2)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"devices": [{"stream": "w1", "person": "bob"}]}, "registered for another person"),
        ({"devices": [{"stream": "w1", "person": "ann"}]}, "with other sensors"),
        ({"devices": [{"stream": "new"}, {"stream": "new"}]}, "'new' is named twice"),
        ({"devices": [{"stream": "new", "sensors": {"fields": {"acc_q": "x"}}}]}, "no such channel"),
        ({"devices": [{"stream": name, "sensors": {"topic": "t"}} for name in ("a", "b")]}, "topic 't' belongs"),
        ({"apps": [{"name": "fit", "stream": "new", "bundle": "walk"}]}, "no stream 'new' is registered"),
        ({"apps": [{"name": "x", "stream": "w1", "bundle": "run"}]}, "no bundle 'run' is served; these are: walk"),
        ({"apps": [{"name": "fit", "stream": "w1", "bundle": "walk", "form": "flat"}]}, "another bundle, push or form"),
        ({"apps": [{"name": "x", "stream": "w1", "bundle": "walk", "push": "ftp://x"}]}, "an app's address must be"),
        ({"people": ["bob"]}, "nobody called 'bob'"),
    ],
)
def test_what_is_in_the_way_is_said_in_a_line_and_nothing_is_changed(api, gateway, asked, told):
    api.add(**FLEET)
    before = gateway.registry.known()
    asked = {**asked, "devices": [{"stream": "fresh"}, *asked.get("devices", [])]}
    answer = api.add(**asked)
    assert answer.status_code == 409, answer.text
    assert told in answer.json()["error"]
    assert gateway.registry.known() is before


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"devices": {}}', b'{"gadgets": []}', b'{"devices": [{"stream": 5}]}', b"\xff", b"[" * 10_000,
     b'{"devices": [{"stream": "a", "sensors": {"topic": "deeprotect/x"}}]}', b'{"devices": [{"person": "a"}]}',
     b'{"devices": [{"stream": "a\\nb"}]}', b'{"new_tokens": "yes"}'],
)  # fmt: skip
def test_a_malformed_request_is_refused_in_a_line(client, api, body):
    answer = client.post("/registry", content=body, headers=api.headers)
    assert answer.status_code == 422, answer.text
    assert "\n" not in answer.json()["error"]
    assert 10 < len(answer.json()["error"]) < 700


def test_names_are_as_long_as_the_command_line_takes_them(api):
    assert api.add(devices=[{"stream": "x" * 100}]).status_code == 200
    assert api.add(devices=[{"stream": "x" * 101}]).status_code == 422


def test_a_request_that_is_too_large_is_not_read_to_its_end(client, api):
    assert client.post("/registry", content=bytes(17 << 20), headers=api.headers).status_code == 413
    names = [{"stream": f"s{number}"} for number in range(MANY + 1)]
    assert api.add(devices=names).status_code == 422


def test_nobody_else_registers_revokes_or_lists_and_their_request_is_not_read(client, gateway, api):
    made = tokens(api.add(**FLEET))
    others = [*made, gateway.registry.new_link("metrics"), "wrong", ""]
    before = gateway.registry.known()
    with mock.patch("deeprotect.gateway.registry_api.read_body") as read:
        for headers in ({}, {"authorization": "Basic eA=="}, *({"authorization": f"Bearer {each}"} for each in others)):
            for method, path in (("POST", "/registry"), ("POST", "/registry/revoke"), ("GET", "/registry")):
                assert client.request(method, path, headers=headers).status_code == 401
    assert not read.called
    assert gateway.registry.known() is before


def test_a_session_of_the_console_opens_nothing_here(client, gateway, api):
    cookie = Desk(gateway).sessions.begin(api.headers["authorization"].removeprefix("Bearer "))
    assert cookie is not None
    client.cookies.set("deeprotect-session", cookie)
    assert client.get("/registry").status_code == 401


def test_what_is_revoked_is_gone_and_may_be_revoked_again(api, gateway):
    first = tokens(api.add(**FLEET))
    asked = {"devices": ["w1", "nowhere"], "apps": [{"stream": "w2", "name": "fit"}], "people": ["w3"]}
    assert api.revoke(**asked).json() == {"devices": 1, "apps": 2, "people": 1}
    assert api.revoke(**asked).json() == {"devices": 0, "apps": 0, "people": 0}
    assert [each["stream"] for each in api.listed()] == ["w2", "w3"]
    assert gateway.directory.device_of(first[0]) is None
    assert gateway.registry.linked("person", first[-1]) is None
    assert gateway.registry.linked("person", first[-2]) == "ann"
    assert api.revoke(devices=["w2"], nonsense=1).status_code == 422


def test_a_request_is_one_event_and_no_token_is_stored(api, gateway, tmp_path):
    made = tokens(api.add(**FLEET))
    api.revoke(devices=["w1"])
    told = [(each.what, dict(each.facts)) for each in events.read(gateway.database, most=2)]
    assert told == [
        ("revoked in bulk", {"devices": 1, "apps": 1, "people": 0}),
        ("registered in bulk", {"devices": 3, "apps": 2, "people": 2}),
    ]
    content = (tmp_path / "ledger.sqlite").read_bytes()
    assert not any(each.encode() in content for each in made)


def many():
    return {
        "devices": [{"stream": f"s{n}", "person": f"p{n // 2}"} for n in range(MANY)],
        "apps": [{"name": "fit", "stream": f"s{n}", "bundle": "protector"} for n in range(MANY)],
        "people": [f"p{n}" for n in range(MANY // 2)],
    }


def _in_a_minute(gateway):
    """Ten thousand devices, apps and people, over HTTP, into a gateway that runs; and the same again."""
    seconds, token = [], gateway.registry().new_admin()
    for _ in range(2):
        began = time.perf_counter()
        answer = httpx.post(
            f"{gateway.url}/registry", json=many(), headers={"authorization": f"Bearer {token}"}, timeout=300
        )
        seconds.append(time.perf_counter() - began)
        assert answer.status_code == 200, answer.text[:500]
    assert {each["state"] for each in answer.json()["devices"]} == {"unchanged"}
    with gateway.registry().database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(devices)).scalar() == MANY
    print(f"registered {MANY:,} devices in {seconds[0]:.1f} s, again in {seconds[1]:.1f} s")
    assert seconds[0] < 60


@pytest.mark.long
def test_ten_thousand_devices_take_less_than_a_minute_on_sqlite(gateway_process):
    _in_a_minute(gateway_process.make().start())


@pytest.mark.long
def test_ten_thousand_devices_take_less_than_a_minute_on_postgresql(gateway_process, cluster):
    gateway_process.address = cluster.address
    _in_a_minute(gateway_process.make().start())


@pytest.fixture
def gateway_process(tmp_path):
    from tests.gateway.live import Gateway as Process

    found = Process(tmp_path / "work")
    yield found
    found.end()
