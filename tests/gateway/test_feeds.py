"""Feeds from end to end: a real `deeprotect gateway serve`, `replay` towards it, receiver and broker behind it."""

import asyncio
import json
import os
import ssl
import subprocess
import sys

import aiomqtt
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from tests.gateway.conftest import channel_bundle
from tests.gateway.live import PATIENCE, SERVE, Gateway, body
from tests.gateway.mosquitto import PASSWORD, USER, Mosquitto, require_mosquitto
from tests.gateway.phones import THREE_AXES, button
from tests.gateway.receiver import Receiver, listening

from deeprotect.gateway.feeds.mqtt import NO_READINGS

ROWS, WINDOWS = 60, 14  # of the table; at least so many windows of 4 rows come out of it
CANARY = 1.23456789


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A policy, and a table whose every sample is the canary."""
    found = tmp_path_factory.mktemp("feeds")
    (found / "policy.toml").write_text(THREE_AXES)
    columns = {name: np.full(ROWS, CANARY) for name in ("acc_x", "acc_y", "acc_z")}
    csv.write_csv(pa.table({"time": np.arange(ROWS) / 10, **columns, "activity": ["walk"] * ROWS}), found / "walk.csv")
    return found


def made(folder, *streams, push=None, **start):
    """A gateway with two bundles, the second of which may spend little."""
    gateway = Gateway(folder / start.pop("name"))
    channel_bundle(THREE_AXES).save(gateway.folder / "protector")
    channel_bundle(THREE_AXES, budget={"in_all": 10.0}).save(gateway.folder / "small")
    registry = gateway.registry()
    for stream in streams:
        gateway.tokens[stream] = registry.add_device(stream)
        bundle = "small" if stream == "poor" else "protector"
        gateway.tokens[f"{stream}/fitness"] = registry.add_app("fitness", stream=stream, bundle=bundle, push=push)
    return gateway.start("--bundle", str(gateway.folder / "small"), *start.pop("options", ()))


@pytest.fixture(scope="module")
def running(folder):
    """A gateway with a receiver behind it."""
    receiver = Receiver()
    with listening(receiver) as push:
        gateway = made(folder, "rows", "sensor-logger", "poor", "pressed", push=push, name="gateway")
        yield gateway, receiver
        gateway.end()


def replay(folder, *options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SERVE, "gateway", "replay", str(folder / "walk.csv"), "--speed", "30", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=2 * PATIENCE)


@pytest.mark.long
@pytest.mark.parametrize("form", ["rows", "sensor-logger"])
def test_a_replayed_table_reaches_a_receiver_as_the_phone_app_would_have_sent_it(running, folder, form):
    gateway, receiver = running
    address = f"{gateway.url}/in/{gateway.tokens[form]}"
    done = replay(folder, "--to", address, "--format", form, "--policy", str(folder / "policy.toml"))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert f"sent {ROWS} rows" in done.stderr
    assert f"the gateway took {ROWS} readings" in done.stderr
    bodies = receiver.wait_for(WINDOWS, PATIENCE, device=form)
    assert [body["messageId"] for body in bodies] == list(range(WINDOWS))
    entries = [entry for body in bodies for entry in body["payload"]]
    assert {entry["name"] for entry in entries} == {"accelerometer", "gravity", "totalacceleration"}
    assert all(list(entry["values"]) == ["z", "y", "x"] for entry in entries)
    assert str(CANARY) not in json.dumps(entries) + gateway.log()
    gateway.check_no_token()


def test_a_spent_budget_ends_the_play_with_the_gateways_words(running, folder):
    gateway, _ = running
    done = replay(folder, "--to", f"{gateway.url}/in/{gateway.tokens['poor']}")
    assert done.returncode == 1
    assert "status 499: budget spent" in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_an_address_of_nobody_is_wrong_input(running, folder):
    done = replay(folder, "--to", f"{running[0].url}/in/nobody")
    assert done.returncode == 2
    assert "register one" in done.stderr


def test_the_phone_apps_test_button_is_answered_and_costs_nothing(running):
    gateway, _ = running
    answer = gateway.post("pressed", button(), **{"content-type": "application/json"})
    assert (answer.status_code, answer.json()) == (200, {"accepted": 0})
    assert "pressed" not in {stream for stream, *_ in gateway.charged()}


def test_a_table_goes_through_a_broker_and_comes_back_released(folder, tmp_path):
    require_mosquitto()
    broker = Mosquitto(tmp_path, tls=True)
    broker.start()
    way = ["--mqtt", broker.address, "--mqtt-password", str(broker.password), "--mqtt-ca", str(broker.ca)]
    gateway = made(folder, "watch", name="bridged", options=way)
    try:
        got = asyncio.run(_released(broker, lambda: replay(folder, *way, "--topic", "deeprotect/raw/watch")))
        assert gateway.stop() == 0
    finally:
        gateway.end()
        broker.stop()
    assert [json.loads(body)["messageId"] for body in got] == list(range(WINDOWS))
    assert str(CANARY).encode() not in b"".join(got)
    assert PASSWORD not in gateway.log()


async def _released(broker, play):
    tls = ssl.create_default_context(cafile=broker.ca)
    client = aiomqtt.Client("127.0.0.1", broker.port, username=USER, password=PASSWORD, tls_context=tls)
    async with client, asyncio.timeout(2 * PATIENCE):
        await client.subscribe("deeprotect/released/watch/fitness", qos=1)
        await client.publish("deeprotect/raw/watch", body("watch", 0, 1, session="other"))
        assert (await anext(client.messages)).payload == NO_READINGS  # it is known that somebody is there
        done = await asyncio.to_thread(play)
        assert done.returncode == 0, done.stderr
        return [(await anext(client.messages)).payload for _ in range(WINDOWS)]
