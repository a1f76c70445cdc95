"""Where a played table goes: the address of a device, or a topic of a broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from deeprotect.errors import DeeprotectError, InputError, printable
from deeprotect.gateway.feeds.broker import Broker
from deeprotect.gateway.feeds.replaying import Send
from deeprotect.gateway.registration.push_address import check_address
from deeprotect.gateway.wire.formats import Form, content_type_of

TIMEOUT_SECONDS = 30.0
TRIES = 6
FIRST_WAIT_SECONDS = 0.2  # doubled each time
_BUSY = frozenset({429, 503})
_LONGEST = 500


class RefusedError(DeeprotectError):
    """What was sent was not taken; the line is the receiver's own."""


@asynccontextmanager
async def to_address(address: str, form: Form, *, wait: float = FIRST_WAIT_SECONDS) -> AsyncIterator[Send]:
    """Posts each message; one that comes too often or too early is sent again."""
    check_address(address)
    headers = {"Content-Type": content_type_of(form)}
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS, follow_redirects=False, headers=headers) as client:

        async def send(body: bytes) -> int:
            for attempt in range(TRIES):
                response = await _posted(client, address, body)
                if response is not None and response.status_code not in _BUSY:
                    return _accepted(response)
                if attempt < TRIES - 1:
                    await asyncio.sleep(wait * 2**attempt)
            if response is None:
                raise DeeprotectError(f"nothing answers at {_where(address)}; is the gateway running, and is it there?")
            return _accepted(response)

        yield send


async def _posted(client: httpx.AsyncClient, address: str, body: bytes) -> httpx.Response | None:
    try:
        return await client.post(address, content=body)
    except httpx.TransportError:
        return None


def _accepted(response: httpx.Response) -> int:
    """Readings that were taken, or the refusal."""
    if response.status_code == httpx.codes.OK:
        try:
            return int(response.json()["accepted"])
        except (ValueError, TypeError, KeyError):
            raise RefusedError("what answers is no gateway; give the address that it shows for a device") from None
    text = printable(" ".join(response.text.split()), _LONGEST)
    if response.status_code == httpx.codes.NOT_FOUND:
        raise InputError(f"the gateway says: {text or 'not found'} (--to)")
    raise RefusedError(f"the gateway says, with status {response.status_code}: {text}")


def _where(address: str) -> str:
    """Without the token in its path."""
    return printable(httpx.URL(address).netloc.decode("ascii", "replace").rpartition("@")[2])


@asynccontextmanager
async def to_topic(broker: Broker, topic: str) -> AsyncIterator[Send]:
    """Publishes each message, confirmed by the broker; what the gateway makes of it nobody tells."""
    from aiomqtt import Client, MqttError

    if not topic or any(sign in topic for sign in "+#\0"):
        raise InputError("--topic is one topic, without + and #; for a gateway, deeprotect/raw/STREAM")
    try:
        async with Client(
            broker.host, broker.port, username=broker.user, password=broker.password, tls_context=broker.tls
        ) as client:

            async def send(body: bytes) -> int:
                await client.publish(topic, body, qos=1)
                return 0

            yield send
    except MqttError as error:
        raise DeeprotectError(f"the broker at {broker} does not take messages: {printable(str(error), 200)}") from None
