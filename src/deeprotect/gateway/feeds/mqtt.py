"""A bridge to an MQTT broker: raw topics in, released topics out; it comes back when the broker does."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote, unquote

from aiomqtt import Client, Message, MqttError, ProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.followers import Followers
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.intake import OK, SPENT, Intake
from deeprotect.gateway.operation.logs import event, failure
from deeprotect.gateway.registration.device_registry import App, Device
from deeprotect.gateway.wire.formats import write

PREFIX = "deeprotect"
QOS = 1
WAITS_SECONDS = (1.0, 30.0)  # before the first and before a late attempt to come back; doubled in between
REMEMBERED_SECONDS = 60  # that the broker keeps messages for a gateway that is cut off
MOST_AT_ONCE = 256  # messages that are being taken in
MOST_QUEUED = 10_000
_ENVELOPE = 1 << 16  # bytes of a packet beside its message
TIMEOUT_SECONDS = 10.0


def raw_topic(stream: str) -> str:
    """A stream's one topic; names that a topic cannot hold are written as in an address: `Anna%27s%20walk`."""
    return f"{PREFIX}/raw/{quote(stream, safe='')}"


def released_topic(app: App) -> str:
    return f"{PREFIX}/released/{quote(app.stream, safe='')}/{quote(app.name, safe='')}"


class Bridge:
    """One connection; what is released while there is none waits, and the oldest is dropped and counted."""

    def __init__(self, gateway: Gateway, intake: Intake, broker: Broker, *, waits: tuple[float, float]) -> None:
        self._gateway, self._intake, self._broker, self._waits = gateway, intake, broker, waits
        self._identifier = f"deeprotect-{uuid.uuid4()}"
        self._client: Client | None = None
        self._connected = asyncio.Event()
        self._reason: str | None = None  # why there is no connection, as it was told last
        self._refused: dict[str, str] = {}
        self._room, self._taking = asyncio.Semaphore(MOST_AT_ONCE), set[asyncio.Task[None]]()

    async def run(self) -> None:
        """Until it is cancelled."""
        wait, known = self._waits[0], False
        while True:
            try:
                async with self._new_client(known=known) as client:
                    await client.subscribe(f"{PREFIX}/raw/+", qos=QOS)
                    known, wait = True, self._waits[0]
                    self._client, self._reason = client, None
                    event("broker connected", broker=str(self._broker))
                    self._connected.set()
                    await self._listen(client)
            except MqttError as error:
                self._tell_gone(str(error))
            except Exception as error:
                failure("the bridge failed", error)
            finally:
                self._client = None
                self._connected.clear()
            await asyncio.sleep(wait)
            wait = min(2 * wait, self._waits[1])

    async def follow(self, app: App) -> None:
        """Publish what an app gets, in order; a window that the broker has not confirmed is sent again."""
        topic = released_topic(app)
        with self._gateway.mediator.subscribe(app) as windows:
            async for window in windows:
                body = write(window, "sensor-logger")
                while not await self._published(topic, body):
                    pass

    async def _published(self, topic: str, body: bytes) -> bool:
        await self._connected.wait()
        client = self._client
        if client is None:
            return False
        try:
            await client.publish(topic, body, qos=QOS)
        except MqttError:
            await asyncio.sleep(self._waits[0])  # meanwhile `run` has noticed
            return False
        return True

    def _tell_gone(self, reason: str) -> None:
        if reason != self._reason:
            self._reason = reason
            event("broker gone", broker=str(self._broker), reason=reason)

    def _new_client(self, *, known: bool) -> Client:
        """A session that outlives a short absence, not the gateway; larger packets than it takes are not sent to it."""
        properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = REMEMBERED_SECONDS
        properties.MaximumPacketSize = self._gateway.settings.most_bytes + _ENVELOPE
        return Client(
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
        """Whose it is, if it is for this process. What the broker kept from an earlier time is not live."""
        topic = message.topic.value
        stream = unquote(topic.rpartition("/")[2])
        if message.retain or not self._gateway.place.owns(stream):
            return None
        # Another spelling is another topic for a broker's access list: `%61nn` is not `ann`.
        device = self._gateway.directory.device(stream) if topic == raw_topic(stream) else None
        if device is None:
            self._gateway.metrics.messages.labels("404").inc()
        return device

    async def _take(self, device: Device, message: Message) -> None:
        kind, payload = getattr(message.properties, "ContentType", None), message.payload
        try:
            answer = await self._intake.take(device, payload if isinstance(payload, bytes) else b"", kind)
        except Exception as error:
            failure("a message failed", error)
            return
        # Nobody hears an answer, so a refusal is told here, once; a spent budget the mediator tells.
        if answer.status not in (OK, SPENT) and self._refused.get(device.stream) != answer.text:
            self._refused[device.stream] = answer.text
            event("message refused", stream=device.stream, reason=answer.text)


@asynccontextmanager
async def bridged(
    gateway: Gateway, intake: Intake, broker: Broker, *, waits: tuple[float, float] = WAITS_SECONDS
) -> AsyncIterator[Bridge]:
    """While the server runs."""
    bridge = Bridge(gateway, intake, broker, waits=waits)
    running = asyncio.create_task(bridge.run())
    try:
        async with Followers(gateway, bridge.follow, wanted=lambda _: True).following():
            yield bridge
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
