"""Gateways on one ledger, and nginx in front of them where there are several: as docs/deploy says, on free ports."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from deeprotect.errors import InputError
from deeprotect.gateway.registration.addresses import SHARDS, GatewayPlace

START_SECONDS = 120.0
STOP_SECONDS = 60.0
SERVE = (sys.executable, "-c", "from deeprotect.cli import main; main()", "gateway", "serve")
WANTED = "several gateways need nginx; apt-get install nginx-light"


def nginx_program() -> str | None:
    """Debian keeps servers out of a user's path."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@dataclass
class Gateways:
    """Running; each may be killed and started again. `port` is where devices and apps connect."""

    command: Sequence[str]  # of each gateway, without port and shard
    folder: Path  # of logs and of nginx
    count: int
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    proxy: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        if self.count > 1 and nginx_program() is None:
            raise InputError(WANTED)
        self.ports = free_ports(self.count + 1)
        self.port = self.ports[self.count if self.count > 1 else 0]

    def start(self) -> None:
        self.processes = [self._gateway(index) for index in range(self.count)]
        for index in range(self.count):
            self.wait_for(index)
        if self.count > 1:
            self._start_proxy()

    def kill(self, index: int) -> None:
        self.processes[index].kill()
        self.processes[index].wait()

    def start_again(self, index: int) -> None:
        self.processes[index] = self._gateway(index)

    def stop(self) -> None:
        for process in [*self.processes, *([self.proxy] if self.proxy else [])]:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(STOP_SECONDS)

    def pids(self) -> list[int]:
        """CPU time of all processes that handle messages."""
        return [each.pid for each in (*self.processes, *([self.proxy] if self.proxy else []))]

    def owner(self, stream: str) -> int:
        return GatewayPlace(0, self.count).owner(stream)

    def log(self, index: int) -> str:
        return (self.folder / f"gateway{index + 1}.log").read_text(encoding="utf-8")

    def wait_for(self, index: int) -> None:
        _await(self.ports[index], self.processes[index], self.folder / f"gateway{index + 1}.log")

    def _gateway(self, index: int) -> "subprocess.Popen[bytes]":
        own = ["--port", str(self.ports[index]), "--shard", f"{index + 1}/{self.count}"]
        with (self.folder / f"gateway{index + 1}.log").open("ab") as log:
            return subprocess.Popen([*self.command, *own], stdout=log, stderr=log, env=dict(self.environment))  # noqa: S603

    def _start_proxy(self) -> None:
        own = self.folder / "nginx"
        own.mkdir(exist_ok=True)
        (own / "nginx.conf").write_text(proxy_settings(self.port), encoding="utf-8")
        addresses = [f"127.0.0.1:{port}" for port in self.ports[: self.count]]
        (own / "gateways.conf").write_text(gateway_settings(addresses), encoding="utf-8")
        here = "daemon off; pid nginx.pid;" + (" user root;" if os.geteuid() == 0 else "")
        command = [nginx_program() or "nginx", "-p", str(own), "-c", "nginx.conf", "-g", here]
        with (own / "log").open("wb") as log:
            self.proxy = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603
        _await(self.port, self.proxy, own / "log")


@contextmanager
def several_gateways(command: Sequence[str], folder: Path, count: int) -> Iterator[Gateways]:
    """Started, and gone with the block."""
    gateways = Gateways(command, folder, count)
    with ExitStack() as stack:
        stack.callback(gateways.stop)
        gateways.start()
        yield gateways


def proxy_settings(port: int) -> str:
    """docs/deploy/nginx.conf, at another port and with its temporary files in its own folder."""
    parents = Path(__file__).resolve().parents
    deploy = next((each / "docs" / "deploy" for each in parents if (each / "docs" / "deploy").is_dir()), None)
    if deploy is None:
        raise InputError("several gateways are measured in a clone of the repository, which has docs/deploy/nginx.conf")
    text = (deploy / "nginx.conf").read_text(encoding="utf-8")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = " ".join(f"{kind}_temp_path {kind};" for kind in kinds)
    return text.replace("http {", f"http {{\n    {folders}", 1).replace("listen 8765", f"listen 127.0.0.1:{port}")


def gateway_settings(addresses: Sequence[str]) -> str:
    """docs/deploy/gateways.conf for these: who has which shards, and the next one stands in."""
    count = len(addresses)
    lines = ["# Which gateway has which shards, and who stands in for it while it is gone.", "map $shard $gateway {"]
    lines += [f"    ~^({'|'.join(_prefixes(index, count))}) gateway{index + 1};" for index in range(count)]
    lines += ["    default gateway1;", "}"]
    for index, address in enumerate(addresses):
        own, other = (
            f"server {address} max_fails=1 fail_timeout=1s;",
            f"server {addresses[(index + 1) % count]} backup;",
        )
        lines.append(f"upstream gateway{index + 1} {{ {own} {other} keepalive 64; }}")
    return "\n".join(lines) + "\n"


def _prefixes(index: int, count: int) -> list[str]:
    """The shortest that are the shards of one gateway and of no other."""
    digits, found, shard = 3, [], -(-index * SHARDS // count)
    end = -(-(index + 1) * SHARDS // count)
    while shard < end:
        free = next(each for each in (2, 1, 0) if shard % 16**each == 0 and shard + 16**each <= end)
        found.append(f"{shard:03x}"[: digits - free])
        shard += 16**free
    return found


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


def _await(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    last = log.read_text(encoding="utf-8").strip().rpartition("\n")[2]
    raise InputError(f"what should listen at port {port} did not start: {last[-300:]}")
