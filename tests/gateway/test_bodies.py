"""Compressed bodies are read within bounds; for whom they ask, only listed proxies say."""

import asyncio
import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.live import body
from tests.gateway.test_mediator import listening, made

from deeprotect.cli.serve import _network
from deeprotect.errors import InputError
from deeprotect.gateway.mediation.gateway import Settings
from deeprotect.gateway.serving import _config
from deeprotect.gateway.wire.requests import GZIP, unzipped

MOST = 1 << 20


def taken(gateway, *bodies):
    async def play():
        async with listening(gateway) as (_, device, _):
            return [await gateway.take(device, each) for each in bodies]

    return asyncio.run(play())


def test_a_compressed_message_is_taken_as_the_plain_one_is_by_whatever_door(tmp_path):
    plain = body("watch", 0, 4)
    answers = taken(made(tmp_path), gzip.compress(plain), body("watch", 4, 4))
    assert [(each.status, each.accepted) for each in answers] == [(200, 4), (200, 4)]


@given(st.binary(max_size=2000))
def test_what_was_compressed_comes_out(content):
    assert unzipped(gzip.compress(content), MOST) == content


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (GZIP + b"no such thing", "begins like gzip but is not"),
        (gzip.compress(b"[]", mtime=0)[:-4], "one complete gzip stream"),
        (gzip.compress(b"[]", mtime=0) + b"more", "one complete gzip stream"),
        (gzip.compress(b"[]", mtime=0) + gzip.compress(b"[]", mtime=0), "one complete gzip stream"),
    ],
)
def test_a_compressed_message_that_is_wrong_is_refused_in_one_line(tmp_path, content, told):
    (answer,) = taken(made(tmp_path), content)
    assert answer.status == 422
    assert told in answer.text
    assert "\n" not in answer.text


def test_a_compressed_message_that_is_too_large_is_refused_as_a_plain_one_is(tmp_path):
    answers = taken(made(tmp_path), gzip.compress(bytes(MOST + 1)), bytes(MOST + 1))
    assert [each.status for each in answers] == [413, 413]
    assert "also after decompression" in answers[0].text


def test_a_bomb_is_not_unpacked():
    bomb = gzip.compress(bytes(1 << 28))
    assert len(bomb) < MOST
    tracemalloc.start()
    assert len(unzipped(bomb, MOST)) == MOST + 1
    assert tracemalloc.get_traced_memory()[1] < 4 * MOST
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("proxies", "client"),
    [((), "10.0.0.9"), (("10.0.0.1",), "10.0.0.9"), (("10.0.0.9",), "203.0.113.7"), (("10.0.0.0/8",), "203.0.113.7")],
)
def test_only_listed_proxies_say_for_whom_they_ask(tmp_path, proxies, client):
    gateway, seen = made(tmp_path), []
    gateway.settings = Settings(gateway.settings.bundles, gateway.settings.database, proxies=proxies)

    async def app(scope, receive, send):
        seen.append(scope["client"][0])

    config = _config(gateway)
    config.app = app
    config.load()
    scope = {"type": "http", "client": ("10.0.0.9", 1), "scheme": "http", "http_version": "1.1", "method": "GET"}
    headers = [(b"x-forwarded-for", b"203.0.113.7")]
    asyncio.run(config.loaded_app({**scope, "path": "/", "headers": headers, "asgi": {"version": "3.0"}}, None, None))
    assert seen == [client]


def test_this_machine_is_no_proxy_unless_it_is_listed(tmp_path, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    assert not _config(made(tmp_path)).proxy_headers


@pytest.mark.parametrize("text", ["*", "proxy.example", "10.0.0.1/8", ""])
def test_a_proxy_is_an_address(text):
    with pytest.raises(InputError, match="not an address or a network"):
        _network(text)
