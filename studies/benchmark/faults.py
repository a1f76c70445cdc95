"""Faults on purpose, under load, with real servers: how long streams wait, and who has paid for what."""

import asyncio
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.privacy.entropy import SystemEntropy
from deeprotect.release.engine import Request, release
from deeprotect.release.episodes import live_observing
from deeprotect.release.ledger import Account, MemoryLedger, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.stored import StoredLedger
from deeprotect.release.live import LiveStream
from deeprotect.signals.schema import Floats
from deeprotect.signals.windowing import Run
from studies.benchmark import postgres
from studies.benchmark.made_up import CODES, RATE_HZ, VARIANTS, Shape, protector
from studies.benchmark.redeliveries import REDELIVERIES
from studies.benchmark.under_load import BUNDLE, CALM, HEAD, STREAMS, Bench, Row, Stream, hold, mosquitto


def full_disk(folder: Path, seconds: float) -> Row:
    """The kernel lets the gateway write no file beyond the size that it has, as on a disk without room."""
    with Bench(folder, str(folder / "ledger.sqlite")).running() as bench:
        pid = bench.gateways.processes[0].pid

        async def fill() -> None:
            free = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, free[1]))
            await asyncio.sleep(seconds)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, free)

        return asyncio.run(hold(bench, f"The disk is full for {seconds:g} s (SQLite)", bench.streams, fill))


def server_stopped(folder: Path, seconds: float) -> Row:
    with postgres.running() as cluster, Bench(folder, cluster.address).running() as bench:

        async def stop() -> None:
            await asyncio.to_thread(cluster.stop)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(cluster.start)

        return asyncio.run(hold(bench, f"PostgreSQL is stopped for {seconds:g} s", bench.streams, stop))


def gateway_killed(folder: Path, seconds: float) -> Row:
    with postgres.running() as cluster, Bench(folder, cluster.address, 2).running() as bench:
        hit = [each for each in bench.streams if bench.gateways.owner(each.name) == 0]

        async def kill() -> None:
            bench.gateways.kill(0)
            await asyncio.sleep(seconds)

        return asyncio.run(hold(bench, "One of two gateways is killed (nginx, PostgreSQL)", hit, kill))


def burst(folder: Path, messages: int = 1000) -> Row:
    with postgres.running() as cluster, Bench(folder, cluster.address, 2).running() as bench:

        async def all_at_once() -> None:
            await asyncio.gather(*(_plain(bench, bench.streams[place % STREAMS]) for place in range(messages)))

        return asyncio.run(hold(bench, f"{messages:,} messages more at once (nginx)", bench.streams, all_at_once))


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
        port, start = mosquitto(folder, stack)
        broker = start()
        options = ("--mqtt", f"mqtt://127.0.0.1:{port}")
        bench = stack.enter_context(Bench(folder, str(folder / "ledger.sqlite"), options=options).running())

        async def stop() -> None:
            broker.kill()
            broker.wait()
            await asyncio.sleep(seconds)
            start()
            await asyncio.sleep(3.0)

        row = asyncio.run(hold(bench, f"The broker is gone for {seconds:g} s", bench.streams, stop))
        back = bench.gateways.log(0).count("broker connected") - 1
    return Row(f"{row.fault}, and found again {back} time(s)", row.waited, row.others, row.answers, row.draws)


def unread_apps(folder: Path, seconds: float) -> Row:
    """Register five apps for each stream; none connects."""
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

            row = asyncio.run(hold(bench, f"A person of {charged:,} draws (PostgreSQL)", bench.streams[:1], go_on))
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
    **REDELIVERIES,
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
