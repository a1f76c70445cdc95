"""Draws are made for those who can receive them, and for nobody else."""

import asyncio
from functools import partial

import httpx
from tests.gateway.conftest import START, STEP, message
from tests.gateway.live import Consumer
from tests.gateway.test_mediator import draws, listening, made

from deeprotect.gateway.streams.hub import Readers, topic_of
from deeprotect.release.ledger.statement import statement


def with_apps(tmp_path, count, **privacy):
    gateway = made(tmp_path, **privacy)
    for number in range(1, count):
        gateway.registry.add_app(f"app {number}", stream="watch", bundle="protector")
    gateway.directory.refresh()
    return gateway


async def ten_minutes(mediator, device):
    """6,000 readings of ten a second, as fast as they are taken."""
    return [await mediator.receive(device, message(first, 100)) for first in range(0, 6000, 100)]


def test_five_apps_that_nobody_reads_cost_nothing_in_ten_minutes(tmp_path):
    gateway = with_apps(tmp_path, 5)

    async def play():
        async with gateway.running():
            receipts = await ten_minutes(gateway.mediator, gateway.directory.device("watch"))
            return receipts, gateway.mediator.status(["watch"])[0].apps

    receipts, apps = asyncio.run(play())
    assert sum(receipt.accepted for receipt in receipts) == 6000
    assert {receipt.waits for receipt in receipts} == {"a reader: nothing is drawn before one is there"}
    assert statement(gateway.database).people == ()
    assert gateway.metrics.withheld.labels("nobody reads")._value.get() == 5 * 1500  # with what ended in the end
    assert [(app.withheld, app.whys, app.is_read) for app in apps] == [
        ({"nobody reads": 1500}, ("nobody reads",), False)
    ] * 5


def test_only_the_app_that_is_read_is_paid_for(tmp_path):
    gateway = with_apps(tmp_path, 5, every="2 s")

    async def play():
        async with listening(gateway) as (mediator, device, got):
            receipts = await ten_minutes(mediator, device)
            await asyncio.sleep(0.01)
            return receipts, len(got)

    receipts, got = asyncio.run(play())
    assert {receipt.waits for receipt in receipts} == {None}
    assert got == 1500
    assert draws(gateway) == 300
    (person,) = statement(gateway.database).people
    assert person.apps == ("fitness",)


def test_a_page_that_looks_on_is_no_reader_and_sees_what_one_gets(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with gateway.running():
            app, device = gateway.directory.apps()[0], gateway.directory.device("watch")
            with gateway.mediator.subscribe(app, "looks on") as page:
                await gateway.mediator.receive(device, message(0, 8))
                unread = draws(gateway)
                with gateway.mediator.subscribe(app):
                    await gateway.mediator.receive(device, message(8, 4))
                return unread, (await anext(page)).times_ns[0]

    assert asyncio.run(play()) == (0, START + 4 * STEP)  # the newest that was there when the reader came


def test_a_reader_that_comes_in_the_middle_of_an_episode_gets_its_draw(tmp_path):
    gateway = made(tmp_path, every="2 s")  # five windows

    async def play():
        async with gateway.running():
            mediator, device = gateway.mediator, gateway.directory.device("watch")
            await mediator.receive(device, message(0, 32))  # the second episode is at its third window
            assert draws(gateway) == 0
            with mediator.subscribe(gateway.directory.apps()[0]) as windows:
                await mediator.receive(device, message(32, 4))
                return [(await anext(windows)).times_ns[0] for _ in range(4)]

    assert asyncio.run(play()) == [START + 4 * window * STEP for window in range(5, 9)]
    assert draws(gateway) == 1


def test_from_the_moment_a_reader_has_gone_nothing_is_drawn(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with gateway.running():
            mediator, device, app = gateway.mediator, gateway.directory.device("watch"), gateway.directory.apps()[0]
            with mediator.subscribe(app) as windows:
                await mediator.receive(device, message(0, 4))
            for first in range(4, 40, 4):
                await mediator.receive(device, message(first, 4))
            return mediator.status(["watch"])[0].apps[0], (await anext(windows)).times_ns[0]

    status, first = asyncio.run(play())
    assert (draws(gateway), first) == (1, START)
    assert (status.dropped, status.withheld) == (0, {"nobody reads": 9})
    assert gateway.metrics.lost.labels("absent")._value.get() == 0


def test_a_window_that_was_drawn_while_its_reader_left_is_kept_for_who_comes_soon(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with gateway.running():
            mediator, device, app = gateway.mediator, gateway.directory.device("watch"), gateway.directory.apps()[0]
            left, run = mediator.subscribe(app), mediator._releaser.run
            mediator._releaser.run = lambda orders: (run(orders), left.close())
            await mediator.receive(device, message(0, 4))
            mediator._releaser.run = run
            with mediator.subscribe(app) as windows:
                return (await anext(windows)).times_ns[0]

    assert asyncio.run(play()) == START
    assert gateway.metrics.lost.labels("absent")._value.get() == 1


def test_an_address_that_answers_is_a_reader_until_it_does_not(tmp_path):
    app, heard = made(tmp_path).directory.apps()[0], set()
    readers = Readers(heard.__contains__)
    assert (readers.are_there(app), readers.are_wanted(app)) == (False, True)
    readers.answers(app, is_so=True)
    assert (readers.are_there(app), readers.are_wanted(app)) == (True, False)
    readers.answers(app, is_so=False)
    assert not readers.are_there(app)
    heard.add(topic_of(app))
    assert readers.are_there(app)


def test_an_app_is_known_as_soon_as_it_is_registered(gateway):
    gateway.make().start()
    for number in range(5):
        gateway.register(f"walk {number}")  # a device and its app
        assert gateway.send(f"walk {number}", 0, 4).status_code == 200
        app = Consumer(gateway, f"walk {number}")
        gateway.send(f"walk {number}", 4, 8)
        app.wait_for(2)


def test_who_tries_tokens_makes_the_registry_be_read_ten_times_a_second_at_most(tmp_path):
    directory = made(tmp_path).directory
    reads, refresh = [], directory.refresh
    directory.refresh = lambda: (reads.append(1), refresh())

    async def play():
        tried = (directory.newest(partial(directory.app_of, f"token {number}")) for number in range(2000))
        assert set(await asyncio.gather(*tried)) == {None}

    asyncio.run(play())
    assert len(reads) <= 3


def test_a_replay_that_nobody_reads_spends_nothing(gateway):
    gateway.make("ann").start()
    answers = [gateway.send("ann", first, 40).json() for first in range(0, 400, 40)]
    assert all(
        answer == {"accepted": 40, "waits": "a reader: nothing is drawn before one is there"} for answer in answers
    )
    assert gateway.charged() == []
    assert gateway.metric("withheld_windows_total", why="nobody reads") == 99  # the newest may still leave
    assert httpx.get(f"{gateway.url}/readyz").status_code == 200
