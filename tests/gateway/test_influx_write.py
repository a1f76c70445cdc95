"""Programs made for InfluxDB 2 write to the gateway as they are, and are answered as InfluxDB documents it."""

import gzip
import json
import time
import warnings
from unittest import mock

import pytest
from tests.gateway.conftest import START, STEP
from tests.gateway.test_mediator import made

from deeprotect.errors import LedgerUnavailableError
from deeprotect.gateway.feeds.influx_write import PATH
from deeprotect.gateway.serving import create_service

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another client than the one that we install
    from fastapi.testclient import TestClient

CANARY = "7.654321012345"


@pytest.fixture
def gateway(tmp_path):
    return made(tmp_path)


@pytest.fixture
def client(gateway):
    with TestClient(create_service(gateway), client=("203.0.113.9", 50000)) as found:
        yield found


@pytest.fixture
def token(gateway):
    found = gateway.registry.rotate("watch", overlap=gateway.clock() - gateway.clock())
    gateway.directory.refresh()
    return found


def lines(first=0, count=4, unit=1):
    stamps = ((START + tick * STEP) // unit for tick in range(first, first + count))
    return "\n".join(f"imu,host=a,room=b acc_x={CANARY},acc_y=0.5 {stamp}" for stamp in stamps).encode()


def write(client, token, body, *, kind="Token", **asked):
    headers = {"authorization": f"{kind} {token}", "content-type": "text/plain; charset=utf-8"}
    return client.post(PATH, params={"org": "o", "bucket": "b"} | asked, content=body, headers=headers)


def readings(gateway):
    return next(iter(gateway.metrics.readings.collect())).samples[0].value


@pytest.mark.parametrize("kind", ["Token", "Bearer"])
def test_lines_are_taken_and_answered_with_no_content(client, gateway, token, kind):
    answer = write(client, token, lines(), kind=kind)
    assert (answer.status_code, answer.content) == (204, b"")
    assert readings(gateway) == 4


def test_compressed_lines_are_taken_as_telegraf_sends_them(client, gateway, token):
    headers = {"authorization": f"Token {token}", "content-encoding": "gzip", "user-agent": "Telegraf/1.36.0 Go/1.25"}
    answer = client.post(f"{PATH}?bucket=b&org=o", content=gzip.compress(lines()), headers=headers)
    assert answer.status_code == 204
    assert readings(gateway) == 4


@pytest.mark.parametrize(("precision", "unit"), [("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)])
def test_times_are_in_the_precision_that_is_named_and_in_no_other(client, gateway, token, precision, unit):
    with mock.patch.object(gateway, "_read", wraps=gateway._read) as read:
        assert write(client, token, lines(unit=unit), precision=precision).status_code == 204
    message = gateway._read(*read.call_args.args)
    assert message.readings[0].times_ns[0] == START // unit * unit


def test_without_a_precision_times_are_nanoseconds_and_seconds_are_of_1970(client, gateway, token):
    with mock.patch.object(gateway, "_read", wraps=gateway._read) as read:
        assert write(client, token, b"imu acc_x=1,acc_y=1 1700000000").status_code == 204
    assert gateway._read(*read.call_args.args).readings[0].times_ns.tolist() == [1_700_000_000]


def test_lines_without_a_time_are_read_when_they_come(client, gateway, token):
    with mock.patch.object(gateway, "_read", wraps=gateway._read) as read:
        assert write(client, token, b"imu acc_x=1,acc_y=1").status_code == 204
    assert abs(gateway._read(*read.call_args.args).readings[0].times_ns[0] - time.time_ns()) < 60 * 10**9


@pytest.mark.parametrize(
    ("body", "asked", "status", "code"),
    [
        (b"imu acc_x=" + CANARY.encode() + b"x 5", {}, 400, "invalid"),
        (json.dumps({"time": [START], "acc_x": [float(CANARY)]}).encode(), {}, 400, "invalid"),
        (b"cpu usage=" + CANARY.encode() + b" 1700000000000000000", {}, 400, "invalid"),
        (b"imu acc_x=" + CANARY.encode() + b" 4000000000000000000", {}, 400, "invalid"),
        (b"\xff\xfe " + CANARY.encode(), {}, 400, "invalid"),
        (lines(), {"precision": CANARY}, 400, "invalid"),
        (lines(count=20_000), {}, 413, "request too large"),
        (gzip.compress(lines(count=20_000)), {}, 413, "request too large"),
        (gzip.compress(lines())[:-3], {}, 400, "invalid"),
    ],
    # Bodies hold times.
    ids=["number", "json", "field", "time", "bytes", "precision", "long", "long compressed", "cut"],
)
def test_what_cannot_be_taken_is_refused_as_influxdb_does_and_never_quoted(client, token, body, asked, status, code):
    answer = write(client, token, body, **asked)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert CANARY not in answer.text
    assert "\n" not in answer.json()["message"]


@pytest.mark.parametrize("header", [None, "Token", "Token wrong", "Basic d3Jvbmc=", "Token \xe9"])
def test_without_a_devices_token_nothing_is_read(client, gateway, header):
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    with mock.patch("deeprotect.gateway.feeds.influx_write.read_body") as read:
        answer = client.post(PATH, content=lines(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert not read.called


def test_an_apps_token_and_the_admins_write_nothing(client, gateway):
    others = [gateway.registry.new_admin(), gateway.registry.add_app("two", stream="watch", bundle="protector")]
    assert [write(client, each, lines()).status_code for each in others] == [401, 401]


def test_what_waits_is_to_be_sent_again_and_a_spent_budget_is_not(tmp_path):
    gateway = made(tmp_path, budget={"per_hour": 1e-3})
    token = gateway.registry.rotate("watch", overlap=gateway.clock() - gateway.clock())
    with (
        TestClient(create_service(gateway)) as client,
        mock.patch.object(gateway.mediator.readers, "are_there") as here,
    ):
        here.return_value = True
        spent = write(client, token, lines(count=8))
        assert (spent.status_code, spent.json()["code"]) == (422, "unprocessable entity")
        assert "budget" in spent.json()["message"]
        gone = LedgerUnavailableError("gone")
        with mock.patch("deeprotect.gateway.streams.releaser.release_due", side_effect=gone):
            failing = write(client, token, lines(8, 8))
        assert (failing.status_code, failing.json()["code"]) == (503, "unavailable")
        assert int(failing.headers["retry-after"]) > 0
        with mock.patch.object(gateway.load, "refusal", return_value="overloaded"):
            assert write(client, token, lines()).status_code == 503
        with mock.patch.object(gateway.mediator.allowance, "spend", return_value=False):
            often = write(client, token, lines())
        assert (often.status_code, often.headers["retry-after"]) == (429, "3")
