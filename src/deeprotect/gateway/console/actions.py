"""The admin's actions: register, rotate and revoke, people's limits and links, and the view of raw samples."""

import asyncio
from datetime import timedelta
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

from fastapi import HTTPException, Request, Response
from fastapi.responses import RedirectResponse

from deeprotect.errors import InputError
from deeprotect.gateway.console.guard import Admin, AdminForm, Form, TheDesk
from deeprotect.gateway.console.pages import about_person, registering
from deeprotect.gateway.console.rendering import page
from deeprotect.gateway.console.sessions import AdminSession
from deeprotect.gateway.wire.requests import is_local
from deeprotect.release.ledger.limits import SPANS, exact
from deeprotect.release.ledger.people import set_limits


async def register_device(request: Request, desk: TheDesk, session: Admin, form: AdminForm) -> Response:
    """Register a device and show its address, once."""
    stream, person = _text(form, "stream"), _text(form, "person")
    sensors: dict[str, Any] = {"platform": "ios"} if form.get("platform") == "ios" else {}
    sensors |= {"standardised": True} if form.get("standardised") else {}
    registry = desk.gateway.registry
    try:
        token = await desk.change(lambda: registry.add_device(stream, person=person or None, sensors=sensors))
    except InputError as mistake:
        return registering(request, desk, session, status=422, mistake=str(mistake), which="device", typed=form)
    return _device_once(request, session, stream, token)


async def register_app(request: Request, desk: TheDesk, session: Admin, form: AdminForm) -> Response:
    """Register an app and show its token, once."""
    name, stream, bundle = (_text(form, key) for key in ("name", "stream", "bundle"))
    registry, push = desk.gateway.registry, _text(form, "push") or None
    try:
        desk.gateway.bundles.get(bundle)
        token = await desk.change(lambda: registry.add_app(name, stream=stream, bundle=bundle, push=push))
    except InputError as mistake:
        return registering(request, desk, session, status=422, mistake=str(mistake), which="app", typed=form)
    return _app_once(request, session, stream, name, token)


async def rotate(request: Request, desk: TheDesk, session: Admin, form: AdminForm) -> Response:
    """Create a new address or token and show it once; the old one stays valid for the chosen minutes."""
    stream, app, minutes = _text(form, "stream"), _text(form, "app") or None, _text(form, "minutes")
    if not (minutes.isascii() and minutes.isdigit() and len(minutes) < 6):
        raise HTTPException(422, "an overlap is a whole number of minutes; choose one of those listed")
    overlap = timedelta(minutes=int(minutes))
    token = await desk.change(lambda: desk.gateway.registry.rotate(stream, app=app, overlap=overlap))
    if app is None:
        return _device_once(request, session, stream, token)
    return _app_once(request, session, stream, app, token)


async def revoke(desk: TheDesk, form: AdminForm) -> Response:
    """Revoke an app, or a device and all its apps."""
    stream, app, registry = _text(form, "stream"), _text(form, "app"), desk.gateway.registry
    if app:
        await desk.change(lambda: registry.revoke_app(app, stream=stream))
        return RedirectResponse(f"/console/stream?{urlencode({'stream': stream})}", 303)
    await desk.change(lambda: registry.revoke_device(stream))
    return RedirectResponse("/", 303)


async def set_person_limits(request: Request, desk: TheDesk, session: Admin, form: AdminForm) -> Response:
    """Set a person's limits, which cover all releases about them; an empty field means no limit."""
    person = _text(form, "person")
    try:
        stated = {name: _limit(_text(form, name)) for name in SPANS}
    except (ValueError, OverflowError):
        mistake = "a limit is a number above 0, such as 40; leave it empty for none"
        return await about_person(request, desk, session, person, status=422, mistake=mistake)
    await asyncio.to_thread(set_limits, desk.gateway.database, person, stated)
    return _to_person(person)


async def make_link(request: Request, desk: TheDesk, session: Admin, form: AdminForm) -> Response:
    """Create the address of a person's own page and show it once; it replaces the previous one."""
    person = _text(form, "person")
    token = await desk.change(lambda: desk.gateway.registry.new_link("person", person))
    return _once(request, session, f"Page of “{person}”", [("Give this address to them alone", f"/me/{token}")])


async def revoke_link(desk: TheDesk, form: AdminForm) -> Response:
    person = _text(form, "person")
    await desk.change(lambda: desk.gateway.registry.revoke_link("person", person))
    return _to_person(person)


async def resume(desk: TheDesk, form: AdminForm) -> Response:
    """Resume draws for a person who stopped and asked for it."""
    person = _text(form, "person")
    await desk.change(lambda: desk.gateway.registry.resume(person, by_operator=True))
    return _to_person(person)


async def confirm_clock(desk: TheDesk, form: AdminForm) -> Response:
    """Confirm that the clock is right although it jumped."""
    del form
    await asyncio.to_thread(desk.gateway.registry.confirm_clock)
    return RedirectResponse("/", 303)


def show_raw(request: Request, desk: TheDesk, session: Admin, form: AdminForm) -> Response:
    """Show raw samples only to a browser on this machine; any signed-in browser may hide them."""
    shown = form.get("show") == "on"
    if shown and not is_local(request):
        raise HTTPException(403, "raw samples are shown only on the gateway's own machine; open the console there")
    desk.sessions.show_raw(session, int(shown))
    back = urlencode({"stream": form.get("stream", ""), "app": form.get("app", "")})
    return RedirectResponse(f"/console/stream?{back}", 303)


def _text(form: Form, name: str) -> str:
    return form.get(name, "").strip()


def _limit(text: str) -> Fraction | None:
    if not text:
        return None
    if (epsilon := exact(float(text))) <= 0:
        raise ValueError
    return epsilon


def _to_person(person: str) -> Response:
    return RedirectResponse(f"/console/person?{urlencode({'person': person})}", 303)


def _device_once(request: Request, session: AdminSession, stream: str, token: str) -> Response:
    shown = [("Sensors send to", f"/in/{token}"), ("Or open on the phone itself", f"/phone/{token}")]
    return _once(request, session, f"Device of stream “{stream}”", shown)


def _app_once(request: Request, session: AdminSession, stream: str, name: str, token: str) -> Response:
    here = f"{request.url.scheme}://{request.headers['host']}"
    shown = [("Token", token), ("Fetch released data with", f"curl -H 'Authorization: Bearer {token}' {here}/out")]
    return _once(request, session, f"App “{name}” for stream “{stream}”", shown)


def _once(request: Request, session: AdminSession, title: str, shown: list[tuple[str, str]]) -> Response:
    """A page that shows secrets once; paths are shown as full addresses."""
    here = f"{request.url.scheme}://{request.headers['host']}"
    whole = [(what, here + secret if secret.startswith("/") else secret) for what, secret in shown]
    return page(request, "token.html", session=session, title=title, shown=whole)
