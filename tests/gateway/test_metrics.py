"""Who may read the counts: this machine, asked for as such, and the admin."""

import warnings

import pytest
from tests.gateway.test_mediator import made

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
