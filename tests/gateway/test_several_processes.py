"""Several processes behind one port, on PostgreSQL and with a broker: which of them takes a message in is no matter."""

import asyncio
import json
import re

import aiomqtt
import httpx
import pytest
from tests.gateway.canary import leaks
from tests.gateway.live import Consumer, Gateway, body, check_paid, until
from tests.gateway.mosquitto import PASSWORD, USER, Mosquitto, require_mosquitto

from deeprotect.gateway.mediation.peers import ProcessPlace

STREAMS = [f"device-{place}" for place in range(6)]


@pytest.fixture
def several(tmp_path, cluster):
    """Six streams of six people, which belong to two processes."""
    assert {ProcessPlace(0, 2).owner(stream) for stream in STREAMS} == {0, 1}
    gateway = Gateway(tmp_path / "work", cluster.address).make(*STREAMS)
    yield gateway
    gateway.end()


def test_apps_get_all_windows_each_once_and_the_console_sees_all_streams(several):
    several.start("--processes", "2")
    apps = [Consumer(several, stream) for stream in STREAMS]
    for first in range(0, 20, 4):
        assert {several.send(stream, first, 4).status_code for stream in STREAMS} == {200}
    for app in apps:
        app.wait_for(5)
    for _ in range(4):
        assert several.metric("released_windows_total") == 5 * len(STREAMS)
        assert several.metric("messages_total", answer="200") == 5 * len(STREAMS)
        assert several.metric("ready") == 1
    client = signed_in(several)
    for _ in range(4):  # a connection each: any of the processes may answer
        page = client.get(f"{several.url}/", headers={"connection": "close"})
        several.answers.append(page.content)
        assert page.status_code == 200
        assert all(stream in page.text for stream in STREAMS)
    assert several.stop() == 0
    assert [len(set(app.numbers())) for app in apps] == [len(app.windows) for app in apps] == [5] * len(apps)
    assert len(several.charged()) == 5 * len(STREAMS)
    check_paid(several, *apps)
    several.check_nothing_raw(*apps)
    several.check_no_token()


def test_processes_whose_parent_is_killed_end_too(several):
    several.start("--processes", "2")
    several.kill()
    until(lambda: not several.alive(), "the port to be free")


def test_a_broker_gets_each_window_from_one_process(several, tmp_path):
    require_mosquitto()
    broker = Mosquitto(tmp_path)
    broker.start()
    try:
        several.start("--processes", "2", "--mqtt", broker.address, "--mqtt-password", str(broker.password))
        until(lambda: several.log().count('"event": "broker connected"') == 2, "both processes at the broker")
        heard = asyncio.run(asyncio.wait_for(_bridged(broker), 60))
        assert several.stop() == 0
    finally:
        broker.stop()
    assert not any(leaks(payload) for _, payload in heard)
    windows = [(topic, json.loads(payload)["messageId"]) for topic, payload in heard]
    topics = [f"deeprotect/released/{stream}/fitness" for stream in STREAMS]
    assert sorted(windows) == [(topic, number) for topic in topics for number in range(2)]
    assert len(several.charged()) == 2 * len(STREAMS)
    several.check_nothing_raw()


async def _bridged(broker):
    """What comes out for two windows of each stream, and whatever else comes in the second after."""
    heard = []
    async with aiomqtt.Client("127.0.0.1", broker.port, username=USER, password=PASSWORD) as client:
        await client.subscribe("deeprotect/released/#", qos=1)
        for stream in STREAMS:
            await client.publish(f"deeprotect/raw/{stream}", body(stream, 0, 8), qos=1)
        while len(heard) < 2 * len(STREAMS):
            message = await anext(client.messages)
            heard.append((message.topic.value, message.payload))
        try:
            async with asyncio.timeout(1.0):
                message = await anext(client.messages)
                heard.append((message.topic.value, message.payload))
        except TimeoutError:
            pass
    return heard


def signed_in(gateway):
    """With the admin's token, which was said when the gateway started."""
    said = (gateway.folder / "out1.log").read_text()
    client, page = httpx.Client(timeout=30), f"{gateway.url}/console/sign-in"
    fields = {
        "admin": re.search(r"shown this once: (\S+)", said)[1],
        "token": re.search(r'value="([0-9a-f]+)"', client.get(page).text)[1],
    }
    assert client.post(page, data=fields, headers={"Origin": gateway.url}).status_code == 303
    return client
