"""Readiness is found out by paying: what says that it is ready can pay, and what cannot pay says so in time."""

import asyncio
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from sqlalchemy import event
from tests.gateway.conftest import channel_bundle, message
from tests.gateway.live import Consumer, Gateway, until
from tests.gateway.live import body as canary_body
from tests.gateway.test_mediator import draws, listening, made
from tests.release.ledger.test_archive import release

from deeprotect.errors import LedgerUnavailableError
from deeprotect.gateway.operation.health import DRAWS_SECONDS, PATIENCE_SECONDS, Health, in_words
from deeprotect.gateway.registration.directory import Directory
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.stored import StoredLedger

SOON = 10.0  # seconds, on a machine that has much else to do


def answers(gateway):
    """What /readyz says, and how long it takes."""
    began = time.monotonic()
    answer = httpx.get(f"{gateway.url}/readyz", timeout=30)
    return answer.status_code, answer.json().get("reason", ""), time.monotonic() - began


def processes_of(cluster):
    """The server and all that it started."""
    head = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{head}/task/{head}/children").read_text().split()
    return [head, *map(int, children)]


@pytest.mark.long
def test_a_server_that_is_stopped_is_told_within_seconds_and_nobody_hangs(tmp_path, cluster):
    gateway = Gateway(tmp_path / "work", cluster.address).make("ann").start()
    try:
        Consumer(gateway, "ann")
        assert gateway.send("ann", 0, 4).status_code == 200
        assert gateway.metric("ready") == 1
        stopped = processes_of(cluster)
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        try:
            until(lambda: gateway.metric("ready") == 0, "the gauge to fall", SOON)
            status, reason, took = answers(gateway)
            assert (status, took < 2) == (503, True)
            assert reason
            assert gateway.send("ann", 4, 4).status_code == 503
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)
        until(lambda: gateway.metric("ready") == 1, "the gauge to rise", 2 * SOON)
        until(lambda: '"event": "ready"' in gateway.log(), "the log to say so", SOON)
        log = gateway.log()
        assert log.rindex('"event": "ready"') > log.rindex('"event": "not ready"')
        assert '"event": "nothing leaves", "stream": "ann", "app": "fitness", "why": "ledger failing"' in log
    finally:
        gateway.end()


def fill(ledger):
    for number in range(10_000):
        release(ledger, number)


def test_a_database_that_cannot_grow_is_not_ready_though_it_can_be_read(tmp_path):
    """SQLite's own limit on pages stands for a full disk: what is there stays, and no page more."""
    gateway = made(tmp_path)

    def full(connection, _):
        connection.execute("PRAGMA max_page_count = 1")

    async def play():
        async with gateway.running():
            before = gateway.health.trouble
            event.listen(gateway.database.engine, "connect", full)
            filling = StoredLedger(gateway.database, Account("other"), Price.of(channel_bundle().mechanism))
            with pytest.raises(LedgerUnavailableError, match="the disk is full"):
                fill(filling)
            await gateway.health._try()
            return before, Directory(gateway.registry).devices(), gateway.health.trouble

    before, read, after = asyncio.run(play())
    assert before is None
    assert [device.stream for device in read] == ["watch"]
    assert "the disk is full" in after


class Paying:
    """A ledger that works as it is told; its clock is the test's."""

    def __init__(self):
        self.now, self.fails, self.paid = 0.0, None, 0
        self.health = Health(self.pay, now=lambda: self.now)

    def pay(self):
        if self.fails is not None:
            raise self.fails
        self.paid += 1

    def look(self):
        asyncio.run(self.health.look())
        return self.health.trouble


def test_before_anything_was_paid_it_is_not_ready():
    paying = Paying()
    assert paying.health.trouble == "no draw was paid for yet"
    assert paying.look() is None


def test_a_payment_that_fails_is_the_reason_until_one_is_made(capfd):
    paying = Paying()
    paying.look()
    paying.fails = LedgerUnavailableError("the disk is full")
    assert paying.look() == "the disk is full"
    paying.fails = ValueError("3.14159")
    assert "3.14159" not in paying.look()
    paying.fails = None
    assert paying.look() is None
    said = capfd.readouterr().err
    assert (said.count('"event": "not ready"'), said.count('"event": "ready"')) == (2, 1)
    assert "3.14159" not in said


def test_a_payment_that_does_not_come_back_counts_as_failed():
    paying = Paying()
    paying.look()
    paying.health._asked, paying.now = 0.0, PATIENCE_SECONDS + 1
    assert paying.health.trouble == "the ledger has not answered for 4 s"


