"""Where devices send to: one unguessable address each, by HTTP or WebSocket."""

import json
from typing import Any

from fastapi import APIRouter, Request, Response, WebSocket
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.status import WS_1008_POLICY_VIOLATION
from starlette.websockets import WebSocketDisconnect

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.intake import OK, Answer, Intake
from deeprotect.gateway.openapi import ACCEPTED, MESSAGE, said
from deeprotect.gateway.wire.bodies import BODY_SECONDS, UNREAD, read_body
from deeprotect.gateway.wire.formats import ARROW_TYPE

UNKNOWN = "no device has this address; register one"
REPLIES: dict[int | str, dict[str, Any]] = {
    200: ACCEPTED,
    404: said(UNKNOWN),
    408: said("a message that does not come to its end"),
    413: said("a message that is too large"),
    422: said("a message that is not what it should be"),
    429: said("messages that come too often"),
    499: said("the budget is spent; the text is for the person"),
    503: said("too much is waiting"),
}


def router_in(gateway: Gateway, intake: Intake) -> APIRouter:
    """`/in/{token}`."""
    router = APIRouter(tags=["devices"])

    @router.post("/in/{token}", responses=REPLIES, response_class=Response, openapi_extra=MESSAGE)
    async def send(token: str, request: Request) -> Response:
        """A message: Sensor Logger's JSON, columns as JSON, or an Arrow stream."""
        device = gateway.directory.device_of(token)
        if device is None:
            return PlainTextResponse(UNKNOWN, status_code=404)
        body = await read_body(request, gateway.settings.most_bytes)
        if body is None:
            return _reply(Answer(408, f"a message must arrive within {BODY_SECONDS:g} s; send it again"))
        return _reply(await intake.take(device, body, request.headers.get("content-type")))

    @router.websocket("/in/{token}")
    async def stream(socket: WebSocket, token: str) -> None:
        """The same messages one after the other, text for JSON and bytes for Arrow; each is answered."""
        await socket.accept()
        try:
            while gateway.directory.device_of(token) is not None:
                body, content_type = await _message(socket)
                device = gateway.directory.device_of(token)
                if device is None:  # it was revoked while nothing came
                    break
                answer = await intake.take(device, body, content_type)
                await socket.send_text(json.dumps({"status": answer.status, **_facts(answer)}, ensure_ascii=False))
            await socket.close(WS_1008_POLICY_VIOLATION, UNKNOWN)
        except WebSocketDisconnect:
            return

    return router


async def _message(socket: WebSocket) -> tuple[bytes, str | None]:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    if message.get("bytes") is not None:
        return message["bytes"], ARROW_TYPE
    return message["text"].encode("utf-8", "surrogatepass"), None


def _facts(answer: Answer) -> dict[str, object]:
    return {"accepted": answer.accepted} if answer.status == OK else {"error": answer.text}


def _reply(answer: Answer) -> Response:
    """Plain text where something is wrong: it is shown to people as it is."""
    if answer.status == OK:
        return JSONResponse({"accepted": answer.accepted})
    headers = {"connection": "close"} if answer.status in UNREAD else None
    return PlainTextResponse(answer.text, status_code=answer.status, headers=headers)
