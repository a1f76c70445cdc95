"""The door of the console: every request is for this host, from the admin, and a form from a page of ours."""

import hmac
from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from deeprotect.errors import DeeprotectError
from deeprotect.gateway.console.desk import Desk
from deeprotect.gateway.console.rendering import page, with_headers
from deeprotect.gateway.console.requests import RequestRefusedError, check_host, check_origin, read_form
from deeprotect.gateway.console.sessions import LONGEST, Session, form_token
from deeprotect.gateway.wire.bodies import UNREAD

Form = dict[str, str]
Endpoint = Callable[[Request], Awaitable[Response]]
Open = Callable[[Desk, Request], Awaitable[Response]]
OpenForm = Callable[[Desk, Request, Form], Awaitable[Response]]
Page = Callable[[Desk, Request, Session], Awaitable[Response]]
Action = Callable[[Desk, Request, Session, Form], Awaitable[Response]]
SIGN_IN = "/console/sign-in"


def to_anyone(desk: Desk, handler: Open) -> Endpoint:
    """For what must be seen before one signs in."""

    async def endpoint(request: Request) -> Response:
        return await handler(desk, request)

    return _answered(desk, endpoint)


def form_of_anyone(desk: Desk, handler: OpenForm) -> Endpoint:
    """The sign-in form: its token belongs to a cookie that came with it."""

    async def endpoint(request: Request) -> Response:
        check_origin(request)
        form = await read_form(request)
        _check_token(form, request.cookies.get(cookie_name(request, "form"), ""))
        return await handler(desk, request, form)

    return _answered(desk, endpoint)


def to_admin(desk: Desk, handler: Page) -> Endpoint:
    """Everyone else is shown the way to the sign-in page and nothing more."""

    async def endpoint(request: Request) -> Response:
        session = await session_of(desk, request)
        return RedirectResponse(SIGN_IN, 303) if session is None else await handler(desk, request, session)

    return _answered(desk, endpoint)


def form_of_admin(desk: Desk, handler: Action) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        check_origin(request)
        session = await session_of(desk, request)
        if session is None:
            return RedirectResponse(SIGN_IN, 303)
        form = await read_form(request)
        _check_token(form, session.cookie)
        return await handler(desk, request, session, form)

    return _answered(desk, endpoint)


async def session_of(desk: Desk, request: Request) -> Session | None:
    cookie = request.cookies.get(cookie_name(request, "session"))
    return None if not cookie else await desk.apart(lambda: desk.sessions.find(cookie))


def cookie_name(request: Request, what: str) -> str:
    """Under TLS with a prefix that keeps other hosts of the same site from setting it."""
    return f"__Host-deeprotect-{what}" if request.url.scheme == "https" else f"deeprotect-{what}"


def set_cookie(response: Response, request: Request, what: str, *, value: str) -> Response:
    response.set_cookie(
        cookie_name(request, what),
        value,
        max_age=int(LONGEST.total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _check_token(form: Form, cookie: str) -> None:
    if not cookie or not hmac.compare_digest(form.get("token", "").encode(), form_token(cookie).encode()):
        raise RequestRefusedError(
            403, "this form is out of date, or from another site; go back, reload the page, try again"
        )


def _answered(desk: Desk, endpoint: Endpoint) -> Endpoint:
    """Refusals as pages of one line; headers on everything."""

    async def answer(request: Request) -> Response:
        try:
            check_host(request, desk.names)
            response = await endpoint(request)
        except RequestRefusedError as refused:
            response = page("refused.html", status=refused.status, line=refused.line)
            if refused.status in UNREAD:
                response.headers["Connection"] = "close"
            if refused.retry_seconds is not None:
                response.headers["Retry-After"] = str(refused.retry_seconds)
        except DeeprotectError as error:
            response = page("refused.html", status=422 if error.exit_code == 2 else 503, line=str(error))
        return with_headers(response)

    return answer
