"""A standalone Spark cluster on this machine, started from nothing: a master, and workers of one core each."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deeprotect.errors import DeeprotectError

START_SECONDS = 60
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"


@dataclass(frozen=True)
class Standalone:
    """Where its master is, and the processes of its workers."""

    master: str
    workers: tuple[int, ...]

    @property
    def processor_seconds(self) -> float:
        """CPU time of workers, their executors, and the executors' Python processes."""
        return sum(map(_seconds, _with_children(self.workers)))

    def executors(self) -> list[int]:
        """Processes that run tasks now."""
        return [pid for pid in _with_children(self.workers) if b"CoarseGrainedExecutorBackend" in _command(pid)]


@contextmanager
def standalone(workers: int, folder: Path, *, memory: str = "2g") -> Iterator[Standalone]:
    """So many workers, each on a core of its own; everything ends with the block."""
    import pyspark

    home, port = Path(pyspark.__file__).parent, _free_port()
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    master = f"spark://127.0.0.1:{port}"
    options = ["--host", "127.0.0.1", "--webui-port", "0"]
    one = ["--cores", "1", "--memory", memory, "--work-dir", str(folder / "work"), master]
    commands = [[MASTER, *options, "--port", str(port)], *([WORKER, *options, *one] for _ in range(workers))]
    cores = sorted(os.sched_getaffinity(0))
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(commands):
            # Spark only counts a worker's cores: without this, one worker would use two.
            own = ["taskset", "--cpu-list", str(cores[number % len(cores)])] if number else []
            full = [*own, str(home / "bin" / "spark-class"), *command]
            started.append(_start(full, folder / f"{number}.log", environment))
            _await(folder / f"{number}.log", "Successfully registered" if number else "Starting Spark master")
        yield Standalone(master, tuple(process.pid for process in started[1:]))
    finally:
        for process in reversed(started):
            for pid in reversed(_with_children((process.pid,))):
                _kill(pid)
            process.wait()


def _start(command: list[str], log: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=dict(environment))  # noqa: S603


def _await(log: Path, line: str) -> None:
    end = time.monotonic() + START_SECONDS
    while line not in log.read_text():
        if time.monotonic() > end:
            raise DeeprotectError(f"Spark's cluster did not start in {START_SECONDS} s; {log} says why")
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _with_children(pids: tuple[int, ...]) -> list[int]:
    """These processes and all below them, parents first."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        fields = _stat(int(path.parent.name))
        if fields:
            parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = list(pids)
    for pid in found:
        found += parents.get(pid, [])
    return found


def _stat(pid: int) -> list[str]:
    """Fields from the state on; the fields before it may contain anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _seconds(pid: int) -> float:
    """CPU time of a process, and of its children that have ended."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
