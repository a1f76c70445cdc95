"""Devices and apps of a gateway under load, in a process of their own: how much comes back, and how late."""

import asyncio
import json
import random
import sys
import time
from collections import deque
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import uvloop
from websockets.asyncio.client import ClientConnection, connect

from deeprotect.signals.ticks import SECOND

CONNECTING = 32


@dataclass(eq=False)
class LoadStream:
    """One device and its app; `sent` are the last stamps of messages and when they left."""

    token_in: str
    token_out: str
    sent: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=64))
    delays: list[float] = field(default_factory=list)
    windows: int = 0
    refused: int = 0


@dataclass(frozen=True)
class Load:
    """The messages of every device, and their duration."""

    address: str  # ws://host:port
    rate_hz: int
    channels: list[str]
    every: float
    seconds: float
    settle: float  # seconds at the start that are not counted


async def drive(load: Load, streams: list[LoadStream]) -> dict[str, Any]:
    """Everything at once, after all have connected; the devices' messages are spread over their period."""
    async with AsyncExitStack() as stack:
        devices = await _connected(stack, [f"{load.address}/in/{stream.token_in}" for stream in streams])
        apps = await _connected(stack, [f"{load.address}/out/{stream.token_out}" for stream in streams])
        begin = time.monotonic() + 1.0
        jobs = [_device(load, *each, begin=begin) for each in zip(streams, devices, strict=True)]
        jobs += [_app(load, *each, begin=begin) for each in zip(streams, apps, strict=True)]
        tasks = [asyncio.create_task(job) for job in jobs]
        await asyncio.sleep(begin - time.monotonic() + load.settle + load.seconds + 3.0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    delays = np.array([delay for stream in streams for delay in stream.delays] or [np.nan])
    return {
        "windows": sum(stream.windows for stream in streams),
        "refused": sum(stream.refused for stream in streams),
        "p50": float(np.median(delays)),
        "p99": float(np.quantile(delays, 0.99)),
        "worst": float(delays.max()),
        "cpu": time.process_time(),
    }


async def _connected(stack: AsyncExitStack, addresses: list[str]) -> list[ClientConnection]:
    """As many at once as a listener's queue likes."""
    few = asyncio.Semaphore(CONNECTING)

    async def one(address: str) -> ClientConnection:
        async with few:
            return await stack.enter_async_context(connect(address, compression=None, open_timeout=60))

    return list(await asyncio.gather(*map(one, addresses)))


async def _device(load: Load, stream: LoadStream, socket: ClientConnection, *, begin: float) -> None:
    rows = round(load.rate_hz * load.every)
    values = np.random.default_rng().normal(scale=0.5, size=(len(load.channels), rows)).round(3)
    body = ",".join(
        f"{json.dumps(name)}:{json.dumps(row.tolist())}" for name, row in zip(load.channels, values, strict=True)
    )
    step, start = SECOND // load.rate_hz, random.random() * load.every
    number, stop = 0, begin + load.settle + load.seconds
    await asyncio.sleep(begin + start - time.monotonic())
    first = time.time_ns()
    while (due := begin + start + (number + 1) * load.every) < stop:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        times = [first + (number * rows + row) * step for row in range(rows)]
        stream.sent.append((times[-1], time.monotonic()))
        await socket.send(f'{{"session":"load","time":{times},{body}}}')
        answer = await socket.recv()
        stream.refused += '"status": 200' not in str(answer)
        number += 1


async def _app(load: Load, stream: LoadStream, socket: ClientConnection, *, begin: float) -> None:
    """Counts windows by when what they waited for was sent: none at one end of the time, and missed at the other."""
    first, end = begin + load.settle, begin + load.settle + load.seconds
    async for message in socket:
        now, last = time.monotonic(), orjson.loads(message)["time"][-1]
        left = next((at for stamp, at in stream.sent if stamp >= last), None)
        if left is not None and first <= left < end:
            stream.windows += 1
            stream.delays.append(now - left)


def main() -> None:
    """Reads what to do from standard input as JSON, and writes what was found to standard output."""
    given = json.load(sys.stdin)
    streams = [LoadStream(*tokens) for tokens in given.pop("tokens")]
    print(json.dumps(uvloop.run(drive(Load(**given), streams))))
