"""Requests: the host they address, whether they come from this machine, and their bodies, up to a limit."""

import asyncio
import ipaddress
import zlib
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from deeprotect.errors import WireError

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine, is addressed to it as such, and was not forwarded.

    Behind a proxy every request seems local, as does a page whose site points its name at this machine.
    """
    client, host = request.client, host_of(request)
    if client is None or host is None or any(name in request.headers for name in _FORWARDED):
        return False
    named, here = address_of(host), address_of(client.host)
    return here is not None and here.is_loopback and (host == "localhost" or (named is not None and named.is_loopback))


def host_of(request: Request) -> str | None:
    """The host name or address in the request, without the port."""
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return None


def address_of(host: str) -> Address | None:
    """The IP address; None for a name."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found


GZIP = b"\x1f\x8b"
"""First bytes of a gzip body; no text begins with them."""


def unzipped(body: bytes, most: int) -> bytes:
    """Decompress up to `most` bytes plus one, which shows that there is too much."""
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        found = stream.decompress(body, most + 1)
    except zlib.error:
        raise WireError("the message begins like gzip but is not; send it again, or without compression") from None
    if len(found) > most:
        return found
    if not stream.eof or stream.unused_data:
        raise WireError("a compressed message must be one complete gzip stream; send it again")
    return found


BODY_SECONDS = 30.0
UNREAD = (408, 413)
"""Responses to bodies that were not read to the end; the connection is then closed."""


async def read_body(request: Request, most: int) -> bytes | None:
    """Read little more than `most` bytes of the body; None if it does not end."""
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > most:
                    break
    except (ClientDisconnect, TimeoutError):
        return None
    return b"".join(parts)
