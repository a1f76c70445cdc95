"""Faults on purpose, under load, with real servers: how long streams wait, and who has paid for what."""

import asyncio
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiomqtt
import httpx
import numpy as np
from sqlalchemy import func, select

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Request, release
from deeprotect.release.episodes import live_observing
from deeprotect.release.ledger import Account, MemoryLedger, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges, streams
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.live import LiveStream
from deeprotect.signals.schema import Floats
from deeprotect.signals.ticks import SECOND
from deeprotect.signals.windowing import Run
from studies.benchmark import postgres
from studies.benchmark.gateways import SERVE, Gateways, free_ports
from studies.benchmark.made_up import CODES, RATE_HZ, VARIANTS, Shape, protector

STREAMS = 20
CALM = 4.0  # seconds before a fault, and after it
LAST = 2.0  # that apps go on reading once devices are silent, so that what was drawn has arrived
BUNDLE = "protector"


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

    async def send(self, client: httpx.AsyncClient, url: str) -> None:
        values = np.random.default_rng().normal(size=(Shape().channels, RATE_HZ)).round(3).tolist()
        columns = dict(zip(Shape().names, values, strict=True))
        while True:
            now = time.time_ns() // SECOND * SECOND
            times = [now + row * SECOND // RATE_HZ for row in range(RATE_HZ)]
            self.sent.append(json.dumps({"session": "s", "time": times, **columns}).encode())
            await self.post(client, url, self.sent[-1])
            await asyncio.sleep(1.0 - time.time() % 1.0)

    async def post(self, client: httpx.AsyncClient, url: str, body: bytes) -> None:
        try:
            answer = await client.post(f"{url}/in/{self.device}", content=body)
        except httpx.HTTPError as error:
            self.answers[type(error).__name__] += 1
        else:
            self.answers[str(answer.status_code)] += 1

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


def _row(bench: Bench, fault: str, hit: list[Stream], since: float, until: float) -> Row:
    others = [each for each in bench.streams if each not in hit]
    waits = [[each.longest_wait(since, until) for each in some] for some in (hit, others)]
    waited, else_waited = (f"{max(each):.1f} s" if each else "–" for each in waits)
    return Row(fault, waited, else_waited, bench.answers(), f"{bench.charged():,}, {bench.got:,}")


async def _hold(bench: Bench, fault: str, hit: list[Stream], break_it: Callable[[], Awaitable[None]]) -> Row:
    """Calm, the fault, calm again; what `break_it` breaks is whole when it returns."""
    async with bench.loaded():
        since = time.monotonic()
        await break_it()
        await asyncio.sleep(CALM)
        until = time.monotonic()
    return _row(bench, fault, hit, since, until)


def full_disk(folder: Path, seconds: float) -> Row:
    """The kernel lets the gateway write no file beyond the size that it has, as on a disk without room."""
    with Bench(folder, str(folder / "ledger.sqlite")).running() as bench:
        pid = bench.gateways.processes[0].pid

        async def fill() -> None:
            free = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, free[1]))
            await asyncio.sleep(seconds)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, free)

        return asyncio.run(_hold(bench, f"The disk is full for {seconds:g} s (SQLite)", bench.streams, fill))


def server_stopped(folder: Path, seconds: float) -> Row:
    with postgres.running() as cluster, Bench(folder, cluster.address).running() as bench:

        async def stop() -> None:
            await asyncio.to_thread(cluster.stop)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(cluster.start)

        return asyncio.run(_hold(bench, f"PostgreSQL is stopped for {seconds:g} s", bench.streams, stop))


def gateway_killed(folder: Path, seconds: float) -> Row:
    with postgres.running() as cluster, Bench(folder, cluster.address, 2).running() as bench:
        hit = [each for each in bench.streams if bench.gateways.owner(each.name) == 0]

        async def kill() -> None:
            bench.gateways.kill(0)
            await asyncio.sleep(seconds)

        return asyncio.run(_hold(bench, "One of two gateways is killed (nginx, PostgreSQL)", hit, kill))


def burst(folder: Path, messages: int = 1000) -> Row:
    with postgres.running() as cluster, Bench(folder, cluster.address, 2).running() as bench:

        async def all_at_once() -> None:
            await asyncio.gather(*(_plain(bench, bench.streams[place % STREAMS]) for place in range(messages)))

        return asyncio.run(_hold(bench, f"{messages:,} messages more at once (nginx)", bench.streams, all_at_once))


