import pytest

from deeprotect.errors import InputError
from deeprotect.gateway.addresses import checked_push


def test_nothing_is_no_address():
    assert checked_push(None) is checked_push("  ") is None


@pytest.mark.parametrize("address", ["http://localhost:9/data", "https://host.example/a?b=c", "http://[::1]:80/"])
def test_an_address_is_kept_as_it_is(address):
    assert checked_push(address) == address


@pytest.mark.parametrize(
    "address",
    ["ftp://x/", "javascript:alert(1)", "http://", "http://a b/", "http://x:99999/", "x", "http://" + "x" * 600],
)
def test_anything_else_is_refused_in_one_line(address):
    with pytest.raises(InputError, match="https://host/path"):
        checked_push(address)


def test_a_password_does_not_belong_into_what_is_shown():
    with pytest.raises(InputError, match="leave user and password out") as told:
        checked_push("https://user:secret@host/")
    assert "secret" not in str(told.value)
