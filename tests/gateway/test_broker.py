"""Addresses of brokers."""

import pytest

from deeprotect.errors import InputError
from deeprotect.gateway.feeds.broker import Broker


def test_an_address_says_host_port_user_and_whether_there_is_tls():
    plain, secure = Broker.at("mqtt://ann%40home@broker.example"), Broker.at("mqtts://broker.example:9000")
    assert (plain.host, plain.port, plain.user, plain.tls) == ("broker.example", 1883, "ann@home", None)
    assert (secure.port, secure.user) == (9000, None)
    assert secure.tls.check_hostname


def test_the_password_is_a_files_first_line_and_is_never_shown(tmp_path):
    (tmp_path / "password").write_text("hush\nmore\n")
    broker = Broker.at("mqtt://ann@broker", password=tmp_path / "password")
    assert broker.password == "hush"
    assert "hush" not in f"{broker} {broker!r}"


@pytest.mark.parametrize(
    "address",
    ["broker", "http://broker", "mqtt://", "mqtt://broker:99999", "mqtt://broker/topic", "mqtt://ann:hush@broker"],
)
def test_a_wrong_address_is_refused_in_one_line_without_a_secret(address):
    with pytest.raises(InputError) as refused:
        Broker.at(address)
    assert "hush" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_that_cannot_be_used_are_refused(tmp_path):
    (tmp_path / "empty").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="password"):
        Broker.at("mqtt://ann@broker", password=tmp_path / "missing")
    with pytest.raises(InputError, match="certificates"):
        Broker.at("mqtts://ann@broker", ca=tmp_path / "empty")
    with pytest.raises(InputError, match="mqtts"):
        Broker.at("mqtt://ann@broker", ca=tmp_path / "empty")
    with pytest.raises(InputError, match="user"):
        Broker.at("mqtt://broker", password=tmp_path / "empty")
