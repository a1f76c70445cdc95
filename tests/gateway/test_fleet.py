"""Gateways that share a ledger see each other in it: who has a stream, and who stands in for one that is gone."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace

import pytest

from deeprotect.errors import InputError
from deeprotect.gateway.mediation.fleet import (
    ALONE_BEATS,
    BACK_SECONDS,
    GONE_SECONDS,
    GRACE_SECONDS,
    TOLD_SECONDS,
    Fleet,
    Told,
)
from deeprotect.gateway.mediation.gateway import Gateway
from deeprotect.gateway.registration.addresses import GatewayPlace, shard_of
from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.streams.session import StreamStatus
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.ledger import utc_now


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def database(tmp_path):
    return Database.existing_or_new(str(tmp_path / "gateway.sqlite"))


def stream_of(index):
    place = GatewayPlace(0, 2)
    return next(name for name in map(str, range(100)) if place.owner(name) == index)


def status(stream, *, heard=None, windows=0):
    return StreamStatus(stream, "ann", None, heard, (), 0, windows, ())


def test_one_that_is_alone_has_every_stream_and_writes_seldom(database, clock, capsys):
    alone = Fleet(database, GatewayPlace(), clock=clock)
    assert alone.beat(Told())
    assert [alone.beat(None) for _ in range(ALONE_BEATS)] == [False] * (ALONE_BEATS - 1) + [True]
    assert alone.has("watch")
    assert alone.told() == Told()
    assert capsys.readouterr().err == ""


def test_a_restart_is_not_taken_for_a_second_gateway(database, clock, capsys):
    for _ in range(2):
        alone = Fleet(database, GatewayPlace(), clock=clock)
        for _ in range(2 * ALONE_BEATS):
            alone.beat(None)
    assert capsys.readouterr().err == ""


def test_two_gateways_that_are_both_told_to_be_alone_are_told_once_and_when_it_is_over(database, clock, capsys):
    pair = [Fleet(database, GatewayPlace(), clock=clock) for _ in range(2)]
    for _ in range(4 * ALONE_BEATS):
        for each in pair:
            each.beat(None)
    said = capsys.readouterr().err
    assert said.count("two gateways have one place") == 2  # each says it of itself
    assert said.count('"place": "1/1"') == 2
    for _ in range(2 * ALONE_BEATS):
        pair[0].beat(None)
    assert "no other gateway has this place any more" in capsys.readouterr().err


def test_a_stream_is_its_own_gateways_until_that_is_gone(database, clock):
    first, second = (Fleet(database, GatewayPlace(index, 2), clock=clock) for index in range(2))
    theirs = stream_of(0)
    for _ in range(10):
        first.beat(None)
        second.beat(None)
        clock.now += 0.5
        assert first.has(theirs)
        assert not second.has(theirs)
        assert second.has(stream_of(1))
    clock.now += GONE_SECONDS
    second.beat(None)
    assert second.has(theirs)
    first.beat(None)
    second.beat(None)
    assert not second.has(theirs)


def test_one_that_never_came_is_stood_in_for(database, clock):
    second = Fleet(database, GatewayPlace(1, 2), clock=clock)
    assert not second.has(stream_of(0))
    clock.now += GONE_SECONDS + 0.1
    assert second.has(stream_of(0))


def test_a_connection_may_stay_for_a_while_and_goes_home_when_its_own_gateway_is_back(database, clock):
    first, second = (Fleet(database, GatewayPlace(index, 2), clock=clock) for index in range(2))
    for each in (first, second, first, second):
        each.beat(None)
        clock.now += 0.5
    theirs, opened = stream_of(0), clock.now
    clock.now += 0.5
    assert second.has(theirs, opened)  # its own may just have died
    again = Fleet(database, GatewayPlace(0, 2), clock=clock)
    again.beat(None)
    second.beat(None)
    assert second.has(theirs, opened)
    clock.now += BACK_SECONDS + 0.1
    again.beat(None)
    second.beat(None)
    assert not second.has(theirs, opened)
    assert second.has(theirs, clock.now)
    clock.now += GRACE_SECONDS
    again.beat(None)
    second.beat(None)
    assert not second.has(theirs, clock.now - GRACE_SECONDS)


def test_streams_are_told_to_who_asks_and_to_nobody_otherwise(database, clock):
    first, second = (Fleet(database, GatewayPlace(index, 2), clock=clock) for index in range(2))
    first.beat(None)
    second.beat(None)
    assert not first.is_asked
    assert second.told() == Told()
    first.beat(None)
    assert first.is_asked
    told = Told([status("watch", heard=utc_now(), windows=3)], {"watch": "live"})
    first.beat(told)
    assert second.told() == told
    first.beat(None)
    clock.now += TOLD_SECONDS
    assert not first.is_asked


def test_a_stream_is_shown_as_the_gateway_that_heard_it_last_tells_it():
    late = utc_now()
    early = late - timedelta(seconds=1)
    own = [status("a"), status("b", heard=late, windows=2), status("c")]
    others = [status("a", heard=early, windows=1), status("b", heard=early, windows=9), status("revoked", heard=late)]
    gateway = SimpleNamespace(
        mediator=SimpleNamespace(status=lambda _: own, states=lambda: {"b": "live"}),
        fleet=SimpleNamespace(told=lambda: Told(others, {"a": "quiet", "b": "quiet"})),
    )
    found = asyncio.run(Gateway.statuses(gateway, ["a", "b", "c"]))
    assert [(each.stream, each.windows) for each in found] == [("a", 1), ("b", 2), ("c", 0)]
    assert asyncio.run(Gateway.states(gateway)) == {"a": "quiet", "b": "live"}


def test_two_gateways_with_one_place_are_told(database, clock, capsys):
    pair = [Fleet(database, GatewayPlace(0, 2), clock=clock) for _ in range(2)]
    for _ in range(2):
        for each in pair:
            each.beat(None)
    assert "two gateways have one place" in capsys.readouterr().err


def test_all_tokens_of_a_stream_begin_with_its_shard(tmp_path):
    registry = Registry(Database.existing_or_new(str(tmp_path / "gateway.sqlite")))
    device = registry.add_device("watch")
    app = registry.add_app("fitness", stream="watch", bundle="walk")
    assert device.partition(".")[0] == app.partition(".")[0] == shard_of("watch")
    assert Directory(registry).device_of(device).stream == Directory(registry).app_of(app).stream == "watch"


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2", "1/99999"])
def test_a_place_that_is_none_is_refused_with_one_line(text):
    with pytest.raises(InputError, match="like 1/2"):
        GatewayPlace.of(text)