async def _plain(bench: Bench, stream: Stream) -> None:
    """A message on a connection of its own, without a client that takes longer for it than the gateway."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.gateways.port)
    body = b'{"payload": [{"name": "test"}]}'
    head = f"POST /in/{stream.device} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    stream.answers[(await reader.readline()).split()[1].decode()] += 1
    writer.close()


def broker_gone(folder: Path, seconds: float) -> Row:
    """Streams by HTTP go on; the gateway finds the broker again."""
    with ExitStack() as stack:
        port, start = _mosquitto(folder, stack)
        broker = start()
        options = ("--mqtt", f"mqtt://127.0.0.1:{port}")
        bench = stack.enter_context(Bench(folder, str(folder / "ledger.sqlite"), options=options).running())

        async def stop() -> None:
            broker.kill()
            broker.wait()
            await asyncio.sleep(seconds)
            start()
            await asyncio.sleep(3.0)

        row = asyncio.run(_hold(bench, f"The broker is gone for {seconds:g} s", bench.streams, stop))
        back = bench.gateways.log(0).count("broker connected") - 1
    return Row(f"{row.fault}, and found again {back} time(s)", row.waited, row.others, row.answers, row.draws)


def _mosquitto(folder: Path, stack: ExitStack) -> tuple[int, Callable[[], "subprocess.Popen[bytes]"]]:
    """A broker's port, and what starts it; it ends with the stack."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise InputError("the broker's faults need Mosquitto; apt-get install mosquitto")
    (port,) = free_ports(1)
    (folder / "broker").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n", encoding="ascii")

    def start() -> subprocess.Popen[bytes]:
        command = [program, "-c", str(folder / "broker")]
        broker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        stack.callback(broker.kill)
        return broker

    return port, start


def redelivery(folder: Path, seconds: float) -> Row:
    """Each second once more by the broker, six seconds later, with QoS 1; then the last ten, three times each way."""
    with ExitStack() as stack:
        port, start = _mosquitto(folder, stack)
        start()
        options = ("--mqtt", f"mqtt://127.0.0.1:{port}")
        bench = stack.enter_context(Bench(folder, str(folder / "ledger.sqlite"), options=options).running())

        async def again() -> None:
            async with (
                aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5) as mirror,
                httpx.AsyncClient(timeout=60) as client,
            ):
                for _ in range(round(seconds)):
                    for each in bench.streams:
                        await mirror.publish(f"deeprotect/raw/{each.name}", each.sent[-min(6, len(each.sent))], qos=1)
                    await asyncio.sleep(1.0)
                for _ in range(3):
                    for each in bench.streams:
                        for body in each.sent[-10:]:
                            await mirror.publish(f"deeprotect/raw/{each.name}", body, qos=1)
                            await each.post(client, bench.url, body)

        row = asyncio.run(
            _hold(bench, f"All is delivered again for {seconds:g} s, and the last 10 s six times", bench.streams, again)
        )
    conflicts = sum(len(values) > 1 for each in bench.streams for values in each.shown.values())
    return Row(row.fault, row.waited, row.others, row.answers, f"{row.draws}; shown with two values: {conflicts}")


def unread_apps(folder: Path, seconds: float) -> Row:
    """Five apps of each stream, and nobody connects."""
    bench = Bench(folder, str(folder / "ledger.sqlite"))
    registry = Registry(Database.existing_or_new(bench.address))
    for each in bench.streams:
        for place in range(4):
            registry.add_app(f"more-{place}", stream=each.name, bundle=BUNDLE)
    with bench.running():

        async def nobody() -> None:
            async with bench.loaded(readers=False):
                await asyncio.sleep(seconds)

        asyncio.run(nobody())
        return Row(
            f"Five apps that nobody reads, {seconds:g} s",
            "–",
            "–",
            bench.answers(),
            f"{bench.charged():,}, {bench.got}",
        )


def long_history(folder: Path, charged: int) -> Row:
    """One person of many draws, and nineteen newcomers."""
    with postgres.running() as cluster:
        bench = Bench(folder, cluster.address)
        _pay(bench, charged)
        before = bench.charged()
        with bench.running():

            async def go_on() -> None:
                await asyncio.sleep(CALM)

            row = asyncio.run(_hold(bench, f"A person of {charged:,} draws (PostgreSQL)", bench.streams[:1], go_on))
        new = bench.charged() - before
    return Row(row.fault, row.waited, row.others, row.answers, f"{new:,} new, {bench.got:,}")


