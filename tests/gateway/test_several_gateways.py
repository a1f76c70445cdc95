"""Two gateways on one PostgreSQL behind a real nginx, one of them killed; and a broker that both listen to."""

import asyncio
import itertools
import json
import os
import re
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import aiomqtt
import httpx
import pytest
from tests.gateway.canary import leaks
from tests.gateway.conftest import STEP
from tests.gateway.live import WINDOW, Consumer, Gateway, body, check_paid, start_of, until
from tests.gateway.mosquitto import PASSWORD, USER, Mosquitto, require_mosquitto

from deeprotect.gateway.feeds.mqtt import NO_READINGS
from deeprotect.gateway.registration.addresses import GatewayPlace, shard_of
from deeprotect.release.by_time import phase_of
from studies.benchmark.gateways import SERVE, Gateways, gateway_settings, nginx_program, proxy_settings

STREAMS = [f"device-{place}" for place in range(8)]
EVERY = 0.25  # seconds from one message of a device to the next


class Several(Gateway):
    """As one gateway is asked, through the proxy."""

    def start(self, *options):
        if nginx_program() is None:
            reason = "needs nginx; apt-get install nginx-light"
            (pytest.fail if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1" else pytest.skip)(reason)
        command = [*SERVE, "--bundle", str(self.folder / "protector"), "--ledger", self.address, *options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        self.all = Gateways(command, self.folder, 2, environment)
        self.all.start()
        self.url = f"http://127.0.0.1:{self.all.port}"
        return self

    def stop(self):
        self.all.stop()
        return max(process.returncode for process in self.all.processes)

    def log(self):
        """Without the lines that hand out the admin's token, which are for a person."""
        lines = [line for index in range(2) for line in self.all.log(index).splitlines()]
        return "\n".join(line for line in lines if line.startswith("{")) + self.proxy_log()

    def proxy_log(self):
        return (self.folder / "nginx" / "log").read_text()

    def end(self):
        if hasattr(self, "all"):
            for process in (*self.all.processes, self.all.proxy):
                if process is not None and process.poll() is None:
                    process.terminate()
                    process.wait(60)

    def metric_of(self, index, name, **labels):
        own = Gateway(self.folder, self.address, url=f"http://127.0.0.1:{self.all.ports[index]}")
        return own.metric(name, **labels)

    def streams_of(self, index):
        return [stream for stream in STREAMS if self.all.owner(stream) == index]


@pytest.fixture
def several(tmp_path, cluster):
    """Eight streams of eight people."""
    gateway = Several(tmp_path / "work", cluster.address).make(*STREAMS)
    yield gateway
    gateway.end()


@pytest.mark.long
def test_apps_get_all_windows_each_once_and_the_console_sees_all_streams(several):
    several.start()
    assert several.streams_of(0)
    assert several.streams_of(1)
    apps = [Consumer(several, stream) for stream in STREAMS]
    for first in range(0, 20, 4):
        assert {several.send(stream, first, 4).status_code for stream in STREAMS} == {200}
    for app in apps:
        app.wait_for(5)
    for index in range(2):
        assert several.metric_of(index, "released_windows_total") == 5 * len(several.streams_of(index))
    heard = re.compile(r'data-live="s\d+\.windows">5<')
    with closing(signed_in(several)) as client:
        until(lambda: len(heard.findall(_page(several, client, "/"))) == len(STREAMS), "all streams on one page")
        for stream in STREAMS:  # its page is made by the gateway that has it
            assert 'data-shape="' in _page(several, client, f"/console/stream?stream={stream}&app=fitness")
    assert several.stop() == 0
    assert [len(set(app.numbers())) for app in apps] == [len(app.windows) for app in apps] == [5] * len(apps)
    assert len(several.charged()) == 5 * len(STREAMS)
    check_paid(several, *apps)
    several.check_nothing_raw(*apps)
    several.check_no_token()


@pytest.mark.long
def test_a_fleet_is_registered_through_the_proxy_and_writes_as_to_influxdb_to_the_gateways_that_have_it(several):
    several.start()
    admin = {"authorization": f"Bearer {several.registry().new_admin()}"}
    long = "x" * 60
    rows = [
        {"stream": f"s{n}-{long}", "person": f"p{n}-{long}", "sensors": {"topic": f"{long}/{n}"}} for n in range(10_000)
    ]
    asked = {"devices": rows}
    assert len(json.dumps(asked, separators=(",", ":"))) > 2 << 20  # more than a message may be
    answer = httpx.post(f"{several.url}/registry", json=asked, headers=admin, timeout=120)
    assert answer.status_code == 200, answer.text
    several.answers.clear()
    tokens = {each["stream"]: each["token"] for each in answer.json()["devices"][:40]}
    for stream, token in tokens.items():
        headers, line = {"authorization": f"Token {token}"}, f"imu acc_x=0.5,acc_y=0.5 {start_of(stream)}"
        taken = httpx.post(f"{several.url}/api/v2/write", content=line, headers=headers, timeout=30)
        assert taken.status_code == 204, taken.text
    for index in range(2):
        own = [stream for stream in tokens if several.all.owner(stream) == index]
        assert own
        assert several.metric_of(index, "messages_total", answer="200") == len(own)


def _page(several, client, address):
    page = client.get(f"{several.url}{address}", follow_redirects=True)
    several.answers.append(page.content)
    assert page.status_code == 200
    return page.text


@pytest.mark.long
def test_a_gateway_that_is_killed_under_load_is_stood_in_for_and_its_streams_come_home(several):
    several.start()
    killed, others = several.streams_of(0), several.streams_of(1)
    apps = {stream: Reader(several, stream) for stream in STREAMS}
    devices = {stream: Sender(several, stream) for stream in STREAMS}
    time.sleep(2.0)
    death = time.monotonic()
    several.all.kill(0)
    time.sleep(5.0)
    back = time.monotonic()
    several.all.start_again(0)
    several.all.wait_for(0)
    until(lambda: several.metric_of(0, "released_windows_total") >= 4 * len(killed), "the streams to come home")
    time.sleep(2.0)
    for device in devices.values():
        device.stop()
    time.sleep(1.0)
    for app in apps.values():
        app.close()
    assert several.stop() == 0

    for stream in killed:
        assert apps[stream].longest_gap(death, back) < 3.0
        assert apps[stream].connections > 1
    for stream in others:  # not disturbed: one connection, every window once and in order
        assert apps[stream].connections == 1
        assert devices[stream].failures == 0
        assert apps[stream].numbers() == [first_of(stream) + place for place in range(devices[stream].sent)]
    booked = several.charged()
    assert len({each[:3] for each in booked}) == len(booked)  # nothing is drawn twice
    for stream, app in apps.items():
        paid = {number for name, _, number, _ in booked if name == stream}
        # What was answered when the process died, and not yet on its way, died with it.
        died = {first_of(stream) + place for place, at in devices[stream].answered.items() if -0.2 < at - death < 0.0}
        assert paid - set(app.numbers()) <= (died if stream in killed else set())
    check_paid(several, *apps.values())
    several.check_nothing_raw(*apps.values())
    several.check_no_token()


def first_of(stream):
    """The window of the clock that a device's first message fills."""
    return (start_of(stream) // STEP - phase_of(stream)) // WINDOW


@dataclass
class Sender:
    """A device that sends a window at a time, and again until it is taken."""

    gateway: Several
    stream: str
    sent: int = 0
    failures: int = 0
    answered: dict[int, float] = field(default_factory=dict)

    def __post_init__(self):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        address = f"{self.gateway.url}/in/{self.gateway.tokens[self.stream]}"
        with httpx.Client(timeout=30) as client:
            while not self._over.wait(EVERY):
                content = body(self.stream, WINDOW * self.sent, WINDOW)
                while (answer := client.post(address, content=content)).status_code != 200:
                    self.failures += 1
                    self.gateway.answers.append(answer.content)
                    time.sleep(0.1)
                self.answered[self.sent] = time.monotonic()
                self.sent += 1

    def stop(self):
        self._over.set()
        self._thread.join(60)


class Reader:
    """An app that connects again whenever its connection ends."""

    def __init__(self, gateway, stream, app="fitness"):
        self.stream, self.app, self.connections = stream, app, 0
        self.raw, self.windows, self.came, self._closed = bytearray(), [], [], False
        self._headers = {"authorization": f"Bearer {gateway.tokens[f'{stream}/{app}']}"}
        self._url, self._there = gateway.url, threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        assert self._there.wait(60)

    def _run(self):
        while not self._closed:
            try:
                with httpx.stream("GET", f"{self._url}/out", headers=self._headers, timeout=None) as answer:
                    self.connections += answer.status_code == 200
                    self._there.set()
                    self._read(answer)
            except httpx.HTTPError:
                pass
            time.sleep(0.05)

    def _read(self, answer):
        rest = b""
        for part in answer.iter_raw():
            self.raw += part
            *lines, rest = (rest + part).split(b"\n")
            self.windows += [json.loads(line) for line in lines]
            self.came += [time.monotonic()] * len(lines)

    def close(self):
        self._closed = True

    def numbers(self):
        """Windows of the clock, in the order in which they came."""
        return Consumer.numbers(self)

    def longest_gap(self, since, until):
        times = [since, *(at for at in self.came if since < at < until), until]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


@pytest.mark.long
def test_a_burst_of_a_thousand_messages_is_taken_in_whole(several, tmp_path):
    """Each on a connection of its own, all at once; some larger than a proxy likes to keep in memory."""
    several.start()
    asyncio.run(asyncio.wait_for(_burst(several), 120))
    taken = sum(several.metric_of(index, "messages_total", answer="200") for index in range(2))
    assert taken == 1000
    assert several.stop() == 0
    assert several.proxy_log() == ""
    several.check_nothing_raw()


async def _burst(several):
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(limits=limits, timeout=100) as client:

        async def send(place):
            stream = STREAMS[place % len(STREAMS)]
            content = body(stream, WINDOW * place, WINDOW).ljust(100_000 if place % 50 == 0 else 0)
            while (await client.post(f"{several.url}/in/{several.tokens[stream]}", content=content)).status_code == 429:
                await asyncio.sleep(1.0)  # so many of one device are over its own limit, which is another matter

        await asyncio.gather(*map(send, range(1000)))


@pytest.mark.long
def test_a_broker_gets_each_window_from_one_gateway_and_another_stands_in(several, tmp_path):
    require_mosquitto()
    broker = Mosquitto(tmp_path)
    broker.start()
    try:
        several.start("--mqtt", broker.address, "--mqtt-password", str(broker.password))
        until(lambda: several.log().count('"event": "broker connected"') == 2, "both gateways at the broker")
        heard = asyncio.run(asyncio.wait_for(_bridged(broker, several), 90))
        several.all.stop()
    finally:
        broker.stop()
    assert not any(leaks(payload) for _, payload in heard)
    topics = [f"deeprotect/released/{stream}/fitness" for stream in STREAMS]
    assert sorted(topic for topic, _ in heard) == sorted(4 * topics)
    assert len(several.charged()) == 4 * len(STREAMS)
    several.check_nothing_raw()


async def _bridged(broker, several):
    """What comes out for two windows of each stream, for two more when a gateway was killed, and a second later."""
    heard = []

    async def hear(client):
        message = await anext(client.messages)
        if message.payload != NO_READINGS:
            heard.append((message.topic.value, message.payload))

    async def send(client, first):
        for stream in STREAMS:
            await client.publish(f"deeprotect/raw/{stream}", body(stream, first, 8), qos=1)
        while len(heard) < (first // 8 + 1) * 2 * len(STREAMS):
            await hear(client)

    async with aiomqtt.Client("127.0.0.1", broker.port, username=USER, password=PASSWORD) as client:
        await client.subscribe("deeprotect/released/#", qos=1)
        for stream in STREAMS:
            await client.publish(f"deeprotect/raw/{stream}", body(stream, 0, 1, session="other"), qos=1)
        for _ in STREAMS:  # it is known that somebody is there
            assert (await anext(client.messages)).payload == NO_READINGS
        await send(client, 0)
        several.all.kill(0)
        await asyncio.sleep(3.0)
        await send(client, 8)
        try:
            async with asyncio.timeout(1.0):
                await hear(client)
        except TimeoutError:
            pass
    return heard


def signed_in(gateway):
    """With the admin's token, which was said when the gateway started."""
    said = "".join(map(gateway.all.log, range(2)))
    client, page = httpx.Client(timeout=30), f"{gateway.url}/console/sign-in"
    fields = {
        "admin": re.findall(r"shown only once: (\S+)", said)[-1],
        "token": re.search(r'value="([0-9a-f]+)"', client.get(page).text)[1],
    }
    assert client.post(page, data=fields, headers={"Origin": gateway.url}).status_code == 303
    return client


def test_the_settings_that_are_shipped_are_the_ones_that_are_tried():
    deploy = Path(__file__).parents[2] / "docs" / "deploy"
    assert (deploy / "gateways.conf").read_text() == gateway_settings(["127.0.0.1:8771", "127.0.0.1:8772"])
    assert "listen 8765" in (deploy / "nginx.conf").read_text()
    assert "127.0.0.1:1234" in proxy_settings(1234)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
def test_every_shard_is_sent_to_the_gateway_that_has_it(count):
    lines = re.findall(r"~\^\((\S+)\) gateway(\d+);", gateway_settings(["x"] * count))
    stream = {shard_of(name): name for name in map(str, range(40_000))}
    assert len(stream) > 4000
    for shard, name in stream.items():
        found = [int(number) - 1 for prefixes, number in lines if re.match(prefixes, shard)]
        assert found == [GatewayPlace(0, count).owner(name)]
