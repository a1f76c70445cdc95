"""The last day by the minute: what was counted, in bounded space, there after a restart and whoever else writes."""

import asyncio
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest
from sqlalchemy import func, insert, select
from tests.gateway.conftest import channel_bundle, message
from tests.gateway.live import Consumer
from tests.gateway.live import Gateway as Process
from tests.gateway.test_mediator import listening, made

from deeprotect.errors import LedgerUnavailableError
from deeprotect.gateway.operation import history
from deeprotect.gateway.operation.health import Metrics
from deeprotect.gateway.operation.history import Minute, MinuteHistory, read
from deeprotect.release.ledger import Account, Price
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import charges
from deeprotect.release.ledger.stored import StoredLedger, pay

START = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = int(START.timestamp()) // 60


@pytest.fixture
def now():
    return [START]


@pytest.fixture
def database(tmp_path):
    return Database.existing_or_new(str(tmp_path / "ledger.sqlite"))


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def kept(database, metrics, now):
    return MinuteHistory(database, metrics, clock=lambda: now[0])


def count(metrics, windows, *refused, delay=0.0):
    metrics.windows.inc(windows)
    metrics.messages.labels("200").inc(windows)
    for status in refused:
        metrics.messages.labels(status).inc()
    if windows:
        metrics.note_latency(delay)


def later(now, kept, minutes=1):
    now[0] += timedelta(minutes=minutes)
    kept.keep()


def test_each_minute_has_its_own_counts_and_its_own_longest_delay(database, metrics, kept, now):
    count(metrics, 5, "499", "503", delay=0.5)
    count(metrics, 2, delay=0.1)
    kept.keep()
    assert read(database, since=0) == []  # it is not over
    later(now, kept)
    count(metrics, 1, delay=0.2)
    later(now, kept)
    later(now, kept)
    assert read(database, since=0) == [
        Minute(FIRST, 7, 2, 0.5, 0.0), Minute(FIRST + 1, 1, 0, 0.2, 0.0), Minute(FIRST + 2, 0, 0, 0.0, 0.0),
    ]  # fmt: skip
    assert [each.number for each in read(database, since=FIRST + 2)] == [FIRST + 2]


def test_a_restart_in_the_middle_of_a_minute_loses_and_repeats_nothing(database, metrics, kept, now):
    count(metrics, 5, delay=0.5)
    kept.keep(closing=True)
    again = Metrics()
    after = MinuteHistory(Database.existing_or_new(database.where), again, clock=lambda: now[0])
    count(again, 3, "499", delay=0.1)
    later(now, after)
    assert read(database, since=0) == [Minute(FIRST, 8, 1, 0.5, 0.0)]


def test_gateways_on_one_ledger_are_added_up(database, metrics, kept, now):
    others = Metrics()
    other = MinuteHistory(database, others, place=1, clock=lambda: now[0])
    count(metrics, 5, delay=0.5)
    count(others, 6, "503", delay=0.7)
    later(now, kept)
    other.keep()
    assert read(database, since=0) == [Minute(FIRST, 11, 1, 0.7, 0.0)]


def test_what_the_database_cannot_take_is_written_later_and_not_without_end(database, metrics, kept, now):
    with mock.patch.object(Database, "writing", side_effect=LedgerUnavailableError("gone")):
        for _ in range(history.MOST_UNWRITTEN + 3):
            count(metrics, 1)
            with pytest.raises(LedgerUnavailableError):
                later(now, kept)
    later(now, kept)
    found = read(database, since=0)
    assert len(found) == history.MOST_UNWRITTEN
    assert found[-1].number == FIRST + history.MOST_UNWRITTEN + 3


def test_its_space_is_bounded_whatever_the_clock_does(database, metrics, kept, now, monkeypatch):
    monkeypatch.setattr(history, "KEPT", 10)
    for _ in range(30):
        later(now, kept)
    now[0] += timedelta(days=400)
    later(now, kept)
    now[0] -= timedelta(days=400)
    for _ in range(30):
        later(now, kept)
    with database.reading() as connection:
        sizes = [
            connection.execute(select(func.count()).select_from(t)).scalar() for t in (history.minutes, history.spent)
        ]
    assert all(size <= 12 for size in sizes)


def charge(database, *, at, draws, price=1, paid=1, many=1):
    """Rows as the ledger writes them."""
    with database.writing("test") as connection:
        first = connection.execute(select(func.coalesce(func.max(charges.c.first), 0))).scalar() + 1
        moment = int(at.timestamp() * 10**6)
        rows = [
            {
                "stream": 1,
                "app": "",
                "price": price,
                "key": b"",
                "first": first + 10_000 * k,
                "draws": draws,
                "paid": paid,
            }
            for k in range(many)
        ]
        connection.execute(insert(charges), [row | {"at": moment} for row in rows])


@pytest.fixture
def account(database):
    """One that draws cost ε = 5 of."""
    return StoredLedger(database, Account("watch"), Price.of(channel_bundle().mechanism))


def test_epsilon_is_what_the_ledger_charged_in_that_minute(database, metrics, kept, now, account):
    pay(database, clock=lambda: now[0])  # which is nobody's
    charge(database, at=START - timedelta(hours=1), draws=100, many=3 * history._STEP)
    charge(database, at=START + timedelta(seconds=5), draws=3)
    charge(database, at=START + timedelta(seconds=59), draws=1)
    charge(database, at=START + timedelta(seconds=59), draws=50, paid=0)
    charge(database, at=START + timedelta(seconds=61), draws=2)
    later(now, kept)
    assert read(database, since=0)[0].epsilon == pytest.approx(20.0)
    charge(database, at=START + timedelta(seconds=59.9), draws=1)  # committed late
    later(now, kept)
    assert [each.epsilon for each in read(database, since=0)] == pytest.approx([25.0, 10.0])


def test_a_gateway_that_runs_counts_what_left_what_it_cost_and_what_was_refused(tmp_path):
    gateway = made(tmp_path)
    minute = gateway.history._minute

    async def play():
        async with listening(gateway) as (mediator, device, _):
            await mediator.receive(device, message(0, 12))
            await gateway.take(device, b"no such message")
            gateway.history.keep(closing=True)

    asyncio.run(play())
    found = read(gateway.database, since=minute)
    assert (sum(each.windows for each in found), sum(each.refused for each in found)) == (3, 1)
    assert sum(each.epsilon for each in found) == pytest.approx(15.0)
    assert max(each.delay for each in found) > 0


@pytest.fixture
def process(tmp_path):
    found = Process(tmp_path / "work")
    yield found
    found.end()


def _survives(process):
    """Windows, ε and a refusal are there after a stop and a start, and after a second stop, each once."""
    process.make("ann").start()
    app = Consumer(process, "ann")
    process.send("ann", 0, 12)
    app.wait_for(3)
    assert process.post("ann", b"no such message").status_code == 422
    for _ in range(2):
        assert process.stop() == 0
        found = read(process.registry().database, since=0)
        assert (sum(each.windows for each in found), sum(each.refused for each in found)) == (3, 1)
        assert sum(each.epsilon for each in found) == pytest.approx(15.0)
        process.start()


def test_a_stop_and_a_start_lose_nothing_of_it(process):
    _survives(process)


@pytest.mark.long
def test_nor_do_they_on_postgresql(process, cluster):
    process.address = cluster.address
    _survives(process)
