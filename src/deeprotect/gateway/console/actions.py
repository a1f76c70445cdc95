"""What the admin does: register and revoke, and switch the view of raw samples."""

from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from deeprotect.errors import InputError
from deeprotect.gateway.console import rendering
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.guard import Form
from deeprotect.gateway.console.pages import frame, registering
from deeprotect.gateway.console.requests import RequestRefusedError
from deeprotect.gateway.console.sessions import Session
from deeprotect.gateway.wire.hosts import is_local


async def register_device(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    """Its address, on this one page."""
    stream, person = form.get("stream", "").strip(), form.get("person", "").strip()
    sensors: dict[str, Any] = {"platform": "ios"} if form.get("platform") == "ios" else {}
    sensors |= {"standardised": True} if form.get("standardised") else {}
    try:
        token = await desk.apart(
            lambda: desk.gateway.registry.add_device(stream, person=person or None, sensors=sensors)
        )
    except InputError as mistake:
        return await registering(desk, session, status=422, mistake=str(mistake), which="device", typed=form)
    here = f"{request.url.scheme}://{request.headers['host']}"
    shown = [("Sensors send to", f"{here}/in/{token}"), ("Or open on the phone itself", f"{here}/phone/{token}")]
    return _once(desk, session, f"Device of stream “{stream}”", shown)


async def register_app(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    """Its token, on this one page."""
    name, stream, bundle = (form.get(key, "").strip() for key in ("name", "stream", "bundle"))
    gateway, push = desk.gateway, form.get("push", "").strip() or None
    try:
        token = await desk.apart(
            lambda: gateway.registry.add_app(
                name, stream=stream, bundle=bundle, push=push, served=gateway.bundles.names()
            )
        )
    except InputError as mistake:
        return await registering(desk, session, status=422, mistake=str(mistake), which="app", typed=form)
    here = f"{request.url.scheme}://{request.headers['host']}"
    shown = [("Token", token), ("Fetch released data with", f"curl -H 'Authorization: Bearer {token}' {here}/out")]
    return _once(desk, session, f"App “{name}” for stream “{stream}”", shown)


def _once(desk: Desk, session: Session, title: str, shown: list[tuple[str, str]]) -> Response:
    return rendering.page("token.html", **frame(desk, session, "register"), title=title, shown=shown)


async def revoke_device(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    await desk.apart(lambda: desk.gateway.registry.revoke_device(form.get("stream", "")))
    return RedirectResponse("/console/register", 303)


async def revoke_app(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    name, stream = form.get("name", ""), form.get("stream", "")
    await desk.apart(lambda: desk.gateway.registry.revoke_app(name, stream=stream))
    return RedirectResponse("/console/register", 303)


async def show_raw(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    """On only by who sits at this machine; off by anyone who is signed in."""
    shown = form.get("show") == "on"
    if shown and not is_local(request):
        raise RequestRefusedError(
            403, "raw samples are shown on the machine of the gateway only; open the console there"
        )
    if shown and desk.gateway.place.count > 1:
        raise RequestRefusedError(
            403, "raw samples stay in the process that reads them; start the gateway with one process"
        )
    await desk.apart(lambda: desk.sessions.show_raw(session, int(shown)))
    back = urlencode({"stream": form.get("stream", ""), "app": form.get("app", "")})
    return RedirectResponse(f"/console/stream?{back}", 303)
