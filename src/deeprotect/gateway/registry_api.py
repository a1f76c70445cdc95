"""Registration over HTTP, in JSON and with the admin's token: devices, apps and people, many at once."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from deeprotect.errors import DeeprotectError, InputError
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration.addresses import shown_address
from deeprotect.gateway.registration.bulk import (
    Registered,
    Registration,
    Revocation,
    Revoked,
    read_registration,
    read_revocation,
    register,
    revoke,
)
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.gateway.wire.requests import BODY_SECONDS, UNREAD, read_body

MOST_BYTES = 16 << 20
Asked = TypeVar("Asked")
_admin = HTTPBearer(auto_error=False, scheme_name="admin", description="the admin's token")
TheAdmin = Annotated[HTTPAuthorizationCredentials | None, Depends(_admin)]
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
_REFUSALS = {
    401: "not the admin's token",
    408: "the request did not arrive in time",
    409: "there is a conflict; nothing was changed",
    413: "the request is too large; send several",
    422: "the request is malformed; nothing was changed",
    503: "the database is unavailable; nothing was changed",
}
_REPLIES: dict[int | str, dict[str, Any]] = {
    status: {"description": why, "content": {"application/json": {"schema": _ERROR}}}
    for status, why in _REFUSALS.items()
}
_LISTED = {
    "description": "registered entries, in order, without tokens",
    "content": {"application/json": {"schema": {"type": "object"}}},
}


def router_registry(gateway: Gateway) -> APIRouter:
    """`/registry`, and `/registry/revoke`."""
    router = APIRouter(tags=["registration"])

    @router.get("/registry", responses={200: _LISTED, 401: _REPLIES[401], 503: _REPLIES[503]}, response_class=Response)
    async def listed(admin: TheAdmin) -> Response:
        """List devices with their apps."""
        if (refusal := await _refusal(gateway, admin)) is not None:
            return refusal
        await gateway.refresh()
        return _json(_listed(gateway))

    @router.post("/registry", responses=_replies(Registered), response_class=Response, openapi_extra=_of(Registration))
    async def add(request: Request, admin: TheAdmin) -> Response:
        """Register devices, apps and people; entries that are already registered in the same way do not change."""
        return await _changed(gateway, request, admin, read_registration, register)

    @router.post(
        "/registry/revoke", responses=_replies(Revoked), response_class=Response, openapi_extra=_of(Revocation)
    )
    async def remove(request: Request, admin: TheAdmin) -> Response:
        """Revoke devices with their apps, apps, and addresses of people's pages; unknown entries are ignored."""
        return await _changed(gateway, request, admin, read_revocation, revoke)

    return router


async def _refusal(gateway: Gateway, admin: HTTPAuthorizationCredentials | None) -> Response | None:
    """Check the request before its body is read."""
    try:
        if admin is not None and await asyncio.to_thread(gateway.registry.is_admin, admin.credentials):
            return None
    except DeeprotectError as error:
        return _error(503, str(error))
    return _error(401, "only the admin's token opens this; `deeprotect gateway token admin` makes a new one")


async def _changed(
    gateway: Gateway,
    request: Request,
    admin: HTTPAuthorizationCredentials | None,
    read: Callable[[bytes], Asked],
    change: Callable[[Registry, Asked], BaseModel],
) -> Response:
    """Apply a change in a thread, so that streams continue."""
    if (refusal := await _refusal(gateway, admin)) is not None:
        return refusal
    body = await read_body(request, MOST_BYTES)
    if body is None:
        return _error(408, f"a request must arrive within {BODY_SECONDS:g} s; send it again")
    if len(body) > MOST_BYTES:
        return _error(413, f"a request holds at most {MOST_BYTES} bytes; send several")
    try:
        asked = await asyncio.to_thread(read, body)
    except InputError as mistake:
        return _error(422, str(mistake))
    try:
        found = await asyncio.to_thread(change, gateway.registry, asked)
        await gateway.refresh()
    except InputError as mistake:
        return _error(409, str(mistake))
    except DeeprotectError as error:
        return _error(503, str(error))
    return await asyncio.to_thread(_json, found.model_dump())


def _listed(gateway: Gateway) -> dict[str, Any]:
    directory = gateway.directory
    return {
        "devices": [
            {
                "stream": device.stream,
                "person": device.person,
                "sensors": device.sensors,
                "created": device.created.isoformat(),
                "apps": [
                    {
                        "name": app.name,
                        "bundle": app.bundle,
                        "push": None if app.push is None else shown_address(app.push),
                        "form": app.form,
                    }
                    for app in directory.registered(device.stream)
                ],
            }
            for device in directory.devices()
        ]
    }


def _json(found: dict[str, Any]) -> Response:
    """A JSON response that must not be cached, because it may contain tokens."""
    return JSONResponse(found, headers={"cache-control": "no-store"})


def _error(status: int, line: str) -> Response:
    headers = {"connection": "close"} if status in UNREAD else {}
    headers |= {"www-authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse({"error": line}, status_code=status, headers=headers)


def _replies(kind: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": kind, "description": "done"}} | _REPLIES


def _of(kind: type[BaseModel]) -> dict[str, Any]:
    """The body of a request, for OpenAPI, with referenced schemas inlined."""
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(found: Any) -> Any:
        if isinstance(found, dict):
            name = found.get("$ref", "").removeprefix("#/$defs/")
            return whole(parts[name]) if name else {key: whole(value) for key, value in found.items()}
        return [whole(each) for each in found] if isinstance(found, list) else found

    return {"requestBody": {"required": True, "content": {"application/json": {"schema": whole(schema)}}}}
