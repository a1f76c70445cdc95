"""Frames between processes of one gateway: a small header as JSON, and bytes."""

import json
import struct
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from typing import Any

_LENGTHS = struct.Struct(">II")
Header = dict[str, Any]


async def read_frame(reader: StreamReader) -> tuple[Header, bytes] | None:
    """The next one; None when the other side is gone."""
    try:
        lengths = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
        header, body = await reader.readexactly(lengths[0]), await reader.readexactly(lengths[1])
    except (IncompleteReadError, ConnectionError):
        return None
    return json.loads(header), body


async def write_frame(writer: StreamWriter, header: Header, body: bytes = b"") -> None:
    """Waits while the other side is slow."""
    text = json.dumps(header).encode()
    writer.write(_LENGTHS.pack(len(text), len(body)) + text + body)
    await writer.drain()
