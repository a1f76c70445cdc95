"""The model of a fleet: what it says grows as it should, and its check uses the real engine and ledger."""

import pytest

from studies.benchmark.fleet import Constants, Fleet

FOUND = Constants(message_cpu=0.001, draw_clock=0.001, draw_bytes=600.0, stream_kb=130.0, device_kb=1.0)


def test_a_fleet_needs_what_its_constants_say():
    needs = Fleet(devices=30_000, message_seconds=1.0, episode_seconds=30.0, kept_days=10).needs(FOUND)
    assert needs["draws a second"] == 1000
    assert needs["gateways (a core each)"] == 50  # 30 cores, at most 60 % busy
    assert needs["ledger servers (or shards of people)"] == 2
    assert needs["disk for 10 days, GB"] == pytest.approx(518.4)
    assert needs["memory of live streams, GB"] == pytest.approx(3.9)


def test_protectors_on_devices_need_no_gateway_and_a_message_an_episode():
    own = Fleet(devices=30_000).on_devices(FOUND)
    assert own["messages a second"] == 1000
    assert own["gateways"] == own["ledger servers"] == 0
