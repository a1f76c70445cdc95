"""HTTP and WebSocket routes for devices, apps and operators, with their OpenAPI descriptions."""

import asyncio
import json
import time
import tomllib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response, WebSocket
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.status import WS_1008_POLICY_VIOLATION, WS_1012_SERVICE_RESTART
from starlette.websockets import WebSocketDisconnect

from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration.addresses import bearer_token
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.streams.session import FAILING, OK, Answer
from deeprotect.gateway.wire.formats import ARROW_TYPE, FORMS, JSON_TYPE, LINES_TYPE, Form, content_type_of, write
from deeprotect.gateway.wire.requests import BODY_SECONDS, UNREAD, is_local, read_body

Replies = dict[int | str, dict[str, Any]]
_DESCRIBED = tomllib.loads((Path(__file__).parent / "openapi.toml").read_text(encoding="utf-8"))
NO_DEVICE, NO_APP = "no device has this address; register one", "no app has this token; register one"
RETRY_SECONDS = "3"
NO_FORM = f"form is one of {', '.join(FORMS)}"


def _replies(route: str) -> Replies:
    """All responses, each a line of text."""
    text = {"content": {"text/plain": {"schema": {"type": "string"}}}}
    return {int(status): {"description": why} | text for status, why in _DESCRIBED[route].items()}


_ACCEPTED = {"description": "accepted", "content": {JSON_TYPE: {"schema": _DESCRIBED["accepted"]}}}
_MESSAGE = {"required": True, "content": {JSON_TYPE: {"schema": {"anyOf": _DESCRIBED["messages"]}}}}
_KINDS = {kind: {"schema": {"type": "string"}} for kind in (LINES_TYPE, ARROW_TYPE)}
_RELEASED = {"description": "released windows, as they are made", "content": _KINDS}
REPLIES_IN: Replies = {200: _ACCEPTED, **_replies("in")}
REPLIES_OUT: Replies = {200: _RELEASED, **_replies("out")}


def router_in(gateway: Gateway) -> APIRouter:
    """Routes for devices: `/in/{token}`, one unguessable address each."""
    router = APIRouter(tags=["devices"])

    @router.post("/in/{token}", responses=REPLIES_IN, response_class=Response, openapi_extra={"requestBody": _MESSAGE})
    async def send(token: str, request: Request) -> Response:
        """Receive a message: Sensor Logger's JSON, another known form of JSON, or line protocol."""
        device = await gateway.directory.newest(partial(gateway.directory.device_of, token))
        if device is None:
            return PlainTextResponse(NO_DEVICE, status_code=404)
        if (refusal := gateway.refusal()) is not None:
            return _reply(refusal)
        body = await read_body(request, gateway.settings.most_bytes)
        if body is None:
            return _reply(Answer(408, f"a message must arrive within {BODY_SECONDS:g} s; send it again"))
        return _reply(await gateway.take(device, body))

    @router.websocket("/in/{token}")
    async def stream(socket: WebSocket, token: str) -> None:
        """Receive a sequence of such messages, as text or bytes; each is answered."""
        await socket.accept()
        since = time.monotonic()
        await gateway.directory.newest(partial(gateway.directory.device_of, token))
        try:
            while gateway.directory.device_of(token) is not None:
                body = await _message(socket)
                device = gateway.directory.device_of(token)
                if device is None:  # it was revoked meanwhile
                    break
                answer = gateway.refusal() or await gateway.take(device, body)
                await socket.send_text(json.dumps({"status": answer.status, **_facts(answer)}, ensure_ascii=False))
                if not gateway.fleet.has(device.stream, since):
                    await socket.close(WS_1012_SERVICE_RESTART, "the stream moved to another gateway; connect again")
                    return
            await socket.close(WS_1008_POLICY_VIOLATION, NO_DEVICE)
        except WebSocketDisconnect:
            return

    return router


async def _message(socket: WebSocket) -> bytes:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    body: bytes | None = message.get("bytes")
    return message["text"].encode("utf-8", "surrogatepass") if body is None else body


def _facts(answer: Answer) -> dict[str, object]:
    """The number of accepted readings, and what is missing before a release; or the error."""
    if answer.status != OK:
        return {"error": answer.text}
    return {"accepted": answer.accepted} | ({"waits": answer.waits} if answer.waits else {})


def _reply(answer: Answer) -> Response:
    """Plain text for errors, which people see as they are."""
    if answer.status == OK:
        return JSONResponse(_facts(answer))
    headers = {"connection": "close"} if answer.status in UNREAD else {}
    headers |= {"retry-after": RETRY_SECONDS} if answer.status == FAILING else {}
    return PlainTextResponse(answer.text, status_code=answer.status, headers=headers)


