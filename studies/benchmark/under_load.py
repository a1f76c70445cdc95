"""Gateways under load, their devices and apps: what a fault is measured on."""

import asyncio
import json
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import func, select

from deeprotect.errors import InputError
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, streams
from deeprotect.signals.ticks import SECOND
from studies.benchmark.gateways import SERVE, Gateways, free_ports
from studies.benchmark.made_up import RATE_HZ, Shape, protector

STREAMS = 20
CALM = 4.0  # seconds before a fault, and after it
LAST = 2.0  # that apps go on reading once devices are silent, so that what was drawn has arrived
BUNDLE = "protector"
Deliver = Callable[["Stream", bytes], Awaitable[None]]


@dataclass
class Stream:
    """A device that sends a second of readings every second, and an app that connects again when it must."""

    name: str
    device: str
    app: str
    answers: Counter[str] = field(default_factory=Counter)
    came: list[float] = field(default_factory=list)
    shown: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))  # of windows, by first stamp
    sent: list[bytes] = field(default_factory=list)
    deliver: "Deliver | None" = None  # instead of HTTP

    async def send(self, client: httpx.AsyncClient, url: str) -> None:
        values = np.random.default_rng().normal(size=(Shape().channels, RATE_HZ)).round(3).tolist()
        columns = dict(zip(Shape().names, values, strict=True))
        while True:
            now = time.time_ns() // SECOND * SECOND
            times = [now + row * SECOND // RATE_HZ for row in range(RATE_HZ)]
            self.sent.append(json.dumps({"session": "s", "time": times, **columns}).encode())
            if self.deliver is None:
                await self.post(client, url, self.sent[-1])
            else:
                await self.deliver(self, self.sent[-1])
            await asyncio.sleep(1.0 - time.time() % 1.0)

    async def post(self, client: httpx.AsyncClient, url: str, body: bytes) -> None:
        try:
            answer = await client.post(f"{url}/in/{self.device}", content=body)
        except httpx.HTTPError as error:
            self.answers[type(error).__name__] += 1
        else:
            self.answers[str(answer.status_code)] += 1

    @property
    def conflicts(self) -> int:
        """Windows that an app was shown with two values."""
        return sum(len(values) > 1 for values in self.shown.values())

    async def read(self, client: httpx.AsyncClient, url: str) -> None:
        while True:
            try:
                async with client.stream("GET", f"{url}/out/{self.app}", timeout=None) as answer:
                    async for line in answer.aiter_lines():
                        self._take(line)
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.05)

    def _take(self, line: str) -> None:
        if line:
            window = json.loads(line)
            self.came.append(time.monotonic())
            self.shown[window["time"][0]].add(json.dumps([window[name] for name in Shape().names]))

    def longest_wait(self, since: float, until: float) -> float:
        times = [since, *(at for at in self.came if since < at < until), until]
        return max(np.diff(times))


@dataclass
class Bench:
    """Gateways under load on a new ledger."""

    folder: Path
    address: str
    count: int = 1
    options: tuple[str, ...] = ()
    streams: list[Stream] = field(default_factory=list)

    def __post_init__(self) -> None:
        protector(Shape()).save(self.folder / BUNDLE)
        registry = Registry(Database.existing_or_new(self.address))
        for place in range(STREAMS):
            name = f"device-{place}"
            tokens = registry.add_device(name), registry.add_app("app", stream=name, bundle=BUNDLE)
            self.streams.append(Stream(name, *tokens))
        command = [*SERVE, "--bundle", str(self.folder / BUNDLE), "--ledger", self.address, *self.options]
        self.gateways = Gateways(command, self.folder, self.count)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.gateways.port}"

    @contextmanager
    def running(self) -> Iterator["Bench"]:
        with ExitStack() as stack:
            stack.callback(self.gateways.stop)
            self.gateways.start()
            yield self

    @asynccontextmanager
    async def loaded(self, *, readers: bool = True) -> AsyncIterator[httpx.AsyncClient]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:
            senders = [asyncio.create_task(each.send(client, self.url)) for each in self.streams]
            apps = [asyncio.create_task(each.read(client, self.url)) for each in self.streams if readers]
            await asyncio.sleep(CALM)
            try:
                yield client
            finally:
                await _cancel(senders)
                await asyncio.sleep(LAST)
                await _cancel(apps)

    def charged(self) -> int:
        with Database.existing(self.address).reading() as connection:
            own = charges.join(streams).select().where(streams.c.name.startswith("device-")).subquery()
            return int(connection.execute(select(func.coalesce(func.sum(own.c.draws), 0))).scalar_one())

    @property
    def got(self) -> int:
        return sum(len(each.came) for each in self.streams)

    def answers(self) -> str:
        every = sum((each.answers for each in self.streams), Counter[str]())
        return ", ".join(f"{count} × {status}" for status, count in sorted(every.items()))


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class Row:
    """What a table shows of one fault."""

    fault: str
    waited: str  # the streams that it hits, the longest
    others: str  # waited, the longest
    answers: str  # to devices
    draws: str  # charged, and windows that apps got

    def __str__(self) -> str:
        return f"| {self.fault} | {self.waited} | {self.others} | {self.answers} | {self.draws} |"


HEAD = """| fault | streams that it hits wait | the others wait | devices are answered | draws charged, windows got |
|---|---|---|---|---|"""


def row_of(bench: Bench, fault: str, hit: list[Stream], since: float, until: float) -> Row:
    others = [each for each in bench.streams if each not in hit]
    waits = [[each.longest_wait(since, until) for each in some] for some in (hit, others)]
    waited, else_waited = (f"{max(each):.1f} s" if each else "–" for each in waits)
    return Row(fault, waited, else_waited, bench.answers(), f"{bench.charged():,}, {bench.got:,}")


async def hold(bench: Bench, fault: str, hit: list[Stream], break_it: Callable[[], Awaitable[None]]) -> Row:
    """Calm, the fault, calm again; what `break_it` breaks is whole when it returns."""
    async with bench.loaded():
        since = time.monotonic()
        await break_it()
        await asyncio.sleep(CALM)
        until = time.monotonic()
    return row_of(bench, fault, hit, since, until)


def mosquitto(folder: Path, stack: ExitStack) -> tuple[int, Callable[[], "subprocess.Popen[bytes]"]]:
    """A broker's port, and what starts it; it ends with the stack."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise InputError("the broker's faults need Mosquitto; apt-get install mosquitto")
    (port,) = free_ports(1)
    (folder / "broker").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n", encoding="ascii")

    def start() -> subprocess.Popen[bytes]:
        command = [program, "-c", str(folder / "broker")]
        broker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        stack.callback(broker.wait)
        stack.callback(broker.kill)
        return broker

    return port, start
