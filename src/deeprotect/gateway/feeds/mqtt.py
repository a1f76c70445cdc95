"""A bridge to an MQTT broker: raw topics in, released topics out; it reconnects by itself."""

import asyncio
import json
import re
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from aiomqtt import Client, Message, MqttError, ProtocolVersion
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.push import Followers, brought
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.operation.log import Trouble, beside, event, failure
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.registration.directory import REFRESH_SECONDS
from deeprotect.gateway.streams.hub import MOST_WAITING
from deeprotect.gateway.streams.session import OK, SPENT
from deeprotect.gateway.wire.formats import USUAL, write_messages
from deeprotect.policy.known_sensors import recognise, spelt
from deeprotect.signals.schema import Channel, Schema
from deeprotect.version import __version__

PREFIX = "deeprotect"
QOS = 1
WAITS_SECONDS = (1.0, 30.0)  # before the first and the latest attempts to reconnect; doubled in between
REMEMBERED_SECONDS = 60  # that the broker keeps messages for a disconnected gateway
MOST_AT_ONCE = 256  # messages processed at once
MOST_OF_ONE = 32  # of one stream: fewer than may wait for its turn, so that a burst loses nothing
MOST_QUEUED = 10_000
_ENVELOPE = 1 << 16  # bytes of a packet besides its message
TIMEOUT_SECONDS = 10.0
NOBODY_SUBSCRIBED = 0x10  # optional reason code of brokers for a message without subscribers
NO_READINGS = b'{"payload": []}'


def raw_topic(stream: str) -> str:
    """A stream's only topic; characters that a topic cannot contain are percent-encoded: `Anna%27s%20walk`."""
    return f"{PREFIX}/raw/{quote(stream, safe='')}"


def released_topic(app: App) -> str:
    return f"{PREFIX}/released/{quote(app.stream, safe='')}/{quote(app.name, safe='')}"


class _Client(Client):
    """Reports whether a published message had subscribers, if the broker's confirmation says so."""

    def __init__(self, *where: Any, **options: Any) -> None:
        super().__init__(*where, **options)
        self._confirmed: dict[int, asyncio.Future[bool]] = {}

    async def publish_to_readers(self, topic: str, body: bytes, *, retain: bool) -> bool:
        message = self._client.publish(topic, body, QOS, retain)
        if message.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise MqttError("not published")
        confirmed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._confirmed[message.mid] = confirmed
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await confirmed
        except TimeoutError:
            raise MqttError("not confirmed") from None
        finally:
            del self._confirmed[message.mid]

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: Any, properties: Any) -> None:
        if mid in self._confirmed and not self._confirmed[mid].done():
            self._confirmed[mid].set_result(reason_code.value != NOBODY_SUBSCRIBED)
        super()._on_publish(client, userdata, mid, reason_code, properties)


