"""Signing in with the admin's token, and out."""

import math

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.guard import Form, cookie_name, session_of, set_cookie
from deeprotect.gateway.console.rendering import page
from deeprotect.gateway.console.requests import RequestRefusedError
from deeprotect.gateway.console.sessions import Session, form_token
from deeprotect.gateway.registration.tokens import new_token


async def sign_in_page(desk: Desk, request: Request) -> Response:
    if await session_of(desk, request) is not None:
        return RedirectResponse("/", 303)
    return _form(request)


async def sign_in(desk: Desk, request: Request, form: Form) -> Response:
    """A wrong token is counted; who is wrong too often waits, whatever they try then."""
    client = request.client.host if request.client else ""
    wait = desk.attempts.wait(client)
    if wait > 0:
        seconds = math.ceil(wait)
        raise RequestRefusedError(429, f"too many attempts; try again in {seconds} s", retry_seconds=seconds)
    given = form.get("admin", "").strip()
    cookie = await desk.apart(lambda: desk.sessions.begin(given))
    if cookie is None:
        desk.attempts.failed(client)
        return _form(request, status=403, mistake="That is not the admin's token.")
    desk.attempts.succeeded(client)
    return set_cookie(RedirectResponse("/", 303), request, "session", value=cookie)


async def sign_out(desk: Desk, request: Request, session: Session, form: Form) -> Response:
    await desk.apart(lambda: desk.sessions.end(session))
    response = RedirectResponse("/console/sign-in", 303)
    response.delete_cookie(cookie_name(request, "session"), path="/")
    return response


def _form(request: Request, *, status: int = 200, mistake: str | None = None) -> Response:
    cookie = request.cookies.get(cookie_name(request, "form")) or new_token()
    response = page("sign_in.html", status=status, token=form_token(cookie), mistake=mistake)
    return set_cookie(response, request, "form", value=cookie)
