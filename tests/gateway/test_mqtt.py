"""The bridge, against a real Mosquitto."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiomqtt
import pytest
from tests.gateway.conftest import is_read
from tests.gateway.mosquitto import PASSWORD, USER, Mosquitto, require_mosquitto
from tests.gateway.phones import LEVELS, is_raw, phone_gateway, pushed

from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.mqtt import NO_READINGS, bridged, raw_topic
from deeprotect.release.ledger.statement import statement

SOON = 20  # seconds: long after which something is broken
AT_ONCE = (0.05, 0.2)  # waits before coming back


@pytest.fixture
def broker(tmp_path):
    require_mosquitto()
    server = Mosquitto(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def secure_broker(tmp_path):
    require_mosquitto()
    server = Mosquitto(tmp_path, tls=True)
    server.start()
    yield server
    server.stop()


@asynccontextmanager
async def running(gateway, broker, **changed):
    """The gateway with its bridge, once it is connected."""
    at = Broker.at(broker.address, password=broker.password, ca=broker.ca)
    async with gateway.running(), bridged(gateway, at, waits=AT_ONCE) as bridge:
        async with asyncio.timeout(SOON):
            await bridge._connected.wait()
        yield gateway, bridge
        await gateway.mediator.stop()  # as the server does first


def client(broker, **more):
    return aiomqtt.Client("127.0.0.1", broker.port, username=USER, password=PASSWORD, **more)


async def next_message(listener):
    """Those without readings only ask whether somebody is there."""
    async with asyncio.timeout(SOON):
        while (message := await anext(listener.messages)).payload == NO_READINGS:
            pass
        return message


def test_raw_messages_go_in_and_released_ones_come_out_in_the_same_form(broker, tmp_path):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with running(gateway, broker), client(broker) as phone, client(broker) as app:
            await app.subscribe("deeprotect/released/#", qos=1)
            await is_read(gateway)
            await phone.publish("deeprotect/raw/watch", pushed(0, 9), qos=0)
            return [await next_message(app) for _ in range(2)]

    for number, message in enumerate(asyncio.run(play())):
        assert message.topic.value == "deeprotect/released/watch/fitness"
        assert message.qos == 1
        assert not message.retain
        assert not is_raw(message.payload)
        body = json.loads(message.payload)
        assert (body["messageId"], body["deviceId"]) == (number, "watch")
        assert len(body["payload"]) == 4
        for entry in body["payload"]:
            assert entry["name"] == "totalacceleration"
            assert all(min(abs(value - level) for level in LEVELS) < 1e-4 for value in entry["values"].values())


def test_names_that_no_topic_can_hold_are_spelt(broker, tmp_path):
    stream = "Ann's wrist/left + #1"
    gateway = phone_gateway(tmp_path, stream=stream)

    async def play():
        async with running(gateway, broker), client(broker) as app:
            await app.subscribe("deeprotect/released/+/+")
            await is_read(gateway)
            await app.publish(raw_topic(stream), pushed(0, 40))
            return await next_message(app)

    assert asyncio.run(play()).topic.value == "deeprotect/released/Ann%27s%20wrist%2Fleft%20%2B%20%231/fitness"


def test_no_other_spelling_of_a_topic_reaches_a_stream(broker, tmp_path):
    """A broker's access list knows topics by their letters: who may write `raw/%77atch` must not write for `watch`."""
    gateway, others = phone_gateway(tmp_path), ("%77atch", "%77%61%74%63%68", "wat%63h", "watch%00", "%2Fwatch")

    async def play():
        async with running(gateway, broker), client(broker) as phone:
            await phone.subscribe("deeprotect/released/#")
            await is_read(gateway)
            for topic in others:
                await phone.publish(f"deeprotect/raw/{topic}", pushed(0, 9, session="forged"), qos=1)
            await phone.publish("deeprotect/raw/watch", pushed(0, 5), qos=1)
            await next_message(phone)
            return _count(gateway, "200"), _count(gateway, "404")

    assert asyncio.run(play()) == (1, len(others))


def test_what_is_wrong_unknown_or_old_is_dropped_and_the_next_message_is_heard(broker, tmp_path):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with client(broker) as phone:
            await phone.publish("deeprotect/raw/watch", pushed(0, 9, session="old"), retain=True, qos=1)
            async with running(gateway, broker):
                await phone.subscribe("deeprotect/released/#")
                await is_read(gateway)
                await phone.publish("deeprotect/raw/stranger", pushed(0, 9))
                await phone.publish("deeprotect/raw/watch", b"\xff not json")
                await phone.publish("deeprotect/raw/watch", b"")
                await phone.publish("deeprotect/raw/watch", pushed(0, 5))
                first = json.loads((await next_message(phone)).payload)
                count = {answer: _count(gateway, answer) for answer in ("200", "404", "422")}
                return first["messageId"], count

    assert asyncio.run(play()) == (0, {"200": 1, "404": 1, "422": 2})


def _count(gateway, answer):
    return gateway.metrics.messages.labels(answer)._value.get()