class Bridge:
    """One connection; while it is lost, releases wait, and the oldest are dropped and counted."""

    def __init__(self, gateway: Gateway, broker: Broker, *, waits: tuple[float, float]) -> None:
        self._gateway, self._broker, self._waits = gateway, broker, waits
        self._identifier = f"deeprotect-{uuid.uuid4()}"
        self._client: _Client | None = None
        self._connected = asyncio.Event()
        self._log = Trouble("broker gone", "broker connected", reason="not connected yet")
        self._refused: dict[str, str] = {}
        self._lanes = defaultdict[str, asyncio.Semaphore](lambda: asyncio.Semaphore(MOST_OF_ONE))
        self._room, self._taking = asyncio.Semaphore(MOST_AT_ONCE), set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Run until cancelled."""
        wait, known = self._waits[0], False
        self._tell(f"the broker {self._broker} is not connected yet")
        while True:
            try:
                async with self._new_client(known=known) as client:
                    await client.subscribe(f"{PREFIX}/raw/+", qos=QOS)
                    known, wait = True, self._waits[0]
                    self._client = client
                    self._log.tell(None, broker=str(self._broker))
                    self._tell(None)
                    self._connected.set()
                    async with beside(self._follow_topics(client)):  # the listener notices a lost connection
                        await self._listen(client)
            except MqttError as error:
                self._log.tell(str(error), broker=str(self._broker))
            except Exception as error:
                failure("the bridge failed", error)
            finally:
                self._client = None
                self._connected.clear()
                self._tell(f"the broker {self._broker} is gone: nothing comes or leaves by it")
                for app in self._gateway.directory.apps():  # new draws might wait too long
                    self._gateway.mediator.readers.answers(app, is_so=False)
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._waits[1])

    def _tell(self, reason: str | None) -> None:
        self._gateway.health.tell("broker", reason)
        self._gateway.metrics.broker.set(float(reason is None))

    async def follow(self, app: App) -> None:
        """Publish an app's windows, in order; a window that the broker has not confirmed is sent again.

        Without subscribers nothing is drawn, and a message without readings probes for some.
        """
        readers, topic, form = self._gateway.mediator.readers, released_topic(app), app.form or USUAL
        question = NO_READINGS if form == USUAL else b""
        async with self._announced(app, topic):
            async for window in brought(self._gateway, app, most=MOST_WAITING, every=2 * self._waits[0]):
                there = False
                for body in [question] if window is None else write_messages(window, form):
                    there = await self._is_read(topic, body)
                readers.answers(app, is_so=there)
                if window is not None and not readers.is_here(app):
                    self._gateway.mediator.lose(app, "mqtt")

    @asynccontextmanager
    async def _announced(self, app: App, topic: str) -> AsyncIterator[None]:
        """Announce the app to Home Assistant, if it is for it, until it is revoked."""
        if app.form != "home-assistant":
            yield
            return
        told = announcements(app, self._gateway.bundles.get(app.bundle).schema, state_topic=topic)
        for where, body in told.items():
            await self._is_read(where, body, retain=True)
        try:
            yield
        finally:
            if app not in self._gateway.directory.apps():
                for where in told:
                    await self._is_read(where, b"", retain=True)

    async def _is_read(self, topic: str, body: bytes, *, retain: bool = False) -> bool:
        """Publish, however long it takes; return whether there are subscribers, as far as the broker reports."""
        while True:
            await self._connected.wait()
            try:
                if self._client is not None:
                    return await self._client.publish_to_readers(topic, body, retain=retain)
            except MqttError:
                await asyncio.sleep(self._waits[0])  # meanwhile `run` has noticed

    def _new_client(self, *, known: bool) -> "_Client":
        """A session that outlives a short absence of the gateway; the broker must not send larger packets than it
        accepts."""
        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = REMEMBERED_SECONDS
        properties.MaximumPacketSize = self._gateway.settings.most_bytes + _ENVELOPE
        return _Client(
            self._broker.host,
            self._broker.port,
            username=self._broker.user,
            password=self._broker.password,
            tls_context=self._broker.tls,
            identifier=self._identifier,
            protocol=ProtocolVersion.V5,
            clean_start=not known,
            properties=properties,
            timeout=TIMEOUT_SECONDS,
            max_queued_incoming_messages=MOST_QUEUED,
        )

    async def _follow_topics(self, client: Client) -> None:
        """Subscribe to topics of devices other than the gateway's own."""
        known: set[str] = set()
        while True:
            own = (each for each in self._gateway.directory.devices() if self._gateway.fleet.has(each.stream))
            wanted = {device.topic for device in own if device.topic}
            for topic in wanted - known:
                await client.subscribe(topic, qos=QOS)
            for topic in known - wanted:
                await client.unsubscribe(topic)
            known = wanted
            await asyncio.sleep(REFRESH_SECONDS)

    async def _listen(self, client: Client) -> None:
        async for message in client.messages:
            device = self._device(message)
            if device is not None:
                await self._room.acquire()
                task = asyncio.create_task(self._take(device, message))
                self._taking.add(task)
                task.add_done_callback(self._taken)

    def _taken(self, task: asyncio.Task[None]) -> None:
        self._taking.discard(task)
        self._room.release()

    def _device(self, message: Message) -> Device | None:
        """The device, if it belongs to this gateway. Messages retained by the broker are not live."""
        topic = message.topic.value
        mapped = self._gateway.directory.device_at(topic)
        if mapped is not None:
            return None if message.retain else mapped
        stream = unquote(topic.rpartition("/")[2])
        if message.retain or not self._gateway.fleet.has(stream):
            return None
        # Another spelling is another topic for a broker's access list: `%61nn` is not `ann`.
        device = self._gateway.directory.device(stream) if topic == raw_topic(stream) else None
        if device is None:
            self._gateway.metrics.messages.labels("404").inc()
        return device

    async def _take(self, device: Device, message: Message) -> None:
        payload = message.payload
        try:
            async with self._lanes[device.stream]:
                answer = await self._gateway.take(device, payload if isinstance(payload, bytes) else b"")
        except Exception as error:
            failure("a message failed", error)
            return
        # There is no response to a message, so a refusal is logged here, once; the mediator logs a spent budget.
        if answer.status not in (OK, SPENT) and self._refused.get(device.stream) != answer.text:
            self._refused[device.stream] = answer.text
            event("message refused", stream=device.stream, reason=answer.text)


