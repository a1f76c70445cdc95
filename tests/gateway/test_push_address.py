"""Addresses that apps may be pushed to."""

import pytest
from tests.gateway.phones import phone_gateway

from deeprotect.errors import InputError
from deeprotect.gateway.registration.addresses import check_address, shown_address


@pytest.mark.parametrize(
    "address", ["", "host", "ftp://host/x", "file:///etc/passwd", "http://", "http://h:x/", "http://h\n/"]
)
def test_only_addresses_of_the_web_are_pushed_to(address):
    with pytest.raises(InputError, match="http"):
        check_address(address)
    assert check_address("https://receiver.example/data?key=1")


def test_a_wrong_address_is_not_registered(tmp_path):
    with pytest.raises(InputError, match="address"):
        phone_gateway(tmp_path, push="file:///etc/passwd")


@pytest.mark.parametrize("address", ["https://user:secret@host:8/", "https://host:8/secret", "https://host:8?secret=1"])
def test_what_may_be_a_secret_in_an_address_is_not_shown(address):
    shown = shown_address(address)
    assert shown.startswith("https://host:8")
    assert "secret" not in shown