def _pay(bench: Bench, charged: int) -> None:
    """Draws of the first stream, each a charge of its own."""
    bundle, database = protector(Shape()), Database.existing_or_new(bench.address)
    account = Account(bench.streams[0].name, bench.streams[0].name, "app")
    ledger, part = StoredLedger(database, account, Price.of_bundle(bundle)), 2000
    windows = bundle.schema.unscale(Shape().windows(part))
    for start in range(0, charged, part):
        runs = [Run(f"old-{number}", 0, 1) for number in range(start, start + part)]
        ones = np.ones(part, dtype=np.int64)
        release([Request(bundle, ledger.of_session("old"), runs, windows, ones, ones)], entropy=SystemEntropy())


def activity_changes(changes: int, hold: int = 10) -> Row:
    """How long a held draw shows the activity of before; by the stream's own clock, so that nobody waits for it.

    Draws look at the same windows as a gateway's, a window leaves when it is full, and an app reads its code.
    """
    bundle = protector(Shape(), every=f"{hold} s")
    ledger, observed = MemoryLedger(Price.of(bundle.mechanism)), live_observing(bundle).windows
    live = LiveStream(bundle, listen_to="before", listen=observed, ledger=ledger, entropy=SystemEntropy())
    waits = list(_reactions(live, bundle, changes, hold=hold))
    median, most = np.percentile(waits, (50, 90))
    waited = f"median {median:.1f} s, p90 {most:.1f} s, worst {max(waits):.1f} s"
    return Row(f"The activity changes, draws held for {hold} s", waited, "–", "–", f"{ledger.tally.charged:,}, –")


def _reactions(live: LiveStream, bundle: Bundle, changes: int, *, hold: int) -> Iterator[float]:
    """Seconds from each change to the first window that shows it; activities last for three to six holds."""
    chance, motions, rows = np.random.default_rng(0), _two_motions(bundle), 0
    public = bundle.decode(np.arange(float(CODES * VARIANTS))[:, None])
    code_of = {each.round(6).tobytes(): number // VARIANTS for number, each in enumerate(public)}
    for number in range(changes + 1):
        code, motion = motions[number % 2]
        changed, awaited = rows, number > 0
        for _ in range(int(chance.integers(3 * hold * RATE_HZ, 6 * hold * RATE_HZ))):
            released = live.push(motion[rows % len(motion)])
            rows += 1
            shown = {code_of[each.round(6).tobytes()] for each in released.reshape(-1, *motion.shape)}
            if awaited and code in shown:
                yield (rows - changed) / RATE_HZ
                awaited = False


def _two_motions(bundle: Bundle) -> list[tuple[int, Floats]]:
    """Windows of two codes, in units, each with its code."""
    scaled = Shape().windows(200)
    codes = bundle.pool(bundle.encode(scaled), np.ones(len(scaled), dtype=np.int64))[:, 0].astype(int)
    places = np.unique(codes, return_index=True)[1][:2]
    return [(int(codes[place]), bundle.schema.unscale(scaled[place])) for place in places]


FAULTS: dict[str, Callable[[Path], Row]] = {
    "disk": lambda folder: full_disk(folder, 8.0),
    "server": lambda folder: server_stopped(folder, 32.0),
    "killed": lambda folder: gateway_killed(folder, 8.0),
    "burst": burst,
    "broker": lambda folder: broker_gone(folder, 8.0),
    "redelivery": lambda folder: redelivery(folder, 12.0),
    "unread": lambda folder: unread_apps(folder, 20.0),
    "history": lambda folder: long_history(folder, 100_000),
    "change": lambda _: activity_changes(1000),
}


def table(names: list[str], say: Callable[[str], None]) -> str:
    """In Markdown; each fault on gateways and servers of its own."""
    rows = []
    for name in names or list(FAULTS):
        if name not in FAULTS:
            raise InputError(f"there is no fault '{name}'; there are: {', '.join(FAULTS)}")
        with tempfile.TemporaryDirectory() as folder:
            rows.append(str(FAULTS[name](Path(folder))))
        say(rows[-1])
    load = os.getloadavg()[0]
    return "\n".join([HEAD, *rows, "", f"{STREAMS} streams of a window a second; the machine's load was {load:.0f}."])
