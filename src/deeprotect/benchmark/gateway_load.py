"""How many live streams a gateway holds on this machine: rate, delay, memory; and the most that it holds."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deeprotect.bundle import Bundle
from deeprotect.errors import InputError
from deeprotect.gateway.registration.device_registry import Registry

HELD = 0.99  # of the windows that are due must come
MOST_DELAY = 1.0  # second, at the 99th percentile
SETTLE_SECONDS = 15.0
START_SECONDS = 120.0
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
    memory_mb: float  # of all processes of the gateway
    per_stream_kb: float  # of it, above what it has without streams

    @property
    def held(self) -> bool:
        return self.share >= HELD and self.p99_ms <= 1000 * MOST_DELAY

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"held": self.held}


@dataclass(frozen=True)
class Trial:
    """What is tried: for how long, by how many processes of the gateway, messages how far apart, in which ledger."""

    bundle: Path
    seconds: float = 20.0
    processes: int = 2
    every: float = 1.0
    ledger: str | None = None  # a file of its own


def measure(trial: Trial, streams: int) -> Held:
    """One gateway, so many devices and as many apps, each on a socket of its own."""
    path, seconds = trial.bundle, trial.seconds
    bundle = Bundle.load(path)
    with tempfile.TemporaryDirectory() as folder:
        address = trial.ledger or str(Path(folder) / "load.sqlite")
        tokens = _registered(address, path, streams)
        with _gateway(path, address, trial.processes) as (port, process):
            idle = _memory(process.pid)
            given = {
                "address": f"ws://127.0.0.1:{port}",
                "rate_hz": round(bundle.schema.rate_hz),
                "channels": list(bundle.schema.names),
                "every": trial.every,
                "seconds": seconds,
                "settle": SETTLE_SECONDS,
                "tokens": tokens,
            }
            before, began = _processor(process.pid), time.monotonic()
            found = _driven(given)
            took, busy, memory = time.monotonic() - began, _processor(process.pid) - before, _memory(process.pid)
    due = streams * seconds * bundle.schema.rate_hz / bundle.schema.window
    return Held(
        streams, found["windows"] / due, 1000 * found["p50"], 1000 * found["p99"], 1000 * found["worst"],
        found["refused"], busy / took, found["cpu"] / took, memory, 1000 * (memory - idle) / streams,
    )  # fmt: skip


def most_held(bundle: Path, first: int, *, say: Say) -> Iterator[Held]:
    """Doubling until it is not held any more, then once between."""
    trial, held, streams = Trial(bundle), 0, first
    while True:
        found = measure(trial, streams)
        yield found
        say(f"{streams} streams: {found.share:.1%} of the windows, p99 {found.p99_ms:.0f} ms")
        if not found.held:
            break
        held, streams = streams, 2 * streams
    if held:
        yield measure(trial, (held + streams) // 2)


def _registered(address: str, path: Path, streams: int) -> list[tuple[str, str]]:
    registry, run = Registry.at(address), os.urandom(4).hex()
    name = path.resolve().name
    found = []
    for number in range(streams):
        stream = f"load-{run}-{number}"
        found.append((registry.add_device(stream), registry.add_app("app", stream=stream, bundle=name)))
    return found


@contextmanager
def _gateway(path: Path, address: str, processes: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A gateway in a process of its own, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-c", "from deeprotect.cli import main; main()", "serve"),
        *("--bundle", str(path), "--ledger", address, "--port", str(port), "--processes", str(processes)),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        _await_start(port, process)
        yield port, process
    finally:
        process.terminate()
        process.wait(60)


def _await_start(port: int, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                time.sleep(1.0)  # for the other processes
                return
        except OSError:
            time.sleep(0.2)
    raise InputError("the gateway did not start; try `deeprotect serve` with the same bundle")


def _driven(given: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "deeprotect.benchmark.load_generator"]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise InputError("the load could not be made; are there enough file descriptors? (ulimit -n)")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _family(pid: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *map(int, children)]


def _processor(pid: int) -> float:
    """Seconds of all of them so far."""
    ticks = 0
    for each in _family(pid):
        fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    """MB that are theirs; shared pages are counted by their share."""
    text = "".join(Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii") for each in _family(pid))
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024