@asynccontextmanager
async def bridged(
    gateway: Gateway, broker: Broker, *, waits: tuple[float, float] = WAITS_SECONDS
) -> AsyncIterator[Bridge]:
    """Run while the server does."""
    bridge = Bridge(gateway, broker, waits=waits)
    async with beside(bridge.run()), Followers(gateway, bridge.follow, wanted=lambda _: True).following():
        yield bridge


_CLASSES = {"air pressure": "atmospheric_pressure", "CO₂": "carbon_dioxide"} | {
    name: name for name in ("temperature", "humidity", "illuminance", "power", "voltage", "current")
}
"""Home Assistant's sensor classes by ours; it refuses a class with an unknown unit."""


def announcements(app: App, schema: Schema, *, state_topic: str) -> dict[str, bytes]:
    """MQTT discovery messages for Home Assistant: a device for an app's stream, with a sensor for each channel.

    Retained messages by topic; an empty one under the same topic removes it.
    """
    return {_topic(app, each): json.dumps(_config(app, each, state_topic)).encode() for each in schema.channels}


def _config(app: App, channel: Channel, state_topic: str) -> dict[str, object]:
    node = _identifier(app.stream, app.name)
    return {
        "name": channel.name,
        "unique_id": f"{node}_{_identifier(channel.name)}",
        "state_topic": state_topic,
        "value_template": f"{{{{ value_json[{json.dumps(channel.name)}] }}}}",
        "state_class": "measurement",
        **_unit(channel),
        "device": {
            "identifiers": [node],
            "name": f"{app.stream} as {app.name} sees it",
            "manufacturer": "DEEProtect",
            "sw_version": __version__,
        },
        "origin": {"name": "deeprotect", "sw_version": __version__},
    }


def _unit(channel: Channel) -> dict[str, str]:
    unit, sensor = spelt(channel.unit) or channel.unit, recognise(channel.name)
    stated = {} if unit == "1" else {"unit_of_measurement": unit}
    if sensor is None or sensor.short not in _CLASSES or unit not in sensor.scales:
        return stated
    return stated | {"device_class": _CLASSES[sensor.short]}


def _topic(app: App, channel: Channel) -> str:
    return f"homeassistant/sensor/{_identifier(app.stream, app.name)}/{_identifier(channel.name)}/config"


def _identifier(*names: str) -> str:
    """An identifier of the characters that discovery allows; distinct names stay distinct."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", "_".join(names))[:60]
    return f"deeprotect_{plain}_{sha256('/'.join(names).encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
