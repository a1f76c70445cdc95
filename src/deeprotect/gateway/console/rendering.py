"""Pages from templates, everything that comes from outside escaped, and the headers that keep them to themselves."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deeprotect.gateway.console import words
from deeprotect.gateway.registration.push_address import shown_address

HERE = Path(__file__).parent
STATIC = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "plot.js": "text/javascript; charset=utf-8",
    "stream.js": "text/javascript; charset=utf-8",
    "choose.js": "text/javascript; charset=utf-8",
    "phone.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with less, browsers hide from us where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), gyroscope=(), magnetometer=(), camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
MOTION = "accelerometer=(self), gyroscope=(self), magnetometer=(), camera=(), microphone=(), geolocation=()"


def with_headers(response: Response) -> Response:
    """Nothing is kept, framed, sniffed or told to other sites; what a page set itself stays."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def page(template: str, *, status: int = 200, **found: Any) -> HTMLResponse:
    return HTMLResponse(_templates().get_template(template).render(**found), status_code=status)


def static_file(name: str, version: str) -> Response:
    """A file of ours; under the address with its own version it never changes."""
    body, found = _read(name)
    kept = {"Cache-Control": "public, max-age=31536000, immutable"} if version == found else {}
    return Response(body, media_type=STATIC[name], headers=kept)


@cache
def _read(name: str) -> tuple[bytes, str]:
    body = (HERE / "static" / name).read_bytes()
    return body, hashlib.sha256(body).hexdigest()[:12]


def _static(name: str) -> str:
    return f"/console/static/{name}?{_read(name)[1]}"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["static"] = _static
    environment.filters |= {"percent": words.percent, "number": words.number, "address": shown_address}
    return environment
