"""A real PostgreSQL server that the tests start for themselves, and can stop and start again."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

WANTED = "needs PostgreSQL and psycopg; apt-get install postgresql, and install deeprotect[ledger]"


def program(name):
    """Debian keeps the server's programs out of the path."""
    found = [shutil.which(name), *sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))]
    return next((str(path) for path in reversed(found) if path), None)


def _as_server(*command):
    """PostgreSQL refuses to run as root."""
    alone = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
    subprocess.run([*alone, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


class Cluster:
    """In a folder of its own, reached by a socket there."""

    def __init__(self):
        _require()
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-"))  # short: a socket's path has at most 107 characters
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._data = str(self.folder / "data")
        settings = ("-A", "trust", "-U", "postgres", "--no-sync", "--locale=C", "-E", "UTF8")
        _as_server(program("initdb"), "-D", self._data, *settings)

    def start(self):
        settings = f"-c listen_addresses= -c fsync=off -c default_transaction_isolation=serializable -k {self.folder}"
        _as_server(program("pg_ctl"), "-D", self._data, "-w", "-o", settings, "-l", str(self.folder / "log"), "start")

    def stop(self):
        _as_server(program("pg_ctl"), "-D", self._data, "-m", "immediate", "stop")

    def remove(self):
        shutil.rmtree(self.folder)

    @property
    def address(self):
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}"


def _require():
    try:
        import psycopg
    except ModuleNotFoundError:
        psycopg = None
    if psycopg is None or program("initdb") is None:
        (pytest.fail if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1" else pytest.skip)(WANTED)
