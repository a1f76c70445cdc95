"""How many live streams gateways hold on this machine: rate, delay, memory; and the most that they hold."""

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.release.ledger.database import Database
from studies.benchmark import own_process, postgres
from studies.benchmark.gateways import SERVE, several_gateways

OK = 200
HELD = 0.99  # of the windows that are due must come
MOST_DELAY = 1.0  # second, at the 99th percentile
SETTLE_SECONDS = 15.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class Held:
    """One load: what came of what was due, how late, and what it cost."""

    streams: int
    share: float  # of the windows that were due
    p50_ms: float
    p99_ms: float
    worst_ms: float
    refused: int
    processor: float  # cores that the gateway kept busy
    generator: float  # cores that the devices and apps kept busy, on the same machine
    memory_mb: float  # of all gateways and the proxy
    per_stream_kb: float  # memory per stream, beyond that without streams
    ready: float  # share of the looks at health that found all well
    said: str  # by health, where not
    delay_ms: float  # the longest that a gateway said of itself

    @property
    def held(self) -> bool:
        return self.share >= HELD and self.p99_ms <= 1000 * MOST_DELAY

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


@dataclass(frozen=True)
class Trial:
    """A load: duration, number of gateways, interval of messages, ledger."""

    bundle: Path
    seconds: float = 20.0
    processes: int = 2  # behind nginx where there are several
    every: float = 1.0
    ledger: Literal["sqlite", "postgres"] = "sqlite"


def measure(trial: Trial, streams: int) -> Held:
    """So many devices and as many apps, each on a socket of its own; the ledger is new."""
    path, seconds = trial.bundle, trial.seconds
    bundle = Bundle.load(path)
    with tempfile.TemporaryDirectory() as folder, ledger(trial.ledger, Path(folder)) as address:
        tokens = registered(address, path, streams)
        command = [*SERVE, "--bundle", str(path), "--ledger", address]
        with several_gateways(command, Path(folder), trial.processes) as gateways:
            idle, pids = _memory(gateways.pids()), gateways.pids()
            given = {
                "address": f"ws://127.0.0.1:{gateways.port}",
                "rate_hz": round(bundle.schema.rate_hz),
                "channels": list(bundle.schema.names),
                "every": trial.every,
                "seconds": seconds,
                "settle": SETTLE_SECONDS,
                "tokens": tokens,
            }
            before, began = _processor(pids), time.monotonic()
            with watched([f"http://127.0.0.1:{port}" for port in gateways.ports[: trial.processes]]) as health:
                found = driven(given)
            took, busy, memory = time.monotonic() - began, _processor(pids) - before, _memory(pids)
    due = streams * seconds * bundle.schema.rate_hz / bundle.schema.window
    return Held(
        streams, found["windows"] / due, 1000 * found["p50"], 1000 * found["p99"], 1000 * found["worst"],
        found["refused"], busy / took, found["cpu"] / took, memory, 1000 * (memory - idle) / streams,
        health.ready, health.said, 1000 * health.delay,
    )  # fmt: skip


@dataclass
class HealthSeen:
    """Gateways' metrics, sampled twice a second."""

    looks: int = 0
    well: int = 0
    reasons: list[str] = field(default_factory=list)
    delay: float = 0.0

    @property
    def ready(self) -> float:
        return self.well / self.looks if self.looks else 0.0

    @property
    def said(self) -> str:
        return "; ".join(dict.fromkeys(self.reasons))

    def look(self, url: str) -> None:
        self.looks += 1
        try:
            answer = httpx.get(f"{url}/readyz", timeout=10)
            numbers = httpx.get(f"{url}/metrics", timeout=10).text
        except httpx.HTTPError as error:
            self.reasons.append(type(error).__name__)
            return
        self.well += answer.status_code == OK
        self.reasons += [] if answer.status_code == OK else [answer.json()["reason"]]
        delay = next(line for line in numbers.splitlines() if line.startswith("deeprotect_delay_seconds "))
        self.delay = max(self.delay, float(delay.split()[1]))


@contextmanager
def watched(urls: Sequence[str]) -> Iterator[HealthSeen]:
    """While something else is done."""
    seen, over = HealthSeen(), threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            for url in urls:
                seen.look(url)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def most_held(trial: Trial, first: int, *, say: Say) -> Iterator[Held]:
    """Doubling until it is not held any more, then once between."""
    held, streams = 0, first
    while True:
        found = measure(trial, streams)
        yield found
        say(
            f"{streams} streams: {found.share:.1%} of the windows, p99 {found.p99_ms:.0f} ms; "
            f"ready {found.ready:.0%}, delay by health {found.delay_ms:.0f} ms{f'; {found.said}' if found.said else ''}"
        )
        if not found.held:
            break
        held, streams = streams, 2 * streams
    if held:
        yield measure(trial, (held + streams) // 2)


@contextmanager
def ledger(kind: Literal["sqlite", "postgres"], folder: Path) -> Iterator[str]:
    """The address of a new one; a server of PostgreSQL is started for it, as durable as it is by default."""
    if kind == "sqlite":
        yield str(folder / "load.sqlite")
        return
    with postgres.running(settings="-c max_connections=200") as cluster:
        yield cluster.address


def registered(address: str, path: Path, streams: int) -> list[tuple[str, str]]:
    registry, run = Registry(Database.existing_or_new(address)), os.urandom(4).hex()
    name = path.resolve().name
    found = []
    for number in range(streams):
        stream = f"load-{run}-{number}"
        found.append((registry.add_device(stream), registry.add_app("app", stream=stream, bundle=name)))
    return found


def driven(given: dict[str, Any]) -> dict[str, Any]:
    command = own_process.program("load_generator")
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise InputError("the load could not be made; are there enough file descriptors? (ulimit -n)")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _families(pids: list[int]) -> list[int]:
    """Processes and their children."""
    children = (Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split() for pid in pids)
    return [*pids, *(int(child) for some in children for child in some)]


def _processor(pids: list[int]) -> float:
    """Seconds of all of them so far."""
    ticks = 0
    for each in _families(pids):
        fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(pids: list[int]) -> float:
    """MB that are theirs; shared pages are counted by their share."""
    text = "".join(Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii") for each in _families(pids))
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024
