"""What the console and operators look at, from all processes: how streams are doing, and how much is done."""

import asyncio

from pydantic import TypeAdapter

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.peers import Header
from deeprotect.gateway.operation.metrics import joined
from deeprotect.gateway.streams.status import StreamStatus

STATUS, METRICS = "status", "metrics"
_STATUSES = TypeAdapter(list[StreamStatus])


async def statuses(gateway: Gateway) -> list[StreamStatus]:
    """Of all streams; where a process does not answer, as if its streams had not been heard from."""
    found = {each.stream: each for each in gateway.mediator.status()}
    for index, answer in (await _answers(gateway, STATUS)).items():
        theirs = _STATUSES.validate_python(answer["streams"])
        found |= {each.stream: each for each in theirs if gateway.place.owner(each.stream) == index}
    return list(found.values())


async def metrics(gateway: Gateway) -> bytes:
    """Of all processes together; one that does not answer is left out."""
    own = gateway.metrics.text()
    others = [answer["text"] for answer in (await _answers(gateway, METRICS)).values()]
    return joined([own.decode(), *others]) if others else own


async def _answers(gateway: Gateway, question: str) -> dict[int, Header]:
    """What the other processes say, those that answer."""

    async def asked(index: int) -> Header | None:
        try:
            return await gateway.peers.ask(index, {"ask": question})
        except OSError:
            return None

    others = gateway.peers.others()
    answers = zip(others, await asyncio.gather(*map(asked, others)), strict=True)
    return {index: answer for index, answer in answers if answer is not None}


def own_metrics(gateway: Gateway) -> Header:
    """For another process that asks."""
    return {"text": gateway.metrics.text().decode()}


def own_statuses(gateway: Gateway) -> Header:
    """For another process that asks."""
    return {"streams": _STATUSES.dump_python(gateway.mediator.status(), mode="json")}