def test_a_broker_that_was_gone_and_is_back_gets_what_was_released_meanwhile(broker, tmp_path, monkeypatch):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with running(gateway, broker) as (intake, bridge):
            connecting, away = bridge._new_client, [True]

            def held(**known):
                if away:
                    raise aiomqtt.MqttError("held back by the test")
                return connecting(**known)

            monkeypatch.setattr(gateway.mediator.readers, "are_there", lambda _: True)  # not noticed yet
            monkeypatch.setattr(bridge, "_new_client", held)
            broker.stop()
            await intake.take(gateway.directory.device("watch"), pushed(0, 9))  # by another way than the broker
            await asyncio.to_thread(broker.start)
            async with client(broker) as app:
                await app.subscribe("deeprotect/released/#", qos=1)
                away.clear()
                numbers = [json.loads((await next_message(app)).payload)["messageId"] for _ in range(2)]
                await bridge._connected.wait()
                await app.publish("deeprotect/raw/watch", pushed(9, 4), qos=1)  # raw messages are heard again, too
                return [*numbers, json.loads((await next_message(app)).payload)["messageId"]]

    assert asyncio.run(play()) == [0, 1, 2]


def test_health_says_that_the_broker_is_gone_until_it_is_back(broker, tmp_path, capfd):
    gateway = phone_gateway(tmp_path)

    async def said(reason):
        async with asyncio.timeout(SOON):
            while (gateway.health.trouble is not None) != reason:
                await asyncio.sleep(0.01)
        return gateway.health.trouble, "deeprotect_broker_connected 1.0" in gateway.metrics.text().decode()

    async def play():
        async with running(gateway, broker):
            there = await said(False)
            broker.stop()
            gone = await said(True)
            broker.start()
            return there, gone, await said(False)

    there, (reason, connected), back = asyncio.run(play())
    assert there == back == (None, True)
    assert (reason, connected) == (f"the broker 127.0.0.1:{broker.port} is gone: nothing comes or leaves by it", False)
    assert '"event": "not ready", "reason": "the broker' in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # paho's own
def test_with_tls_only_the_right_ca_is_believed(secure_broker, tmp_path):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with running(gateway, secure_broker):
            pass
        other = Broker.at(secure_broker.address, password=secure_broker.password)
        async with gateway.running(), bridged(gateway, other, waits=AT_ONCE) as bridge:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await bridge._connected.wait()
            await gateway.mediator.stop()

    asyncio.run(play())


def test_a_wrong_password_is_told_and_nothing_else_stops(broker, tmp_path, capfd):
    gateway = phone_gateway(tmp_path)
    (tmp_path / "wrong").write_text("not-the-password")

    async def play():
        wrong = Broker.at(broker.address, password=tmp_path / "wrong")
        async with gateway.running(), bridged(gateway, wrong, waits=AT_ONCE) as bridge:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await bridge._connected.wait()
            answer = await gateway.take(gateway.directory.device("watch"), pushed(0, 4))
            await gateway.mediator.stop()
            return answer

    assert asyncio.run(play()).status == 200
    said = capfd.readouterr().err
    assert "broker gone" in said
    assert "not-the-password" not in said


def test_nothing_runs_on_after_a_stop(broker, tmp_path):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with running(gateway, broker):
            pass
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(play()) == []


def test_windows_that_a_stop_makes_due_still_reach_the_broker(broker, tmp_path):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with client(broker) as app:
            await app.subscribe("deeprotect/released/#", qos=1)
            async with running(gateway, broker) as (intake, _):
                await is_read(gateway)
                await intake.take(gateway.directory.device("watch"), pushed(0, 7))
            return [json.loads((await next_message(app)).payload)["messageId"] for _ in range(1)]

    assert asyncio.run(play()) == [0]


def test_nothing_is_drawn_while_nobody_has_subscribed_as_the_broker_tells(broker, tmp_path):
    gateway = phone_gateway(tmp_path)

    async def play():
        async with running(gateway, broker) as (intake, _), client(broker) as app:
            device = gateway.directory.device("watch")
            for first in range(0, 40, 8):
                await intake.take(device, pushed(first, 8))
            unread = draws(gateway)
            await app.subscribe("deeprotect/released/#", qos=1)
            await is_read(gateway)
            await intake.take(device, pushed(40, 8))
            await next_message(app)
            read = draws(gateway)
            await app.unsubscribe("deeprotect/released/#")
            for first in range(48, 96, 8):  # the broker's answer to the first of them tells
                await intake.take(device, pushed(first, 8))
                await asyncio.sleep(0.1)
            return unread, read, draws(gateway) - read, gateway.mediator.status(["watch"])[0].apps[0]

    unread, read, after, status = asyncio.run(play())
    assert unread == 0
    assert 1 <= read <= 3
    assert after <= 6
    assert status.dropped >= 1  # whose confirmation told that nobody is there any more
    assert status.withheld["nobody reads"] >= 10


def draws(gateway):
    return sum(person.draws for person in statement(gateway.database).people)
