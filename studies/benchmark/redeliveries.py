"""What is sent again: late, in batches, by a second path, between new messages, and by programs that retry."""

import asyncio
import gzip
import json
import random
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import aiomqtt
import httpx

from studies.benchmark import postgres
from studies.benchmark.gateways import free_ports
from studies.benchmark.made_up import Shape
from studies.benchmark.under_load import Bench, Row, Stream, hold, mosquitto

SECONDS = 12  # of each
AGAIN = 10  # messages of each stream, a second each, that are sent again at once
BEHIND = 6  # messages, by which a second path is behind
CUTS, BATCH = 4, 3
Again = Callable[[Bench, httpx.AsyncClient], Awaitable[None]]


def _measured(bench: Bench, fault: str, again: Again) -> Row:
    """No window with two values, and as many draws as windows that arrived."""

    return asyncio.run(_held(bench, fault, again))


async def _held(bench: Bench, fault: str, again: Again) -> Row:
    async with httpx.AsyncClient(timeout=60) as client:
        row = await hold(bench, fault, bench.streams, lambda: again(bench, client))
    conflicts = sum(each.conflicts for each in bench.streams)
    return Row(row.fault, row.waited, row.others, row.answers, f"{row.draws}; shown with two values: {conflicts}")


def _by_http(fault: str, again: Again, folder: Path) -> Row:
    with Bench(folder, str(folder / "ledger.sqlite")).running() as bench:
        return _measured(bench, fault, again)


async def _late_batch(bench: Bench, client: httpx.AsyncClient, *, times: int = 1) -> None:
    """Ten seconds of every stream at once, repeated."""
    await asyncio.sleep(SECONDS)
    for _ in range(times):
        for each in bench.streams:
            for body in each.sent[:AGAIN]:
                await each.post(client, bench.url, body)


async def _between(bench: Bench, client: httpx.AsyncClient) -> None:
    """After each second one that was sent before, whichever."""
    for _ in range(SECONDS):
        for each in bench.streams:
            await each.post(client, bench.url, random.choice(each.sent))
        await asyncio.sleep(1.0)


def _by_broker(folder: Path) -> Row:
    """Each second once more by MQTT with QoS 1, a few seconds later."""
    with ExitStack() as stack:
        port, start = mosquitto(folder, stack)
        start()
        options = ("--mqtt", f"mqtt://127.0.0.1:{port}")
        bench = stack.enter_context(Bench(folder, str(folder / "ledger.sqlite"), options=options).running())

        async def again(bench: Bench, client: httpx.AsyncClient) -> None:
            del client
            async with _connected(port) as mirror:
                for _ in range(SECONDS):
                    for each in bench.streams:
                        await _publish(mirror, each, each.sent[-min(BEHIND, len(each.sent))])
                    await asyncio.sleep(1.0)

        return _measured(bench, f"Each second comes again by MQTT (QoS 1), {BEHIND} s later", again)


def _cut_off(folder: Path) -> Row:
    """Streams send by MQTT alone; a gateway that is cut off gets again what it had not confirmed."""
    with ExitStack() as stack:
        port, start = mosquitto(folder, stack)
        start()
        relay = stack.enter_context(Relay(port))
        options = ("--mqtt", f"mqtt://127.0.0.1:{relay.port}")
        bench = stack.enter_context(Bench(folder, str(folder / "ledger.sqlite"), options=options).running())

        async def again(*_: object) -> None:
            for _number in range(CUTS):
                await asyncio.sleep(SECONDS / CUTS)
                relay.cut()

        async def play() -> Row:
            async with _connected(port) as devices:
                for each in bench.streams:
                    each.deliver = partial(_publish, devices)
                return await _held(bench, f"MQTT (QoS 1): the gateway is cut off {CUTS} times in {SECONDS} s", again)

        row = asyncio.run(play())
        return replace(row, answers=f"connected again {bench.gateways.log(0).count('broker connected') - 1} times")


def _connected(port: int) -> aiomqtt.Client:
    return aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5)


