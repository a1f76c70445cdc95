"""A ledger that is locked, removed, full or on a server that stops: nothing leaves unpaid, and all goes on after it."""

import functools
import os
import resource
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.gateway.live import Consumer, Gateway, check_paid, until

from deeprotect.gateway.streams.releaser import UNREACHABLE


def refused(gateway, first):
    """A window that cannot be paid for is answered so, in words that tell nothing of the server."""
    answer = gateway.send("ann", first, 4)
    assert (answer.status_code, answer.text) == (503, UNREACHABLE)
    until(lambda: not gateway.ready(), "the gateway to say that it is not ready", 10)


def goes_on(gateway, app, first):
    """Windows leave again; a gateway that has just waited for its ledger may ask the device to send once more."""
    before = len(app.windows)
    for place in range(3):
        sent = functools.partial(gateway.send, "ann", first + 4 * place, 4)
        until(lambda sent=sent: sent().status_code == 200, "a message to be taken")
    app.wait_for(before + 3)
    until(gateway.ready, "the gateway to be ready")
    assert gateway.send("ann", first + 12, 4).status_code == 200


@pytest.mark.long
def test_a_file_that_is_locked_or_removed_and_then_there_again(gateway):
    gateway.make("ann").start()
    app, ledger, away = Consumer(gateway, "ann"), Path(gateway.address), gateway.folder / "away"
    gateway.send("ann", 0, 4)
    app.wait_for(1)

    with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused(gateway, 4)
        assert gateway.alive()
        other.execute("ROLLBACK")
    goes_on(gateway, app, 8)

    ledger.rename(away)
    refused(gateway, 24)
    assert not gateway.ready()
    ledger.unlink(missing_ok=True)
    away.rename(ledger)
    goes_on(gateway, app, 28)

    ledger.rename(away)
    ledger.write_bytes(os.urandom(8192))
    refused(gateway, 44)
    away.replace(ledger)
    goes_on(gateway, app, 48)

    assert gateway.stop() == 0
    check_paid(gateway, app)
    gateway.check_nothing_raw(app)
    gateway.check_no_token()


def test_a_server_that_stops_and_starts_again(tmp_path, cluster):
    gateway = Gateway(tmp_path / "work", cluster.address).make("ann").start()
    try:
        app = Consumer(gateway, "ann")
        gateway.send("ann", 0, 4)
        app.wait_for(1)
        cluster.stop()
        for place in range(5):
            refused(gateway, 4 + 4 * place)
        assert not gateway.ready()
        assert len(app.windows) == 1
        cluster.start()
        goes_on(gateway, app, 24)
        assert gateway.stop() == 0
        check_paid(gateway, app)
        gateway.check_nothing_raw(app)
    finally:
        gateway.end()


def test_a_file_that_cannot_grow_any_more(gateway):
    """The limit is the kernel's, set on the running process; it holds for the log as well."""
    gateway.make("ann").start()
    app = Consumer(gateway, "ann")
    gateway.send("ann", 0, 4)
    app.wait_for(1)
    free = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (100, free[1]))
    for place in range(3):
        refused(gateway, 4 + 4 * place)
    assert len(app.windows) == 1
    assert gateway.alive()
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, free)
    goes_on(gateway, app, 16)
    assert gateway.stop() == 0
    check_paid(gateway, app)
    gateway.check_nothing_raw(app)


IN_MEMORY = 'mount -t tmpfs -o size=1m tmpfs "$1" && cp "$2" "$1" && shift 2 && exec "$@"'
APART = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", IN_MEMORY, "sh"]


def test_a_disk_that_is_full_and_then_has_room_again(gateway):
    """A real file system of 1 MiB, which only the gateway's process sees; its ledger is copied there and back."""
    small = gateway.folder / "small"
    small.mkdir()
    gateway.prefix = (*APART, str(small), gateway.address)
    gateway.make("ann")
    if shutil.which("unshare") is None or subprocess.run([*gateway.prefix, "true"], capture_output=True).returncode:
        pytest.skip("needs unshare and the right to mount a file system for a process of one's own")
    gateway.start("--ledger", str(small / "ledger.sqlite"))
    inside = Path(f"/proc/{gateway.process.pid}/root{small}")
    app = Consumer(gateway, "ann")
    gateway.send("ann", 0, 4)
    app.wait_for(1)
    with pytest.raises(OSError, match="No space"):
        (inside / "ballast").write_bytes(bytes(1 << 21))  # as much of it as there is room for
    for place in range(3):
        refused(gateway, 4 + 4 * place)
    assert "the disk is full" in gateway.log()
    (inside / "ballast").unlink()
    goes_on(gateway, app, 16)
    shutil.copy(inside / "ledger.sqlite", gateway.address)
    check_paid(gateway, app)
    gateway.check_nothing_raw(app)
