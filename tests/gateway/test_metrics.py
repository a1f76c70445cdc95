"""Who may read the counts, this machine and the admin; and counts by app, bounded and without names of people."""

import asyncio
import re
import warnings
from unittest import mock

import pytest
from tests.gateway.conftest import message
from tests.gateway.test_mediator import listening, made

from deeprotect.errors import LedgerUnavailableError
from deeprotect.gateway.mediation import mediator as mediation
from deeprotect.gateway.serving import create_service

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another client than the one that we install
    from fastapi.testclient import TestClient


@pytest.fixture
def gateway(tmp_path):
    return made(tmp_path)


def status(gateway, *, client="127.0.0.1", **headers):
    with TestClient(create_service(gateway), client=(client, 50000)) as browser:
        sent = {name.replace("_", "-"): value for name, value in ({"host": "127.0.0.1:8765"} | headers).items()}
        return browser.get("/metrics", headers=sent).status_code


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "[::1]:8765"])
def test_this_machine_reads_them_under_its_own_address(gateway, host):
    assert status(gateway, host=host) == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.1.5", "", "[::1"])
def test_a_page_whose_site_points_its_name_at_this_machine_does_not(gateway, host):
    assert status(gateway, host=host) == 404


def test_nor_does_who_comes_through_a_proxy_on_this_machine(gateway):
    assert status(gateway, x_forwarded_for="203.0.113.9") == 404


def test_the_admin_reads_them_from_anywhere(gateway):
    token = gateway.registry.new_admin()
    assert status(gateway, client="203.0.113.9", host="gateway.example", authorization=f"Bearer {token}") == 200


def test_nobody_else_does(gateway):
    gateway.registry.new_admin()
    assert status(gateway, client="203.0.113.9", authorization="Bearer wrong") == 404


def test_a_token_for_metrics_reads_them_from_anywhere_and_opens_nothing_else(gateway):
    token = gateway.registry.new_link("metrics")
    headers = {"host": "gateway.example", "authorization": f"Bearer {token}"}
    with TestClient(create_service(gateway), client=("203.0.113.9", 50000)) as prometheus:
        assert prometheus.get("/metrics", headers=headers).status_code == 200
        assert prometheus.get("/out", headers=headers).status_code == 404
        assert prometheus.get(f"/me/{token}", headers={"host": "127.0.0.1"}).status_code == 404
        assert not gateway.registry.is_admin(token)
        gateway.registry.revoke_link("metrics")
        assert prometheus.get("/metrics", headers=headers).status_code == 404


def counts(gateway, name):
    """By the label app, or by the reason."""
    found = re.findall(
        rf'^deeprotect_{name}_total\{{(?:app|why)="([^"]*)"[^}}]*\}} (\S+)$', gateway.metrics.text().decode(), re.M
    )
    return {label: float(value) for label, value in found}


def test_windows_that_a_failing_ledger_withholds_are_counted_from_the_first_one(gateway):
    async def play():
        async with listening(gateway) as (mediator, device, _):
            assert counts(gateway, "withheld_windows")["ledger failing"] == 0
            gone = LedgerUnavailableError("gone")
            with mock.patch("deeprotect.gateway.streams.releaser.release_due", side_effect=gone):
                for place in range(5):
                    answer = await mediator.receive(device, message(4 * place, 4))
                    assert answer.status == 503
            # The last one's time is not over: its draw may still be paid for.
            assert counts(gateway, "withheld_windows")["ledger failing"] == 4
            assert counts(gateway, "app_withheld_windows") == {"fitness": 4}

    asyncio.run(play())


def test_counts_by_app_are_of_all_its_streams_and_the_rest_is_one(gateway, monkeypatch):
    monkeypatch.setattr(mediation, "MOST_LABELS", 2)
    tallies = gateway.mediator._tallies
    for stream in ("watch", "ring"):
        for number, app in enumerate(("fitness", "sleep", "heart", "steps")):
            status = tallies.setdefault((stream, app), mediation.AppStatus(app))
            status.released, status.dropped = 10 + number, number
    assert counts(gateway, "app_released_windows") == {"fitness": 20, "sleep": 22, "other": 50}
    assert counts(gateway, "app_lost_windows") == {"fitness": 0, "sleep": 2, "other": 10}


@pytest.mark.parametrize("app", ["ann", "Ann", "ann-diary", "diary_ANN", "for ann", "ann's"])
def test_an_app_that_is_called_after_a_person_has_no_label(gateway, app):
    gateway.registry.add_app(app, stream="watch", bundle="protector")
    gateway.directory.refresh()
    gateway.mediator._tallies[("watch", app)] = mediation.AppStatus(app, released=7)
    gateway.mediator._tallies[("watch", "planning")] = mediation.AppStatus("planning", released=1)
    assert counts(gateway, "app_released_windows") == {"other": 7, "planning": 1}
    gateway.registry.revoke_device("watch")  # and none later
    gateway.directory.refresh()
    assert counts(gateway, "app_released_windows") == {"other": 7, "planning": 1}


def test_no_label_is_the_name_of_a_person_or_a_stream(tmp_path):
    gateway = made(tmp_path)
    gateway.registry.add_device("zoes-watch", person="zoe")
    gateway.registry.add_app("fitness", stream="zoes-watch", bundle="protector")
    gateway.directory.refresh()

    async def play():
        async with listening(gateway) as (mediator, _, got):
            device = gateway.directory.device("zoes-watch")
            with mediator.subscribe(gateway.directory.apps_of("zoes-watch")[0]):
                await mediator.receive(device, message(0, 400))
            return got

    asyncio.run(play())
    text = gateway.metrics.text().decode()
    assert counts(gateway, "app_released_windows")["fitness"] > 0
    assert not {"zoe", "zoes", "ann", "watch"} & set(re.findall(r"\w+", text))
