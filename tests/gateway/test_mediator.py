"""The live way through the house, in one process and without a network."""

import asyncio
from contextlib import asynccontextmanager
from unittest import mock

import numpy as np
import pytest
from tests.gateway.conftest import START, STEP, channel_bundle, message, readings

from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.wire.message import Message
from deeprotect.release import engine
from deeprotect.release.ledger import limits
from deeprotect.release.ledger.statement import statement

LEVELS = {-2.0, -0.5, 0.5, 2.0}  # what the four outputs show, in g


def made(tmp_path, **privacy):
    path = tmp_path / "protector"
    channel_bundle(**privacy).save(path)
    gateway = Gateway(Settings({"protector": path}, str(tmp_path / "ledger.sqlite")))
    gateway.registry.add_device("watch", person="ann")
    gateway.registry.add_app("fitness", stream="watch", bundle="protector")
    gateway.directory.refresh()
    return gateway


@asynccontextmanager
async def listening(gateway):
    """The running gateway, its device, and windows that its app has got."""
    got = []
    async with gateway.running():
        with gateway.mediator.subscribe(gateway.directory.apps()[0]) as windows:

            async def collect():
                async for window in windows:
                    got.append(window)

            task = asyncio.create_task(collect())
            yield gateway.mediator, gateway.directory.device("watch"), got
            await asyncio.sleep(0)
            task.cancel()


def draws(gateway):
    found = statement(gateway.database)
    return sum(line.draws for person in found.people for line in person.lines)


async def end_all(mediator):
    """As the gateway ends sessions that have been silent for long."""
    with mock.patch("deeprotect.gateway.mediation.mediator.IDLE_SECONDS", -1):
        await mediator.end_idle()


def run(gateway, *messages, end=True):
    async def play():
        async with listening(gateway) as (mediator, device, got):
            receipts = [await mediator.receive(device, each) for each in messages]
            if end:
                await end_all(mediator)
            await asyncio.sleep(0.01)
            return receipts, list(got)

    return asyncio.run(play())


def test_released_windows_have_the_producers_stamps_and_public_values(tmp_path):
    gateway = made(tmp_path)
    receipts, got = run(gateway, message(0, 12))
    assert receipts[0].accepted == 12
    assert len(got) == 3
    assert {round(value, 6) for window in got for value in window.values.ravel()} <= LEVELS
    stamps = np.concatenate([window.readings[0].times_ns for window in got])
    assert stamps.tolist() == [START + tick * STEP for tick in range(12)]
    assert draws(gateway) == 3


def test_no_released_window_carries_the_producers_own_names(tmp_path):
    _, got = run(made(tmp_path), message(0, 8, session="anns-phone"))
    assert got
    assert all("ann" not in window.session for window in got)