def test_draws_that_cannot_be_paid_for_outweigh_a_probe_that_can_and_paid_ones_spare_it():
    paying = Paying()
    paying.look()
    paying.now = 10.0
    paying.health.note(paid=False, unpaid=True)
    assert paying.look() == "the last draw could not be paid for"
    assert paying.paid == 2
    paying.now = 11.0
    paying.health.note(paid=True, unpaid=False)
    assert paying.look() is None
    assert paying.paid == 2  # nobody needs to try what was just done
    paying.now = 20.0
    paying.health.note(paid=False, unpaid=True)
    paying.now = 21.0 + DRAWS_SECONDS
    assert paying.look() is None


def test_every_reason_why_a_window_stays_is_counted_and_said(tmp_path, capfd):
    gateway = made(tmp_path, every="2 s", budget={"in_all": 10.0})

    async def play():
        async with gateway.running():
            await gateway.mediator.receive(gateway.directory.device("watch"), message(0, 40, session="unread"))
        return dict(gateway.mediator.status(["watch"])[0].apps[0].withheld)

    assert asyncio.run(play()) == {"nobody reads": 10}

    second = made_again(tmp_path)

    async def listen():
        async with listening(second) as (mediator, device, _):
            await mediator.receive(device, message(0, 4))
            await mediator.receive(device, message(8, 12))  # its second window is missing: a gap
            for first in (20, 40, 60, 80):
                await mediator.receive(device, message(first, 20))
            reasons, status = mediator.reasons(), mediator.status(["watch"])[0].apps[0]
            return dict(reasons), dict(status.withheld)

    reasons, withheld = asyncio.run(listen())
    assert draws(second) == 2
    assert reasons == {"budget spent": 1}
    assert withheld["gap"] >= 4
    assert withheld["budget spent"] >= 5
    for why, windows in withheld.items():
        assert second.metrics.withheld.labels(why)._value.get() >= windows
    said = capfd.readouterr().err
    for why in ("nobody reads", "gap", "budget spent"):
        assert f'"event": "nothing leaves", "stream": "watch", "app": "fitness", "why": "{why}"' in said
    assert '"event": "windows leave again"' in said


def test_a_failing_ledger_is_not_called_a_limit_and_an_outage_is_logged_when_it_changes(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("deeprotect.gateway.mediation.gateway.REFRESH_SECONDS", 0.01)
    gateway = made(tmp_path)

    def away(*_, **__):
        raise LedgerUnavailableError("the server is gone")

    async def play():
        async with listening(gateway) as (_, device, _):
            with monkeypatch.context() as broken:
                broken.setattr(gateway.registry, "known", away)
                broken.setattr(gateway.mediator._releaser, "_open_ledgers", refuse_all)
                answer = await gateway.take(device, canary_body("watch", 0, 8))
                await asyncio.sleep(0.2)
            await asyncio.sleep(0.2)
            large = await gateway.take(device, b" " * (gateway.settings.most_bytes + 1))
            return answer.status, large.status

    def refuse_all(orders):
        return {order.key: LedgerUnavailableError("the server is gone") for order in orders}

    assert asyncio.run(play()) == (503, 413)
    log = capfd.readouterr().err
    assert log.count("registry cannot be read") == 1
    assert log.count("registry can be read again") == 1
    assert log.count("a limit was reached") == 1
    assert '"status": 413' in log


def made_again(tmp_path):
    from deeprotect.gateway.mediation.gateway import Gateway as Made
    from deeprotect.gateway.mediation.gateway import Settings

    return Made(Settings({"protector": tmp_path / "protector"}, str(tmp_path / "ledger.sqlite")))


@pytest.mark.long
def test_a_spent_budget_and_a_failing_ledger_are_answered_differently(gateway):
    gateway.make("ann", budget={"in_all": 5.0}).start()
    Consumer(gateway, "ann")
    assert gateway.send("ann", 0, 4).status_code == 200
    assert gateway.send("ann", 4, 4).status_code == 499
    with closing(sqlite3.connect(gateway.address, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        failing, waiting = (gateway.send("ann", first, 4) for first in (8, 12))
        assert (failing.status_code, waiting.status_code) == (503, 503)
        assert "the ledger is unavailable" in failing.text
        other.execute("ROLLBACK")
    assert gateway.metric("withheld_windows_total", why="budget spent") >= 1
    until(lambda: gateway.send("ann", 400, 8).status_code == 499, "the ledger to be used again")


@pytest.mark.parametrize(
    ("trouble", "withheld", "said"),
    [
        (None, {}, "All is well: draws are paid for, and 3 of 4 streams are heard from."),
        ("the disk is full", {"gap": 1}, "Nothing leaves: no draw can be paid for. The disk is full."),
        (
            None,
            {"nobody reads": 2, "budget spent": 1},
            "Draws are paid for, and 3 of 4 streams are heard from; 3 apps get nothing: budget spent (1), "
            "nobody reads (2).",
        ),
    ],
)
def test_the_state_is_said_in_words(trouble, withheld, said):
    assert in_words(trouble, live=3, streams=4, withheld=withheld) == said