async def _publish(client: aiomqtt.Client, stream: Stream, body: bytes) -> None:
    await client.publish(f"deeprotect/raw/{stream.name}", body, qos=1)


class Relay(AbstractContextManager["Relay"]):
    """A way to a port of this machine that can be cut."""

    def __init__(self, to: int) -> None:
        self._to, (self.port,) = to, free_ports(1)
        self._open, self._listens = set[asyncio.StreamWriter](), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> Self:
        self._thread.start()
        self._listens.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    def cut(self) -> None:
        """All connections, at once and without a word."""
        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for each in self._open:
            each.transport.abort()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self._pass, "127.0.0.1", self.port):
            self._listens.set()
            await self._over.wait()
            self._abort()
        while self._open:
            await asyncio.sleep(0.01)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._open |= {writer, back}
        await asyncio.gather(_copy(reader, back), _copy(there, writer))
        self._open -= {writer, back}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(1 << 16):
            writer.write(part)
            await writer.drain()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _retried(folder: Path) -> Row:
    with Bench(folder, str(folder / "ledger.sqlite")).running() as bench:

        async def play() -> Row:
            async with httpx.AsyncClient(timeout=60) as client:
                writer = Writer(client, bench.url)
                for each in bench.streams:
                    each.deliver = writer.take
                return await _held(
                    bench, f"Line protocol in batches of {BATCH} s (gzip), each written three times", writer.again
                )

        return asyncio.run(play())


class Writer:
    """Writes as Telegraf does: batches, each once more as if its answer had been lost, and all of them in the end."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client, self._url = client, url
        self._waiting: defaultdict[str, list[bytes]] = defaultdict(list)
        self._written: list[tuple[Stream, bytes]] = []

    async def take(self, stream: Stream, body: bytes) -> None:
        self._waiting[stream.name].append(_lines(body))
        if len(self._waiting[stream.name]) == BATCH:
            lines = gzip.compress(b"\n".join(self._waiting.pop(stream.name)))
            self._written.append((stream, lines))
            for _ in range(2):
                await self._write(stream, lines)

    async def again(self, *_: object) -> None:
        await asyncio.sleep(SECONDS)
        for stream, lines in self._written.copy():
            await self._write(stream, lines)

    async def _write(self, stream: Stream, lines: bytes) -> None:
        headers = {"authorization": f"Token {stream.device}", "content-encoding": "gzip"}
        answer = await self._client.post(f"{self._url}/api/v2/write", content=lines, headers=headers)
        stream.answers[str(answer.status_code)] += 1


def _lines(body: bytes) -> bytes:
    """A message as lines of InfluxDB."""
    columns = json.loads(body)
    rows = zip(columns["time"], *(columns[name] for name in Shape().names), strict=True)
    fields = (",".join(f"{name}={value}" for name, value in zip(Shape().names, row[1:], strict=True)) for row in rows)
    return b"\n".join(f"imu {some} {stamp}".encode() for some, stamp in zip(fields, columns["time"], strict=True))


def _two_paths(folder: Path) -> Row:
    """Every message goes to both gateways of one ledger, without a proxy between."""
    with postgres.running() as cluster, Bench(folder, cluster.address, 2).running() as bench:

        async def again(bench: Bench, client: httpx.AsyncClient) -> None:
            for _ in range(SECONDS):
                for each in bench.streams:
                    for port in bench.gateways.ports[:2]:
                        await each.post(client, f"http://127.0.0.1:{port}", each.sent[-1])
                await asyncio.sleep(1.0)

        return _measured(bench, "Each second goes to both gateways of one ledger as well (PostgreSQL)", again)


REDELIVERIES: dict[str, Callable[[Path], Row]] = {
    "late": partial(_by_http, f"The first {AGAIN} s come again, {SECONDS} s late, in one batch", _late_batch),
    "repeated": partial(_by_http, "The same batch, ten times", partial(_late_batch, times=10)),
    "between": partial(_by_http, f"Between two new seconds an older one comes again, {SECONDS} s", _between),
    "mirrored": _by_broker,
    "cut-off": _cut_off,
    "retried": _retried,
    "two-paths": _two_paths,
}