def test_a_held_draw_is_charged_once_for_its_episode(tmp_path):
    gateway = made(tmp_path, every="2 s")  # five windows
    _, got = run(gateway, *(message(4 * place, 4) for place in range(20)))
    numbers = {int(window.times_ns[0] - START) // (2 * 10**9): set() for window in got}
    for window in got:
        numbers[int(window.times_ns[0] - START) // (2 * 10**9)].add(float(window.values[0, 0]))
    assert len(got) == 20
    assert all(len(shown) == 1 for shown in numbers.values())
    assert draws(gateway) == len(numbers) == 4


def test_after_the_first_episode_no_window_waits_for_others(tmp_path):
    gateway = made(tmp_path, every="2 s")

    async def play():
        async with listening(gateway) as (mediator, device, got):
            waits = []
            for place in range(15):
                await mediator.receive(device, message(4 * place, 4))
                await asyncio.sleep(0.005)
                waits.append(place + 1 - len(got))
            return waits

    assert asyncio.run(play())[2:] == [0] * 13


def test_an_episode_that_lacks_samples_before_its_draw_is_given_up(tmp_path):
    gateway = made(tmp_path, every="2 s")
    _, got = run(gateway, message(0, 4), message(8, 4), message(12, 4), message(60, 20))
    assert {int(window.times_ns[0] - START) // (2 * 10**9) for window in got} == {3}
    assert draws(gateway) == 1


def test_a_placeholder_stands_where_the_policy_wants_one_and_costs_nothing(tmp_path):
    gateway = made(tmp_path, every="2 s", when_missing="placeholder")
    _, got = run(gateway, message(0, 4), message(8, 4), message(12, 4), message(60, 20))
    first = [window for window in got if window.times_ns[0] < START + 2 * 10**9]
    assert first
    assert all(window.placeholder for window in first)
    assert draws(gateway) == 1


def test_a_spent_budget_is_said_to_the_person_and_releases_nothing_more(tmp_path):
    gateway = made(tmp_path, budget={"in_all": 10.0})
    receipts, got = run(gateway, message(0, 4), message(4, 4), message(8, 4), message(12, 1))
    assert len(got) == 2
    assert [receipt.status == 200 for receipt in receipts] == [True, True, False, False]
    assert receipts[2].text.startswith("budget spent: 'ann' has spent")
    assert draws(gateway) == 2


@pytest.mark.parametrize("when_spent", ["refuse", "placeholder"])
def test_draws_without_an_ldp_bound_are_never_made_where_somebody_has_a_limit(tmp_path, monkeypatch, when_spent):
    for module in (limits, engine):
        monkeypatch.setattr(module, "ldp_epsilon", lambda _: limits.UNBOUNDED)
    gateway = made(tmp_path, budget={"in_all": 1000.0, "when_spent": when_spent})
    receipts, got = run(gateway, message(0, 8), message(8, 8))
    assert got == []
    assert draws(gateway) == 0
    assert "has no LDP bound, so no limit can count it, and 'ann' has in_all = 1000" in receipts[-1].text


def test_a_spent_budget_shows_placeholders_where_the_policy_says_so(tmp_path):
    gateway = made(tmp_path, budget={"in_all": 10.0, "when_spent": "placeholder"})
    receipts, got = run(gateway, message(0, 16))
    assert [window.placeholder for window in got] == [False, False, True, True]
    assert receipts[0].status == 200


def test_the_same_session_after_a_restart_gets_the_same_draws_and_pays_once(tmp_path):
    first = run(made(tmp_path), message(0, 8))[1]
    again = Gateway(Settings({"protector": tmp_path / "protector"}, str(tmp_path / "ledger.sqlite")))
    second = run(again, message(0, 8, value=-0.5))[1]
    assert [window.values.tolist() for window in first] == [window.values.tolist() for window in second]
    assert draws(again) == 2


def test_two_apps_of_one_person_are_paid_for_both(tmp_path):
    gateway = made(tmp_path)
    gateway.registry.add_app("games", stream="watch", bundle="protector")
    gateway.directory.refresh()

    async def play():
        async with listening(gateway) as (mediator, device, _):
            with mediator.subscribe(gateway.directory.apps()[1]):
                await mediator.receive(device, message(0, 8))

    asyncio.run(play())
    assert draws(gateway) == 4
    assert len(statement(gateway.database).people) == 1


def test_a_revoked_app_gets_nothing_more(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, got):
            await mediator.receive(device, message(0, 4))
            gateway.registry.revoke_app("fitness", stream="watch")
            gateway.directory.refresh()
            mediator.close_revoked()
            await mediator.receive(device, message(4, 4))
            await asyncio.sleep(0.01)
            return len(got)

    assert asyncio.run(play()) == 1
    assert draws(gateway) == 1


def test_a_slow_reader_loses_the_oldest_and_is_counted(tmp_path):
    gateway = made(tmp_path)

    async def play():
        async with gateway.running():
            with gateway.mediator.subscribe(gateway.directory.apps()[0], most=2) as windows:
                await gateway.mediator.receive(gateway.directory.device("watch"), message(0, 20))
                first = await anext(windows)
                return first.number, gateway.mediator.status(["watch"])[0].apps[0].dropped

    assert asyncio.run(play()) == (3, 3)


def test_when_the_ledger_is_gone_nothing_leaves_and_it_goes_on_when_it_is_back(tmp_path):
    gateway = made(tmp_path)
    ledger, away = tmp_path / "ledger.sqlite", tmp_path / "away"

    async def play():
        async with listening(gateway) as (mediator, device, got):
            await mediator.receive(device, message(0, 4))
            ledger.rename(away)
            ledger.mkdir()
            refused = await mediator.receive(device, message(4, 4))
            held = len(got)
            ledger.rmdir()
            away.rename(ledger)
            await mediator.receive(device, message(8, 4))
            await asyncio.sleep(0.01)
            return refused.text, held, len(got)

    refusal, before, after = asyncio.run(play())
    assert refusal
    assert before == 1
    assert after >= 2


def test_a_test_message_is_answered_and_leaves_nothing(tmp_path):
    gateway = made(tmp_path)
    receipts, got = run(gateway, Message("s", (readings(0, 8),), is_test=True))
    assert receipts[0].status == 200
    assert not got


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_no_numbers_count_as_missing(tmp_path, value):
    _, got = run(made(tmp_path), message(0, 8, value=value), message(8, 24))
    assert all(window.times_ns[0] >= START + 8 * STEP for window in got)
