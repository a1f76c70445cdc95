"""The body of a request: so much of it and no more, and not awaited for ever."""

import asyncio

from starlette.requests import ClientDisconnect, Request

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
