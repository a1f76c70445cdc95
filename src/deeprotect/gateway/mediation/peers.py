"""Several processes behind one port: each stream belongs to one of them, the others hand on what is for it.

They talk through sockets in a folder that only their user may enter; nothing of it is on a network.
"""

import asyncio
import hashlib
import json
import struct
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LENGTHS = struct.Struct(">II")
Header = dict[str, Any]
Taking = Callable[[Header, bytes], Awaitable[Header]]
Feeding = Callable[[Header], AsyncIterator[bytes]]


async def read_frame(reader: StreamReader) -> tuple[Header, bytes] | None:
    """The next header and bytes; None when the other side is gone."""
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


@dataclass(frozen=True)
class ProcessPlace:
    """This process among all of them; `folder` is None where it is alone."""

    index: int = 0
    count: int = 1
    folder: Path | None = None

    def owner(self, stream: str) -> int:
        """The process that all readings of a stream go to, whichever took them in."""
        return int.from_bytes(hashlib.sha256(stream.encode("utf-8", "surrogatepass")).digest()[:8]) % self.count

    def owns(self, stream: str) -> bool:
        return self.owner(stream) == self.index

    def socket(self, index: int) -> str:
        return str((self.folder or Path()) / f"{index}.socket")


class Peers:
    """The other processes, asked and answered."""

    def __init__(self, place: ProcessPlace) -> None:
        self._place = place
        self._idle: dict[int, list[tuple[StreamReader, StreamWriter]]] = {}

    @asynccontextmanager
    async def answering(self, *, take: Taking, feed: Feeding) -> AsyncIterator[None]:
        """While the server runs: `take` answers a question with a header, `feed` with bytes for as long as it goes."""
        if self._place.folder is None:
            yield
            return

        async def answer(reader: StreamReader, writer: StreamWriter) -> None:
            try:
                while (frame := await read_frame(reader)) is not None:
                    header, body = frame
                    if header["ask"] == "feed":
                        async for part in feed(header):
                            await write_frame(writer, {}, part)
                        return
                    await write_frame(writer, await take(header, body))
            except ConnectionError:
                return
            finally:
                writer.close()

        server = await asyncio.start_unix_server(answer, self._place.socket(self._place.index))
        try:
            yield
        finally:
            server.close()
            for _, writer in (pair for pairs in self._idle.values() for pair in pairs):
                writer.close()

    async def ask(self, index: int, header: Header, body: bytes = b"") -> Header:
        """One question; ConnectionError where the other process is gone."""
        reader, writer = await self._connected(index)
        try:
            await write_frame(writer, header, body)
            answer = await read_frame(reader)
        except BaseException:
            writer.close()
            raise
        if answer is None:
            writer.close()
            raise ConnectionError
        self._idle.setdefault(index, []).append((reader, writer))
        return answer[0]

    async def feed(self, index: int, header: Header) -> AsyncIterator[bytes]:
        """What the other process has for whom the header names, as it comes."""
        reader, writer = await asyncio.open_unix_connection(self._place.socket(index))
        try:
            await write_frame(writer, {**header, "ask": "feed"})
            while (frame := await read_frame(reader)) is not None:
                yield frame[1]
        finally:
            writer.close()

    def others(self) -> list[int]:
        return [index for index in range(self._place.count) if index != self._place.index]

    async def _connected(self, index: int) -> tuple[StreamReader, StreamWriter]:
        idle = self._idle.get(index)
        while idle:
            reader, writer = idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
        return await asyncio.open_unix_connection(self._place.socket(index))
