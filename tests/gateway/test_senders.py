"""Where a played table goes."""

import asyncio

import pytest
from tests.gateway.mosquitto import Mosquitto, require_mosquitto
from tests.gateway.receiver import Receiver, listening

from deeprotect.errors import DeeprotectError, InputError
from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.replaying import RefusedError, to_address, to_topic


def post(address, *bodies):
    async def run():
        async with to_address(address, "rows", wait=0.01) as send:
            return [await send(body) for body in bodies]

    return asyncio.run(run())


@pytest.mark.parametrize(("status", "error"), [(499, RefusedError), (422, RefusedError), (404, InputError)])
def test_a_refusal_ends_the_play_with_the_gateways_own_words(status, error):
    with listening(Receiver(status)) as address, pytest.raises(error, match="success"):
        post(address, b"{}")


def test_a_gateway_that_is_busy_is_asked_again():
    receiver = Receiver(429, 503, 499)
    with listening(receiver) as address, pytest.raises(RefusedError, match="499"):
        post(address, b"{}")
    assert len(receiver.requests) == 3


def test_what_is_no_gateway_is_told_so():
    with listening(Receiver()) as address, pytest.raises(RefusedError, match="not a gateway"):
        post(address, b"{}")


def test_where_nothing_answers_the_token_is_not_repeated():
    with pytest.raises(DeeprotectError, match=r"nothing answers at 127\.0\.0\.1:9") as refused:
        post("http://127.0.0.1:9/in/secret-token", b"{}")
    assert "secret-token" not in str(refused.value)


def test_a_broker_takes_messages_or_says_why_not(tmp_path):
    require_mosquitto()
    server = Mosquitto(tmp_path)
    server.start()

    async def publish(broker, topic):
        async with to_topic(broker, topic) as send:
            return await send(b"{}")

    try:
        there = Broker.at(server.address, password=server.password)
        assert asyncio.run(publish(there, "deeprotect/raw/watch")) == 0
        with pytest.raises(InputError, match="--topic"):
            asyncio.run(publish(there, "deeprotect/raw/#"))
        with pytest.raises(DeeprotectError, match="the broker at"):
            asyncio.run(publish(Broker.at(f"mqtt://127.0.0.1:{server.port}"), "deeprotect/raw/watch"))
    finally:
        server.stop()
