"""A clock that jumps frees no limit: nothing is charged until somebody who knows says that it is right."""

import asyncio
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.conftest import channel_bundle, message
from tests.gateway.live import Gateway as Process
from tests.gateway.live import until
from tests.gateway.test_mediator import draws, end_all, listening

from deeprotect.errors import LedgerUnavailableError
from deeprotect.gateway.mediation import gateway as house
from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.operation.clock import JUMP, TrustedClock, clock_of, passed
from deeprotect.release.ledger.database import Database

HOURS = timedelta(hours=2)


class Times:
    """A wall clock that may be set, and the time that passes."""

    def __init__(self):
        self.wall, self.passed = datetime(2026, 11, 18, 12, tzinfo=UTC), timedelta()
        self.clock = TrustedClock(now=lambda: self.wall, passed=lambda: self.passed)

    def wait(self, span):
        self.wall, self.passed = self.wall + span, self.passed + span


def made(tmp_path):
    """ε = 20 an hour, and 5 for each window."""
    times, path = Times(), tmp_path / "protector"
    channel_bundle(budget={"per_hour": 20.0}).save(path)
    gateway = Gateway(Settings({"protector": path}, str(tmp_path / "ledger.sqlite")), clock=times.clock)
    gateway.registry.add_device("watch", person="ann")
    gateway.registry.add_app("fitness", stream="watch", bundle="protector")
    gateway.directory.refresh()
    return gateway, times


@given(st.lists(st.floats(0.0, 86_400.0), max_size=20))
def test_a_clock_that_goes_as_time_passes_is_trusted_for_ever(spans):
    times = Times()
    for span in spans:
        times.wait(timedelta(seconds=span))
        assert times.clock() == times.wall


@given(st.lists(st.timedeltas(-JUMP, JUMP), min_size=1, max_size=30))
def test_small_steps_add_up_to_no_more_than_one(steps):
    times, ahead = Times(), timedelta()
    for step in steps:
        times.wall, ahead = times.wall + step, ahead + step
        if abs(ahead) <= JUMP:
            assert times.clock() == times.wall
        else:
            with pytest.raises(LedgerUnavailableError, match="the clock jumped"):
                times.clock()


@pytest.mark.parametrize("jump", [HOURS, -HOURS])
def test_a_limit_is_not_freed_by_a_clock_that_jumps_until_the_operator_confirms_it(tmp_path, capfd, jump):
    gateway, times = made(tmp_path)

    async def play():
        async with listening(gateway) as (mediator, device, _):
            await mediator.receive(device, message(0, 40))
            spent = draws(gateway)
            times.wall += jump
            answer = await mediator.receive(device, message(40, 40))
            gateway.look_at_clock()
            await gateway.health._try()
            withheld = draws(gateway), answer.status, gateway.health.trouble, gateway.metrics.text().decode()
            gateway.registry.confirm_clock()
            gateway.look_at_clock()
            await end_all(mediator)
            await mediator.receive(device, message(80, 40))
            await gateway.health._try()
            gateway.look_at_clock()
            return spent, withheld, draws(gateway), gateway.health._trouble

    spent, (withheld, status, trouble, metrics), after, ready = asyncio.run(play())
    assert (spent, withheld, status) == (4, 4, 503)
    assert trouble.startswith(f"the clock jumped {'forward' if jump > timedelta() else 'back'} by 7200 s")
    assert f"deeprotect_clock_ahead_seconds {jump.total_seconds()}" in metrics
    assert "deeprotect_ready 0.0" in metrics
    assert after == (8 if jump > timedelta() else 4)  # the operator said that two hours went by
    assert ready is None
    said = capfd.readouterr().err
    assert said.index("the clock jumped; nothing is released") < said.index("the clock is trusted again")


def test_a_clock_that_is_set_right_again_needs_no_confirmation_and_an_old_one_confirms_no_later_jump(tmp_path):
    gateway, times = made(tmp_path)
    gateway.registry.confirm_clock()
    times.wall += HOURS
    for _ in range(3):
        gateway.look_at_clock()
        assert gateway.clock.trouble
    times.wall -= HOURS
    gateway.look_at_clock()
    assert gateway.clock.trouble is None


@pytest.mark.parametrize(("off", "trusted"), [(timedelta(seconds=2), True), (HOURS, False), (None, False)])
def test_the_clock_of_another_machine_confirms_what_it_agrees_with(tmp_path, monkeypatch, off, trusted):
    gateway, times = made(tmp_path)
    times.wall += HOURS
    monkeypatch.setattr(house, "clock_of", lambda _: None if off is None else times.wall + off)
    gateway.look_at_clock()
    assert (gateway.clock.trouble is None) == trusted


def test_a_database_on_this_machine_has_the_same_clock_and_confirms_nothing(tmp_path, cluster):
    assert clock_of(Database.existing_or_new(str(tmp_path / "ledger.sqlite"))) is None
    assert clock_of(Database.existing_or_new(cluster.address)) is None


def test_time_passes():
    assert timedelta() < passed() <= passed()


@pytest.mark.long
def test_the_operator_confirms_a_clock_by_the_command_or_the_console(tmp_path):
    gateway = Process(tmp_path / "work").make("ann").start()
    try:
        assert until(gateway.ready, "readiness")
        answer = httpx.post(f"{gateway.url}/console/confirm-clock")  # nobody is signed in
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/sign-in")
        gateway.registry().confirm_clock()
        assert gateway.metric("clock_ahead_seconds") < JUMP.total_seconds()
    finally:
        gateway.end()