def router_out(gateway: Gateway) -> APIRouter:
    """Routes for apps: `/out` with the token in a header, or `/out/{token}` if no header can be set."""
    router = APIRouter(tags=["apps"])

    @router.get("/out", responses=REPLIES_OUT, response_class=Response)
    @router.get("/out/{token}", responses=REPLIES_OUT, response_class=Response)
    async def receive(request: Request, token: str = "", form: str = "") -> Response:
        """Send JSON lines, or with `form=arrow` (or by Accept) a sequence of Arrow streams."""
        app, chosen, secret = await asked(request, token, form)
        if app is None:
            return PlainTextResponse(NO_APP, status_code=404)
        if chosen is None:
            return PlainTextResponse(NO_FORM, status_code=422)
        media = LINES_TYPE if content_type_of(chosen) == JSON_TYPE else content_type_of(chosen)
        lines = _parts(gateway, app, secret, form=chosen, end=b"" if chosen == "arrow" else b"\n")
        return StreamingResponse(lines, media_type=media, headers={"cache-control": "no-store"})

    @router.websocket("/out")
    @router.websocket("/out/{token}")
    async def stream(socket: WebSocket, token: str = "", form: str = "") -> None:
        """Send one message for each window."""
        await socket.accept()
        app, chosen, secret = await asked(socket, token, form)
        if app is None or chosen is None:
            await socket.close(WS_1008_POLICY_VIOLATION, NO_APP if app is None else NO_FORM)
            return
        await _hand_on(socket, _parts(gateway, app, secret, form=chosen), form=chosen)

    async def asked(connection: Request | WebSocket, in_address: str, form: str) -> tuple[App | None, Form | None, str]:
        """The requesting app, the form and the token."""
        in_header = bearer_token(connection.headers.get("authorization", ""))
        token = in_address if in_header is None else in_header
        app = await gateway.directory.newest(partial(gateway.directory.app_of, token))
        return app, _form(connection, form, app), token

    return router


async def _parts(gateway: Gateway, app: App, token: str, *, form: Form, end: bytes = b"") -> AsyncGenerator[bytes]:
    """The app's messages, as long as its token is valid."""
    with gateway.mediator.subscribe(app) as windows:
        async for window in windows:
            if gateway.directory.app_of(token) is None:  # it was rotated and has expired
                return
            yield write(window, form) + end


async def _hand_on(socket: WebSocket, parts: AsyncGenerator[bytes], *, form: Form) -> None:
    """Send until there is no more, or the socket is closed; a closed socket keeps nothing in memory."""
    tasks = [asyncio.create_task(each) for each in (_send_all(socket, parts, form=form), _gone(socket))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_all(socket: WebSocket, parts: AsyncGenerator[bytes], *, form: Form) -> None:
    async with aclosing(parts):
        async for part in parts:
            await (socket.send_bytes(part) if form == "arrow" else socket.send_text(part.decode()))
    await socket.close(WS_1012_SERVICE_RESTART, "revoked, or moved to another gateway; connect again")


async def _gone(socket: WebSocket) -> None:
    """Wait for the socket to close; messages from apps are ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        continue


def _form(connection: Request | WebSocket, asked: str, app: App | None) -> Form | None:
    """The form requested now, or else the registered one."""
    if not asked:
        usual = app.form if app else None
        return "arrow" if ARROW_TYPE in connection.headers.get("accept", "") else usual or "rows"
    return next((form for form in FORMS if form == asked), None)


def router_operator(gateway: Gateway) -> APIRouter:
    """Routes for operators: `/healthz`, `/readyz`, and `/metrics` for this machine, the admin, and metrics tokens."""
    router = APIRouter(tags=["operators"])

    @router.get("/healthz")
    def alive() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", responses={503: {"description": "not ready, with the reason"}})
    async def ready() -> Response:
        """Report whether draws can be paid for, messages come in, and the broker, if any, is connected."""
        if (reason := gateway.health.trouble) is not None:
            return JSONResponse({"status": "not ready", "reason": reason}, status_code=503)
        return JSONResponse({"status": "ready"})

    @router.get("/metrics", responses=_replies("metrics"), response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Metrics of this gateway; others on the same ledger have their own."""
        token = bearer_token(request.headers.get("authorization", ""))
        if not is_local(request) and not await asyncio.to_thread(may_read, token):
            return PlainTextResponse("not found", status_code=404)
        return PlainTextResponse(gateway.metrics.text(), media_type="text/plain; version=0.0.4")

    def may_read(token: str | None) -> bool:
        registry = gateway.registry
        return token is not None and (registry.linked("metrics", token) is not None or registry.is_admin(token))

    return router
