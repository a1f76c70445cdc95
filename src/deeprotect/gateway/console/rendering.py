"""Pages from templates, with all outside text escaped, and headers that isolate them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from deeprotect.gateway.registration.addresses import shown_address

_HERE = Path(__file__).parent
FILES = StaticFiles(directory=_HERE / "static")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # stricter values hide a form's origin from us
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), gyroscope=(), magnetometer=(), camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
MOTION = "accelerometer=(self), gyroscope=(self), magnetometer=(), camera=(), microphone=(), geolocation=()"
_environment = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates = Jinja2Templates(env=_environment)


def with_headers(response: Response) -> Response:
    """Add headers against caching, framing, sniffing and referrers; headers set by the page stay."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def page(request: Request, template: str, *, status: int = 200, **found: Any) -> Response:
    return _templates.TemplateResponse(request, template, found, status_code=status)


_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_LONG = 366 * 86400


def lasting(time: timedelta) -> str:
    """A duration in at most two units, rounded down: 4 h 20 min, 35 s."""
    seconds = int(time.total_seconds())
    if seconds > _LONG:
        return "more than a year"
    place = next((place for place, (size, _) in enumerate(_UNITS) if seconds >= size), len(_UNITS) - 1)
    parts: list[str] = []
    for size, unit in _UNITS[place : place + 2]:
        count, seconds = divmod(seconds, size)
        if count or not parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts)


def ago(then: datetime, now: datetime) -> str:
    """Time since the last message."""
    return "now" if now - then < timedelta(seconds=2) else f"{lasting(now - then)} ago"


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """A few names, and the number of others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_environment.filters |= {"ago": ago, "address": shown_address}
