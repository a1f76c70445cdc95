"""What comes in by HTTP, WebSocket or MQTT: bytes of a device, answered with a status and a line."""

from dataclasses import asdict, dataclass
from functools import partial

from deeprotect.errors import InputError
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.mediator import WINDOWS_A_SECOND
from deeprotect.gateway.mediation.peers import Header
from deeprotect.gateway.registration.device_registry import Device
from deeprotect.gateway.wire import formats

OK, SPENT = 200, 499
"""499 is what Sensor Logger shows to the person, once in a recording."""


@dataclass(frozen=True)
class Answer:
    """A status of HTTP, and one line."""

    status: int
    text: str = ""
    accepted: int = 0


class Intake:
    """Bytes to readings to the mediator; whatever is wrong with them is said in one line that quotes nothing."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._schema = gateway.bundles.channels()

    async def take(self, device: Device, body: bytes, content_type: str | None) -> Answer:
        """The answer of the process that the stream belongs to; what is too large goes no further."""
        most = self._gateway.settings.most_bytes
        if len(body) > most:
            answer = Answer(413, f"a message holds at most {most} bytes; send smaller ones")
        elif self._gateway.place.owns(device.stream):
            answer = await self._answered(device, body, content_type)
        else:
            answer = await self._handed_on(device, body, content_type)
        self._gateway.metrics.messages.labels(str(answer.status)).inc()
        return answer

    async def _answered(self, device: Device, body: bytes, content_type: str | None) -> Answer:
        settings, mediator = self._gateway.settings, self._gateway.mediator
        cost = max(1 / settings.most_messages, len(body) / settings.most_bytes_a_second)
        if not mediator.allowance.spend(device.stream, cost):  # before anything of it is read
            most = (
                f"{settings.most_messages} messages, {settings.most_bytes_a_second} bytes, {WINDOWS_A_SECOND} windows"
            )
            return Answer(429, f"at most {most} a second; send it again, later or in smaller parts")
        try:
            read = partial(formats.read, body, content_type, self._schema, device.sensors)
            receipt = await mediator.read(device, read, size=len(body))
        except InputError as error:
            return Answer(422, str(error))
        if receipt.busy:
            return Answer(503, "too much is waiting; send it again in a few seconds")
        if receipt.refusal is not None:
            return Answer(SPENT, receipt.refusal, receipt.accepted)
        return Answer(OK, accepted=receipt.accepted)

    async def _handed_on(self, device: Device, body: bytes, content_type: str | None) -> Answer:
        header = {"ask": "take", "stream": device.stream, "content_type": content_type}
        owner = self._gateway.place.owner(device.stream)
        try:
            return Answer(**await self._gateway.peers.ask(owner, header, body))
        except OSError:
            return Answer(503, "a part of the gateway is starting; send it again in a few seconds")

    async def answer_peer(self, header: Header, body: bytes) -> Header:
        """For another process that took the message in."""
        device = self._gateway.directory.device(header["stream"])
        if device is None:
            return asdict(Answer(404, "no device has this address; register one"))
        return asdict(await self._answered(device, body, header["content_type"]))
