"""A PostgreSQL server of our own, in a folder of its own, that can be stopped and started again."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deeprotect.errors import InputError

WANTED = "needs PostgreSQL and psycopg; apt-get install postgresql, and install deeprotect[ledger]"


def program(name: str) -> str | None:
    """Debian keeps the server's programs out of the path."""
    found = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))]
    return next((path for path in reversed(found) if path), None)


class Cluster:
    """Reached by a socket in its folder. Without `settings`, as durable as PostgreSQL is by default."""

    def __init__(self, *, settings: str = "") -> None:
        if program("initdb") is None:
            raise InputError(f"PostgreSQL: {WANTED}")
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-"))  # short: a socket's path has at most 107 characters
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._data, self._settings = str(self.folder / "data"), settings
        _as_server("initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync", "--locale=C", "-E", "UTF8")

    def start(self) -> None:
        settings = f"-c listen_addresses= {self._settings} -k {self.folder}"
        _as_server("pg_ctl", "-D", self._data, "-w", "-o", settings, "-l", str(self.folder / "log"), "start")

    def stop(self) -> None:
        _as_server("pg_ctl", "-D", self._data, "-m", "immediate", "stop")

    def remove(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def pid(self) -> int:
        return int((Path(self._data) / "postmaster.pid").read_text(encoding="ascii").split()[0])

    @property
    def address(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}"


@contextmanager
def running(*, settings: str = "") -> Iterator[Cluster]:
    """Started, and gone with the block."""
    cluster = Cluster(settings=settings)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
        cluster.remove()


def _as_server(name: str, *arguments: str) -> None:
    """PostgreSQL refuses to run as root."""
    alone = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
    command = [*alone, program(name) or name, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")  # noqa: S603
