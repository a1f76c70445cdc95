"""Clocks that go wrong: what is dated far ahead is refused, so it never closes times that are still to come."""

import asyncio
import json
import time
from datetime import timedelta

import numpy as np
import pytest
from tests.gateway.conftest import message
from tests.gateway.test_mediator import draws, end_all, listening
from tests.gateway.test_mediator import made as made_small
from tests.gateway.test_reach import STEP, WINDOW, begin, made, played

from deeprotect.errors import WireError
from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.wire.times import AHEAD_NS, check_not_ahead
from deeprotect.release.ledger.archive import LEAST, forget_draws
from deeprotect.release.ledger.ledger import utc_now

YEARS = 10 * 365 * 24 * 3600 * 10**9


def body(start, windows=1):
    """Without the name of a session, as small devices send."""
    return b"\n".join(
        json.dumps({"time": start + k * STEP, "acc_x": 0.1, "acc_y": 0.2}).encode() for k in range(windows * WINDOW + 1)
    )


def test_one_wrong_future_clock_does_not_stop_a_stream_once_draws_are_forgotten(tmp_path):
    gateway, _, _ = made(tmp_path)
    windows, (wrong, right) = played(gateway, 1, [body(begin(time.time_ns() + YEARS)), body(begin())])
    assert (wrong.status, right.status) == (422, 200)
    assert "3,650.0 days ahead of the gateway's clock" in wrong.text
    assert "--time arrival" in wrong.text
    assert len(windows) == 1
    later = utc_now() + timedelta(days=40)
    assert forget_draws(gateway.database, older_than=timedelta(days=30), clock=lambda: later)
    gateway = Gateway(Settings({"protector": tmp_path / "protector"}, str(tmp_path / "ledger.sqlite")))
    windows, (answer,) = played(gateway, 1, [body(begin(time.time_ns() + 10**10))])
    assert (answer.status, len(windows)) == (200, 1)


def test_by_the_time_a_stamp_closes_its_key_it_is_past():
    assert timedelta(microseconds=AHEAD_NS // 1000) < LEAST


@pytest.mark.parametrize("ahead", [0, AHEAD_NS])
def test_a_stamp_may_be_a_day_ahead_as_those_of_a_fast_replay_are(ahead):
    check_not_ahead(np.array([ahead - 5, ahead]), came_ns=0)
    with pytest.raises(WireError, match="days ahead"):
        check_not_ahead(np.array([AHEAD_NS + 1]), came_ns=0)


def test_a_clock_that_starts_over_after_a_silence_gets_the_draws_of_its_places_and_new_ones_where_there_are_none(
    tmp_path,
):
    gateway = small(tmp_path)
    first, later = message(0, 8, session=""), message(8, 8, session="")
    assert len(run_sessions(gateway, first, later)) == 4
    assert draws(gateway) == 4  # an idle session goes on by the same clock
    gateway = small(tmp_path / "again")
    assert len(run_sessions(gateway, first, message(40, 8, session=""), first, first)) == 8
    assert draws(gateway) == 4


def test_a_named_session_that_is_sent_again_gets_what_was_drawn(tmp_path):
    gateway = small(tmp_path)
    run_sessions(gateway, message(0, 8), message(40, 8), message(0, 8))
    assert draws(gateway) == 4


def small(folder):
    folder.mkdir(exist_ok=True)
    return made_small(folder)


def run_sessions(gateway, *messages):
    """Windows that leave; between two messages the session ends."""

    async def play():
        async with listening(gateway) as (mediator, device, got):
            for each in messages:
                await mediator.receive(device, each)
                await end_all(mediator)
            await asyncio.sleep(0.01)
            return list(got)

    return asyncio.run(play())
