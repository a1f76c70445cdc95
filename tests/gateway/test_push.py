"""Released messages posted on to addresses of apps."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.gateway.conftest import is_read
from tests.gateway.mosquitto import free_port
from tests.gateway.phones import is_raw, phone_gateway, pushed
from tests.gateway.receiver import Receiver, listening

from deeprotect.gateway.feeds import push
from deeprotect.gateway.feeds.push import pushing
from deeprotect.release.ledger.statement import statement


@asynccontextmanager
async def running(gateway):
    async with gateway.running(), pushing(gateway, first_wait=0.01) as followers:
        yield gateway, followers
        await gateway.mediator.stop()  # as the server does first


def play(gateway, receiver, count, *, readings=9):
    """A phone's readings go in; what has come to the receiver."""

    async def run():
        async with running(gateway) as (intake, _):
            await is_read(gateway)
            answer = await intake.take(gateway.directory.device("watch"), pushed(0, readings))
            assert answer.status == 200
            return await asyncio.to_thread(receiver.wait_for, count)

    return asyncio.run(run())


def lost(gateway):
    return gateway.metrics.lost.labels("push")._value.get()


def test_a_receiver_gets_each_window_once_in_order_as_the_app_would_have_sent_it(tmp_path):
    receiver = Receiver()
    with listening(receiver) as address:
        bodies = play(phone_gateway(tmp_path, push=address), receiver, 2)
    assert [body["messageId"] for body in bodies] == [0, 1]
    assert not any(is_raw(body) for body in receiver.bodies)
    path, headers, _ = receiver.requests[0]
    assert (path, headers["Content-Type"]) == ("/data", "application/json")


def test_a_receiver_that_fails_for_a_while_is_tried_again_and_misses_nothing(tmp_path):
    receiver = Receiver(500, 503, 429)
    with listening(receiver) as address:
        gateway = phone_gateway(tmp_path, push=address)
        bodies = play(gateway, receiver, 2)
    assert [body["messageId"] for body in bodies] == [0, 1]
    assert lost(gateway) == 0


def test_tries_are_bounded_and_what_is_lost_is_counted(tmp_path, capfd):
    receiver = Receiver(*[500] * push.TRIES)
    with listening(receiver) as address:
        gateway = phone_gateway(tmp_path, push=address + "?key=hush")
        bodies = play(gateway, receiver, 1)
    assert bodies[0]["messageId"] == 1
    assert lost(gateway) == 1
    said = capfd.readouterr().err
    assert "push fails" in said
    assert "push works again" in said
    assert "hush" not in said
    assert "127.0.0.1" not in said


@pytest.mark.parametrize("status", [301, 307, 400, 404, 410])
def test_a_refusal_is_final_and_no_redirect_is_followed(tmp_path, status):
    elsewhere = Receiver()
    with listening(elsewhere) as other:
        receiver = Receiver(status, location=other)
        with listening(receiver) as address:
            gateway = phone_gateway(tmp_path, push=address)
            assert play(gateway, receiver, 1)[0]["messageId"] == 1
    assert [seen for _, _, seen in receiver.requests][:2] == [status, 200]
    assert elsewhere.requests == []
    assert lost(gateway) == 1


def test_one_receiver_that_hangs_holds_nobody_else_up(tmp_path):
    stuck, well = Receiver(), Receiver()
    stuck.release.clear()
    with listening(stuck) as first, listening(well) as second:
        gateway = phone_gateway(tmp_path, push=first)
        gateway.registry.add_app("other", stream="watch", bundle="protector", push=second)
        gateway.directory.refresh()
        assert [body["messageId"] for body in play(gateway, well, 2)] == [0, 1]
        assert stuck.bodies == []


def test_a_receiver_that_never_answers_is_given_up_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(push, "TIMEOUT_SECONDS", 0.2)
    receiver = Receiver()
    receiver.release.clear()
    with listening(receiver) as address:
        gateway = phone_gateway(tmp_path, push=address)

        async def run():
            async with running(gateway) as (intake, _):
                await is_read(gateway)
                await intake.take(gateway.directory.device("watch"), pushed(0, 5))
                async with asyncio.timeout(20):
                    while lost(gateway) == 0:
                        await asyncio.sleep(0.01)

        asyncio.run(run())


def test_an_app_that_was_revoked_gets_nothing_more(tmp_path):
    receiver = Receiver()
    with listening(receiver) as address:
        gateway = phone_gateway(tmp_path, push=address)

        async def run():
            async with running(gateway) as (intake, followers):
                await is_read(gateway)
                device = gateway.directory.device("watch")
                await intake.take(device, pushed(0, 5))
                await asyncio.to_thread(receiver.wait_for, 1)
                gateway.registry.revoke_app("fitness", stream="watch")
                gateway.directory.refresh()
                gateway.mediator.close_revoked()
                followers.refresh()
                await intake.take(device, pushed(5, 20))

        asyncio.run(run())
    assert len(receiver.bodies) == 1


def test_nothing_runs_on_after_a_stop_and_what_it_made_due_arrives(tmp_path):
    receiver = Receiver()
    with listening(receiver) as address:
        gateway = phone_gateway(tmp_path, push=address)

        async def run():
            async with running(gateway) as (intake, _):
                await is_read(gateway)
                await intake.take(gateway.directory.device("watch"), pushed(0, 8))
            return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

        assert asyncio.run(run()) == []
        assert [body["messageId"] for body in receiver.wait_for(2)] == [0, 1]


@pytest.mark.long
def test_a_hundred_receivers_that_hang_leave_a_connection_for_the_next(tmp_path):
    stuck, well = Receiver(), Receiver()
    stuck.release.clear()
    with listening(stuck) as first, listening(well) as second:
        gateway = phone_gateway(tmp_path, push=first)
        for number in range(100):
            gateway.registry.add_app(f"stuck {number}", stream="watch", bundle="protector", push=first)
        gateway.registry.add_app("well", stream="watch", bundle="protector", push=second)
        gateway.directory.refresh()
        assert play(gateway, well, 1, readings=5)[0]["messageId"] == 0
        assert stuck.bodies == []


def draws(gateway):
    return sum(person.draws for person in statement(gateway.database).people)


def test_nothing_is_drawn_for_an_address_where_nobody_listens(tmp_path):
    gateway = phone_gateway(tmp_path, push=f"http://127.0.0.1:{free_port()}/data")

    async def run():
        async with running(gateway) as (intake, _):
            for first in range(0, 80, 8):
                answer = await intake.take(gateway.directory.device("watch"), pushed(first, 8))
            return answer.waits

    assert asyncio.run(run()) == "a reader: nothing is drawn before one is there"
    assert draws(gateway) == 0


def test_a_receiver_that_stops_taking_ends_the_draws_until_it_takes_again(tmp_path, monkeypatch):
    """One window is drawn and not taken; then nothing, until the same window is; then the newest and the next."""
    receiver = Receiver(*[500] * 1000)
    with listening(receiver) as address:
        gateway = phone_gateway(tmp_path, push=address)

        async def run():
            async with running(gateway) as (intake, _):
                await is_read(gateway)
                device = gateway.directory.device("watch")
                await intake.take(device, pushed(0, 5))
                while lost(gateway) == 0:
                    await asyncio.sleep(0.01)
                for first in range(5, 45, 4):
                    await intake.take(device, pushed(first, 4))
                before = draws(gateway)
                receiver.answers.clear()
                await is_read(gateway)
                await intake.take(device, pushed(45, 4))
                await asyncio.to_thread(receiver.wait_for, 3)
                return before, draws(gateway)

        assert asyncio.run(run()) == (1, 3)
