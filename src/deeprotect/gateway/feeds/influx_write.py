"""InfluxDB 2's write endpoint, `/api/v2/write`, with line protocol, for programs such as Telegraf.

One token is one device. InfluxDB clients must give bucket and organisation, which are ignored here.
"""

from functools import partial
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import APIKeyHeader

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration.addresses import bearer_token
from deeprotect.gateway.streams.session import FAILING, OK, SPENT, Answer
from deeprotect.gateway.wire.requests import BODY_SECONDS, UNREAD, read_body
from deeprotect.gateway.wire.times import WritePrecision

PRECISIONS: tuple[WritePrecision, ...] = get_args(WritePrecision)
PATH = "/api/v2/write"
RETRY_SECONDS = "3"
_REFUSALS = {
    400: ("invalid", "the lines are malformed, hold no channel, or their times are far ahead"),
    401: ("unauthorized", "no device has this token"),
    413: ("request too large", "send fewer lines at once"),
    422: ("unprocessable entity", "the budget is spent: nothing leaves"),
    429: ("too many requests", "the device sends too often; see Retry-After"),
    503: ("unavailable", "the server is busy or its ledger unavailable; see Retry-After"),
}
"""InfluxDB's error codes and their conditions. Its clients keep data refused with 401, 429 and 503, split data refused
with 413, and drop the rest."""
_STATUSES = {422: 400, SPENT: 422, 408: FAILING}  # from the gateway's statuses to InfluxDB's
_KNOWN: list[dict[str, Any]] = [
    {"name": "precision", "in": "query", "schema": {"type": "string", "enum": list(PRECISIONS), "default": "ns"}},
    {"name": "org", "in": "query", "description": "not looked at", "schema": {"type": "string"}},
    {"name": "bucket", "in": "query", "description": "not looked at", "schema": {"type": "string"}},
]
_LINES = {
    "required": True,
    "description": "line protocol; may be compressed with gzip",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
_device = APIKeyHeader(name="Authorization", scheme_name="device", description="Token …", auto_error=False)
_TEXT = {"type": "string"}
_PROBLEM = {"type": "object", "required": ["code", "message"], "properties": {"code": _TEXT, "message": _TEXT}}
_REPLIES: dict[int | str, dict[str, Any]] = {
    status: {"description": why, "content": {"application/json": {"schema": _PROBLEM}}}
    for status, (_, why) in _REFUSALS.items()
}


def router_write(gateway: Gateway) -> APIRouter:
    """The endpoint as InfluxDB 2 documents it, for lines of one device."""
    router = APIRouter(tags=["devices"])
    described = {"parameters": _KNOWN, "requestBody": _LINES}

    @router.post(PATH, status_code=204, responses=_REPLIES, response_class=Response, openapi_extra=described)
    async def write(request: Request, authorization: Annotated[str | None, Depends(_device)]) -> Response:
        """Receive lines of a device, whose token is in the header `Authorization: Token …`."""
        token = bearer_token(authorization or "", "token", "bearer")
        known = partial(gateway.directory.device_of, token or "")
        device = None if token is None else await gateway.directory.newest(known)
        if device is None:
            return _problem(401, "no device has this token; register one")
        asked = request.query_params.get("precision", "ns")
        precision = next((each for each in PRECISIONS if each == asked), None)
        if precision is None:
            return _problem(400, f"precision is one of {', '.join(PRECISIONS)}")
        if (refusal := gateway.refusal()) is not None:
            return _reply(refusal)
        body = await read_body(request, gateway.settings.most_bytes)
        if body is None:
            return _reply(Answer(408, f"lines must arrive within {BODY_SECONDS:g} s; send them again"))
        return _reply(await gateway.take(device, body, precision=precision))

    return router


def _reply(answer: Answer) -> Response:
    if answer.status == OK:
        return Response(status_code=204)
    response = _problem(_STATUSES.get(answer.status, answer.status), answer.text)
    if answer.status in UNREAD:
        response.headers["connection"] = "close"
    return response


def _problem(status: int, message: str) -> Response:
    """An error in InfluxDB's format; clients resend waiting data themselves."""
    headers = {"retry-after": RETRY_SECONDS} if status in (429, FAILING) else {}
    return JSONResponse({"code": _REFUSALS[status][0], "message": message}, status_code=status, headers=headers)
