"""Where apps receive: released windows as they are made, by HTTP or WebSocket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request, Response, WebSocket
from fastapi.responses import PlainTextResponse, StreamingResponse
from starlette.status import WS_1008_POLICY_VIOLATION

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.mediation.outlet import outlet
from deeprotect.gateway.openapi import LINES_TYPE, RELEASED, said
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.registration.tokens import bearer_token
from deeprotect.gateway.wire.formats import ARROW_TYPE, FORMS, Form

UNKNOWN = "no app has this token; register one"
REPLIES: dict[int | str, dict[str, Any]] = {200: RELEASED, 404: said(UNKNOWN), 422: said("no such form")}


def router_out(gateway: Gateway) -> APIRouter:
    """`/out` with the token in a header, or `/out/{token}` where no header can be set."""
    router = APIRouter(tags=["apps"])

    @router.get("/out", responses=REPLIES, response_class=Response)
    @router.get("/out/{token}", responses=REPLIES, response_class=Response)
    async def receive(request: Request, token: str = "", form: str = "") -> Response:
        """JSON lines, or with `form=arrow` (or by Accept) Arrow streams one after the other."""
        app, chosen = gateway.directory.app_of(_token(request, token)), _form(request, form)
        if app is None:
            return PlainTextResponse(UNKNOWN, status_code=404)
        if chosen is None:
            return PlainTextResponse(f"form is one of {', '.join(FORMS)}", status_code=422)
        media = ARROW_TYPE if chosen == "arrow" else LINES_TYPE
        return StreamingResponse(_lines(gateway, app, chosen), media_type=media, headers={"cache-control": "no-store"})

    @router.websocket("/out")
    @router.websocket("/out/{token}")
    async def stream(socket: WebSocket, token: str = "", form: str = "") -> None:
        """One message for each window."""
        await socket.accept()
        app, chosen = gateway.directory.app_of(_token(socket, token)), _form(socket, form)
        if app is None or chosen is None:
            await socket.close(
                WS_1008_POLICY_VIOLATION, UNKNOWN if app is None else f"form is one of {', '.join(FORMS)}"
            )
            return
        await _hand_on(socket, gateway, app, chosen)

    return router


async def _lines(gateway: Gateway, app: App, form: Form) -> AsyncIterator[bytes]:
    async with aclosing(outlet(gateway, app, form)) as parts:
        async for part in parts:
            yield part if form == "arrow" else part + b"\n"


async def _hand_on(socket: WebSocket, gateway: Gateway, app: App, form: Form) -> None:
    """Until there is no more, or nobody is there any more: a socket that was closed keeps nothing in memory."""
    tasks = [asyncio.create_task(each) for each in (_send_all(socket, gateway, app, form=form), _gone(socket))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_all(socket: WebSocket, gateway: Gateway, app: App, *, form: Form) -> None:
    async with aclosing(outlet(gateway, app, form)) as parts:
        async for part in parts:
            await (socket.send_bytes(part) if form == "arrow" else socket.send_text(part.decode()))
    await socket.close(WS_1008_POLICY_VIOLATION, "revoked, or the gateway stops")


async def _gone(socket: WebSocket) -> None:
    """Whatever an app sends here is not looked at."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        continue


def _token(connection: Request | WebSocket, in_address: str) -> str:
    token = bearer_token(connection.headers.get("authorization", ""))
    return in_address if token is None else token


def _form(connection: Request | WebSocket, asked: str) -> Form | None:
    if not asked:
        return "arrow" if ARROW_TYPE in connection.headers.get("accept", "") else "rows"
    return next((form for form in FORMS if form == asked), None)
