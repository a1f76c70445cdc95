"""Producers that are no phone and apps that are no receivers of one, through a whole gateway."""

import asyncio
import json
import time
from contextlib import ExitStack

import httpx
import pytest
from tests.gateway.canary import leaks
from tests.gateway.channels import POLICY
from tests.gateway.conftest import channel_bundle
from tests.gateway.live import body as canary_body
from tests.gateway.live import start_of
from tests.gateway.test_mqtt import broker, client, is_read, next_message, running  # noqa: F401
from websockets.sync.client import connect

from deeprotect.errors import InputError
from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.serving import create_service
from deeprotect.release.by_time import phase_of
from deeprotect.release.ledger.database import Database

HUNDRED_HZ = POLICY.replace("rate_hz = 10", "rate_hz = 100").replace("window = 4", "window = 25")
AIR = HUNDRED_HZ.replace('acc_x]\nunit = "g"\nrange = [-4.0, 4.0]', 'pressure]\nunit = "hPa"\nrange = [300.0, 1100.0]')
AIR = AIR.replace('acc_y]\nunit = "g"\nrange = [-4.0, 4.0]', 'relative_altitude]\nunit = "m"\nrange = [-500.0, 500.0]')
CANARY = 1013.123456
SECOND = 10**9
STEP = SECOND // 100
WINDOW = 25


def made(folder, text=HUNDRED_HZ, *, form=None, sensors=None, **settings):
    """A gateway with one device and one app, its service, and the address of the device."""
    channel_bundle(text).save(folder / "protector")
    gateway = Gateway(Settings({"protector": folder / "protector"}, str(folder / "ledger.sqlite"), **settings))
    device = gateway.registry.add_device("watch", sensors=sensors)
    app = gateway.registry.add_app("fitness", stream="watch", bundle="protector", form=form)
    gateway.directory.refresh()
    return gateway, f"/in/{device}", app


