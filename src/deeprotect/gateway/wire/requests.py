"""A request: which host it means, whether it comes from this very machine, and so much of its body and no more."""

import asyncio
import ipaddress
import zlib
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from deeprotect.errors import WireError

_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_local(request: Request) -> bool:
    """From this very machine, asked for as such, and handed on by nobody.

    Behind a proxy everyone seems to be here, and so does a page whose site points its name at this machine.
    """
    client, host = request.client, host_of(request)
    if client is None or host is None or any(name in request.headers for name in _FORWARDED):
        return False
    named, here = address_of(host), address_of(client.host)
    return here is not None and here.is_loopback and (host == "localhost" or (named is not None and named.is_loopback))


def host_of(request: Request) -> str | None:
    """The name or address that was asked for, without the port."""
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return None


def address_of(host: str) -> Address | None:
    """None where it is a name."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None)
    return mapped or found


GZIP = b"\x1f\x8b"
"""How a compressed body begins, by whatever door it comes; no text does."""


def unzipped(body: bytes, most: int) -> bytes:
    """What is in it; of more than `most` bytes only one more, to tell that there is too much."""
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        found = stream.decompress(body, most + 1)
    except zlib.error:
        raise WireError("the message begins like gzip and is none; send it again, or without compression") from None
    if len(found) > most:
        return found
    if not stream.eof or stream.unused_data:
        raise WireError("a compressed message is one whole gzip stream; send it again")
    return found


BODY_SECONDS = 30.0
UNREAD = (408, 413)
"""Answers to a body that was not read to its end; the connection closes with them."""


async def read_body(request: Request, most: int) -> bytes | None:
    """Hardly more than `most` bytes of it; None where it does not come to its end."""
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
