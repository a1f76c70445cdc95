"""Access to the console: sign-in, and checks that each request is for this host, from the admin, with a valid form."""

import asyncio
import hmac
import math
from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException as StarletteHTTPException

from deeprotect.bundle.bundle import Bundle
from deeprotect.errors import BundleError, DeeprotectError
from deeprotect.gateway.console.rendering import page, with_headers
from deeprotect.gateway.console.sessions import LONGEST, AdminSession, Attempts, Sessions, form_token
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration.addresses import new_token, shard_of
from deeprotect.gateway.registration.device_registry import App
from deeprotect.gateway.wire.requests import BODY_SECONDS, UNREAD, address_of, host_of, read_body

LARGEST_FORM = 1 << 16
SIGN_IN = "/console/sign-in"
Form = dict[str, str]
Found = TypeVar("Found")


class Desk:
    """The context of every page: the gateway, sessions, and attempts to sign in."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.sessions, self.attempts = gateway, Sessions(gateway.database), Attempts()

    @property
    def names(self) -> tuple[str, ...]:
        """Host names of this gateway."""
        settings = self.gateway.settings
        return (settings.host.lower(), *(name.lower() for name in settings.names))

    async def change(self, work: Callable[[], Found]) -> Found:
        """Write to the database in a thread; then all processes see the change."""
        found = await asyncio.to_thread(work)
        await self.gateway.refresh()
        return found

    def bundle_of(self, app: App) -> Bundle | None:
        """The app's bundle; None if it is not served, as the app's status says."""
        try:
            return self.gateway.bundles.get(app.bundle)
        except BundleError:
            return None


class GuardedRoute(APIRoute):
    """A route of the console, only for host names of this gateway; refusals are one-line pages."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                check_host(request, desk_of(request).names)
                return with_headers(_sent_on(request) or await handler(request))
            except StarletteHTTPException as refused:
                return with_headers(_refusal(request, refused))
            except DeeprotectError as error:
                status = 422 if error.exit_code == 2 else 503
                return with_headers(page(request, "refused.html", status=status, line=str(error)))

        return answer


def _sent_on(request: Request) -> Response | None:
    """Redirect a stream's page to the gateway that has the stream; a proxy finds it by the shard."""
    stream, several = request.query_params.get("stream"), desk_of(request).gateway.fleet.place.count > 1
    if request.method != "GET" or stream is None or not several or "shard" in request.query_params:
        return None
    there = request.url.include_query_params(shard=shard_of(stream))
    return RedirectResponse(f"{there.path}?{there.query}", 307)


def _refusal(request: Request, refused: StarletteHTTPException) -> Response:
    if refused.status_code == 303:
        return RedirectResponse(SIGN_IN, 303)
    response = page(request, "refused.html", status=refused.status_code, line=refused.detail)
    response.headers.update(refused.headers or {})
    if refused.status_code in UNREAD:
        response.headers["Connection"] = "close"
    return response


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def session_of(request: Request) -> AdminSession | None:
    cookie = request.cookies.get(cookie_name(request, "session"))
    return desk_of(request).sessions.find(cookie) if cookie else None


def admin(session: Annotated[AdminSession | None, Depends(session_of)]) -> AdminSession:
    """Require the admin's session; others are redirected to the sign-in page."""
    if session is None:
        raise HTTPException(303)
    return session


async def form(request: Request) -> Form:
    """Fields of a small form from our own page; the last one of each name."""
    check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise HTTPException(415, "only forms of the console are accepted here")
    body = await read_body(request, LARGEST_FORM)
    if body is None:
        raise HTTPException(408, f"a form must arrive within {BODY_SECONDS:g} s; send it again")
    if len(body) > LARGEST_FORM:
        raise HTTPException(413, "the form is too large")
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise HTTPException(422, "the form cannot be read; reload the page and try again") from None


def form_of_admin(session: Annotated[AdminSession, Depends(admin)], fields: Annotated[Form, Depends(form)]) -> Form:
    check_token(fields, session.cookie)
    return fields


def form_of_anyone(request: Request, fields: Annotated[Form, Depends(form)]) -> Form:
    """The sign-in form, whose token belongs to a cookie sent with it."""
    check_token(fields, request.cookies.get(cookie_name(request, "form"), ""))
    return fields


TheDesk = Annotated[Desk, Depends(desk_of)]
Admin = Annotated[AdminSession, Depends(admin)]
AdminForm = Annotated[Form, Depends(form_of_admin)]


def cookie_name(request: Request, what: str) -> str:
    """The cookie's name; under TLS with a prefix that prevents other hosts of the site from setting it."""
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


def check_host(request: Request, names: Collection[str]) -> None:
    """Refuse host names that others pointed at this machine; IP addresses cannot be redirected.

    Starlette's own check takes a list of names, which cannot contain every address.
    """
    host = host_of(request)
    if host is None or not (host == "localhost" or host in names or address_of(host) is not None):
        raise HTTPException(421, "this gateway is not known by that name; use its address, or start it with --name")


def check_origin(request: Request) -> None:
    """Require that a form comes from our own page: browsers state the origin, and other programs have no form."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    ours = urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower() if origin else None
    if site not in (None, "same-origin") or ours is False or (site is None and ours is None):
        raise HTTPException(403, "this came from another site; open the console itself and try again there")


def check_token(fields: Form, cookie: str) -> None:
    if not cookie or not hmac.compare_digest(fields.get("token", "").encode(), form_token(cookie).encode()):
        raise HTTPException(403, "this form is out of date, or from another site; go back, reload the page, try again")


def sign_in_page(request: Request, session: Annotated[AdminSession | None, Depends(session_of)]) -> Response:
    return _form(request) if session is None else RedirectResponse("/", 303)


def sign_in(request: Request, desk: TheDesk, form: Annotated[Form, Depends(form_of_anyone)]) -> Response:
    """Count wrong tokens; after too many a client has to wait, whatever token it sends."""
    client = request.client.host if request.client else ""
    wait = desk.attempts.wait(client)
    if wait > 0:
        seconds = math.ceil(wait)
        raise HTTPException(429, f"too many attempts; try again in {seconds} s", {"Retry-After": str(seconds)})
    cookie = desk.sessions.begin(form.get("admin", "").strip())
    if cookie is None:
        desk.attempts.failed(client)
        return _form(request, status=403, mistake="That is not the admin's token.")
    desk.attempts.succeeded(client)
    return set_cookie(RedirectResponse("/", 303), request, "session", value=cookie)


def sign_out(request: Request, desk: TheDesk, session: Admin, _: AdminForm) -> Response:
    desk.sessions.end(session)
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(cookie_name(request, "session"), path="/")
    return response


def _form(request: Request, *, status: int = 200, mistake: str | None = None) -> Response:
    cookie = request.cookies.get(cookie_name(request, "form")) or new_token()
    response = page(request, "sign_in.html", status=status, token=form_token(cookie), mistake=mistake)
    return set_cookie(response, request, "form", value=cookie)