def begin(now=None):
    """A time at which a window of the stream begins, about now."""
    tick = (now or time.time_ns()) // STEP - phase_of("watch")
    return (tick // WINDOW * WINDOW + phase_of("watch")) * STEP


async def released(gateway, count, feed):
    """The windows that an app gets while somebody sends."""
    app = gateway.directory.apps()[0]
    with gateway.mediator.subscribe(app) as windows:
        answers = await feed(gateway)
        async with asyncio.timeout(30):
            return [await anext(windows) for _ in range(count)], answers


def played(gateway, count, bodies):
    """The windows that come of some messages, one after the other, and the answers."""

    async def run():
        async with gateway.running():
            device = gateway.directory.device("watch")

            async def feed(intake):
                return [await intake.take(device, body) for body in bodies]

            return await released(gateway, count, feed)

    return asyncio.run(run())


async def next_reading(listener):
    """Messages without content only ask whether somebody is there."""
    while not (message := await next_message(listener)).payload:
        pass
    return json.loads(message.payload)


def readings(start, count, **unit):
    return [{"time": start + k * STEP, "acc_x": 0.1, "acc_y": 0.2} for k in range(count)]


def test_a_barometer_with_pressure_and_altitude_is_released_whole(tmp_path):
    gateway, _, _ = made(tmp_path, AIR)
    payload = [
        {"name": "barometer", "time": begin() + k * STEP, "values": {"pressure": CANARY, "relativeAltitude": 1.5}}
        for k in range(2 * WINDOW + 1)
    ]
    body = json.dumps({"messageId": 1, "sessionId": "s", "payload": payload}).encode()
    windows, (answer,) = played(gateway, 2, [body])
    assert (answer.status, answer.accepted, answer.waits) == (200, 2 * WINDOW + 1, None)
    for window in windows:
        assert window.channels == ("pressure", "relative_altitude")
        assert {name for each in window.readings for name in each.channels} == set(window.channels)
        assert not leaks(str(window).encode())


def test_what_no_app_can_get_is_not_accepted_and_the_answer_says_what_is_awaited(tmp_path):
    gateway, address, _ = made(tmp_path)
    location = {"payload": [{"name": "location", "time": begin(), "values": {"latitude": CANARY}}]}
    sent = (
        {"time": [begin()], "acc_x": [0.1]},
        location,
        {"time": [begin()], "accx": [CANARY]},
        {"time": [1_600_000_000_000], "acc_x": [CANARY], "acc_y": [0.1]},
    )

    async def run():
        web = httpx.AsyncClient(transport=httpx.ASGITransport(create_service(gateway)), base_url="http://here")
        async with gateway.running(), web:
            return [await web.post(address, json=each) for each in sent]

    half, elsewhere, wrong, old = asyncio.run(run())
    assert half.json()["accepted"] == 1
    assert half.json()["waits"].startswith("readings of acc_y; a reader:")
    assert elsewhere.json()["accepted"] == 0
    assert elsewhere.json()["waits"].startswith("readings of acc_x, acc_y; ")
    assert (wrong.status_code, old.status_code) == (422, 422)
    assert "acc_x (g), acc_y (g)" in wrong.text
    assert "--time ms" in old.text
    assert str(CANARY) not in wrong.text + old.text


@pytest.mark.parametrize("unit", ["ms", "us", "s", "iso"])
def test_times_in_other_units_make_the_same_windows(tmp_path, unit):
    start = begin(1_700_000_000 * SECOND)
    gateway, _, _ = made(tmp_path, sensors={"time": unit})
    written = {
        "ms": lambda ns: ns // 10**6,
        "us": lambda ns: ns // 1000,
        "s": lambda ns: ns / SECOND,
        "iso": lambda ns: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // SECOND)) + f".{ns % SECOND:09d}Z",
    }[unit]
    rows = [row | {"time": written(row["time"])} for row in readings(start, 3 * WINDOW + 1)]
    windows, answers = played(gateway, 3, [json.dumps(rows).encode()])
    assert [answer.status for answer in answers] == [200]
    found = [int(each.readings[0].times_ns[0]) for each in windows]
    assert found == pytest.approx([start + n * WINDOW * STEP for n in range(3)], abs=10**6)


def test_one_reading_a_message_at_a_hundred_hertz_loses_no_window(tmp_path):
    start, seconds = begin(), 3
    gateway, _, _ = made(tmp_path)
    bodies = [json.dumps(row).encode() for row in readings(start, 100 * seconds + 1)]
    windows, answers = played(gateway, 4 * seconds, bodies)
    assert {answer.status for answer in answers} == {200}
    assert [int(each.times_ns[0]) for each in windows] == [start + n * WINDOW * STEP for n in range(4 * seconds)]


def test_the_limit_of_messages_is_an_option_and_its_answer_names_it(tmp_path):
    gateway, _, _ = made(tmp_path, most_messages=10)
    _, answers = played(gateway, 0, [json.dumps(row).encode() for row in readings(begin(), 60)])
    refused = [answer for answer in answers if answer.status == 429]
    assert refused
    assert "at most 10 messages" in refused[0].text


@pytest.mark.long
def test_one_reading_a_message_by_websocket_leaves_in_the_form_that_the_app_was_registered_with(gateway):
    gateway.make("watch")
    token = gateway.registry().add_app("lines", stream="watch", bundle="protector", form="line-protocol")
    flat = gateway.registry().add_app("flat", stream="watch", bundle="protector", form="flat")
    gateway.start()
    rows = [json.loads(canary_body("watch", k, 1)) for k in range(201)]
    with ExitStack() as apps:
        waits = {"timeout": None, "headers": {}}
        outs = [apps.enter_context(httpx.stream("GET", f"{gateway.url}/out/{each}", **waits)) for each in (token, flat)]
        with connect(f"{gateway.url.replace('http', 'ws', 1)}/in/{gateway.tokens['watch']}") as device:
            for row in rows:
                device.send(json.dumps({name: value[0] for name, value in row.items() if name != "session"}))
                assert json.loads(device.recv())["status"] == 200
        influx, json_ = ([line for _, line in zip(range(200), out.iter_lines(), strict=False)] for out in outs)
        kinds = [out.headers["content-type"] for out in outs]
    assert kinds[0].startswith("text/plain")
    assert kinds[1] == "application/x-ndjson"
    times = [start_of("watch") + k * 10**8 for k in range(200)]
    assert [int(line.rsplit(" ", 1)[1]) for line in influx] == times
    assert [json.loads(line)["time"] for line in json_] == times
    assert all(list(json.loads(line)) == ["time", "acc_x", "acc_y"] for line in json_)
    assert not leaks("".join(influx + json_).encode())


def test_a_burst_by_mqtt_on_a_topic_of_the_devices_own_loses_no_window(broker, tmp_path):  # noqa: F811
    fields = {"acc_x": "payload.ax", "acc_y": "payload.ay", "time": "payload.t"}
    gateway, _, _ = made(tmp_path, form="flat", sensors={"topic": "zigbee/wrist", "time": "ms", "fields": fields})
    start, count = begin(), 400

    async def play():
        async with running(gateway, broker), client(broker) as device, client(broker) as app:
            await app.subscribe("deeprotect/released/#", qos=1)
            await asyncio.sleep(1.5)  # the bridge has subscribed
            await is_read(gateway)
            for row in readings(start, count + 1):
                body = {"payload": {"ax": "0.1", "ay": row["acc_y"], "t": row["time"] // 10**6}}
                await device.publish("zigbee/wrist", json.dumps(body).encode(), qos=1)
            return [await next_reading(app) for _ in range(count)]

    got = asyncio.run(play())
    assert [each["time"] for each in got] == [(start + k * STEP) // 10**6 * 10**6 for k in range(count)]
    assert all(list(each) == ["time", "acc_x", "acc_y"] for each in got)


def test_a_topic_belongs_to_one_device(tmp_path):
    registry = Registry(Database.existing_or_new(str(tmp_path / "ledger.sqlite")))
    registry.add_device("a", sensors={"topic": "home/imu"})
    with pytest.raises(InputError, match="belongs to another device"):
        registry.add_device("b", sensors={"topic": "home/imu"})
    for topic in ("deeprotect/released/a/app", "home/#", "+/imu", "$SYS/x", ""):
        with pytest.raises(InputError):
            registry.add_device("c", sensors={"topic": topic})


def test_home_assistant_finds_each_channel_by_discovery_until_the_app_is_revoked(broker, tmp_path):  # noqa: F811
    gateway, _, _ = made(tmp_path, AIR, form="home-assistant")
    start = begin()
    rows = [{"time": start + k * STEP, "pressure": CANARY, "relative_altitude": 1.5} for k in range(WINDOW + 1)]

    async def play():
        async with running(gateway, broker) as (intake, _), client(broker) as home:
            await home.subscribe("homeassistant/#", qos=1)
            configs = [await next_message(home) for _ in range(2)]
            told = {message.topic.value: json.loads(message.payload) for message in configs}
            await home.subscribe(next(iter(told.values()))["state_topic"], qos=1)
            await is_read(gateway)
            await intake.take(gateway.directory.device("watch"), json.dumps(rows).encode())
            state = await next_reading(home)
            gateway.registry.revoke_app("fitness", stream="watch")
            gone = {}
            while len(gone) < 2:
                message = await next_message(home)
                gone |= {message.topic.value: message.payload} if message.topic.value in told else {}
            return told, state, gone

    told, state, gone = asyncio.run(play())
    assert all(topic.startswith("homeassistant/sensor/") and topic.endswith("/config") for topic in told)
    by_name = {config["name"]: config for config in told.values()}
    assert by_name["pressure"]["device_class"] == "atmospheric_pressure"
    assert by_name["pressure"]["unit_of_measurement"] == "hPa"
    assert by_name["pressure"]["value_template"] == '{{ value_json["pressure"] }}'
    assert by_name["relative_altitude"]["unit_of_measurement"] == "m"
    assert len({config["unique_id"] for config in told.values()}) == 2
    assert all({"identifiers", "name"} <= config["device"].keys() for config in told.values())
    assert all("name" in config["origin"] for config in told.values())
    assert {"pressure", "relative_altitude"} <= state.keys()
    assert state["pressure"] != CANARY
    assert gone == dict.fromkeys(told, b"")


def test_a_push_says_what_kind_of_content_it_is(tmp_path):
    from deeprotect.gateway.feeds.push import Push

    gateway, _, _ = made(tmp_path)
    gateway.registry.add_app("dash", stream="watch", bundle="protector", push="http://h/in", form="line-protocol")
    gateway.directory.refresh()
    seen = []

    async def nothing():
        yield b""

    def answer(request):
        seen.append((request.headers["content-type"], request.content))
        return httpx.Response(200, content=nothing())

    async def run():
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as web:
            app = next(app for app in gateway.directory.apps() if app.name == "dash")
            return await Push(gateway, web)._delivered(app, b"deeprotect acc_x=1.0 5")

    assert asyncio.run(run())
    assert seen == [("text/plain; charset=utf-8", b"deeprotect acc_x=1.0 5")]


def test_a_registry_of_an_earlier_version_gets_the_forms_of_apps(tmp_path):
    from sqlalchemy import text

    from deeprotect.gateway.registration import registry_tables

    database = Database.existing_or_new(str(tmp_path / "ledger.sqlite"))
    Registry(database)
    with database.writing("test") as connection:
        for change in (
            f"DROP TABLE {registry_tables.links.name}",
            "ALTER TABLE deeprotect_devices DROP COLUMN until",
            "ALTER TABLE deeprotect_apps DROP COLUMN until",
            "ALTER TABLE deeprotect_apps DROP COLUMN form",
        ):
            connection.execute(text(change))
    registry = Registry(database)
    registry.add_device("watch")
    registry.add_app("fitness", stream="watch", bundle="protector", form="flat")
    assert Directory(registry).apps()[0].form == "flat"
