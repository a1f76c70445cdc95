"""What is asked of a request before it is looked at: which host it means, where it comes from, what its form holds."""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

LARGEST_FORM = 1 << 16
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


@dataclass
class RequestRefusedError(Exception):
    """One line for a person, and the status that goes with it."""

    status: int
    line: str
    retry_seconds: int | None = None


def check_host(request: Request, names: Collection[str]) -> None:
    """A name that somebody else pointed at this machine is not ours; addresses cannot be pointed elsewhere."""
    host = _host(request.headers.get("host", ""))
    if host is None or not (host == "localhost" or host in names or _address(host) is not None):
        raise RequestRefusedError(
            421, "this gateway is not known by that name; use its address, or start it with --name"
        )


def check_origin(request: Request) -> None:
    """A form must come from a page of our own: browsers say where from, and other programs have no form to send."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    ours = urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower() if origin else None
    if site not in (None, "same-origin") or ours is False or (site is None and ours is None):
        raise RequestRefusedError(403, "this came from another site; open the console itself and try again there")


def is_local(request: Request) -> bool:
    """From this very machine, and handed on by nobody: behind a proxy everyone seems to be here."""
    client, host = request.client, _host(request.headers.get("host", ""))
    if client is None or host is None or any(name in request.headers for name in _FORWARDED):
        return False
    named, here = _address(host), _address(client.host)
    return here is not None and here.is_loopback and (host == "localhost" or (named is not None and named.is_loopback))


async def read_form(request: Request) -> dict[str, str]:
    """Fields of a small form; the last one of each name."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise RequestRefusedError(415, "a form of the console is awaited here")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise RequestRefusedError(413, "the form is too large")
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise RequestRefusedError(422, "the form cannot be read; reload the page and try again") from None


def _host(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found
