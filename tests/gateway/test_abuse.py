"""What strangers and careless apps do to a running gateway: one process for all of it."""

import http.client
import json
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest
from tests.gateway.conftest import channel_bundle
from tests.gateway.live import Consumer, Gateway, body, until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from deeprotect.errors import InputError

MESSAGES = 50  # of ten minutes each
ODD_TOKENS = [
    "",
    "%00",
    "%ff%fe",
    "..%2f..%2fetc%2fpasswd",
    "a%0d%0aset-cookie:%20x=1",
    "%F0%9F%98%80",
    "x" * 4000,
    "{token}",
    "null",
]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    made = Gateway(tmp_path_factory.mktemp("abuse") / "work").make("ann", "bob", "cid")
    channel_bundle(window=400).save(made.folder / "long")
    made.register("dan", bundle="long")
    made.start("--bundle", str(made.folder / "long"))
    yield made
    made.end()


@pytest.fixture
def place():
    """A stretch of the clock that no other test has used."""
    return time.monotonic_ns() // 10**6 % 10**7 * 20


def address(gateway):
    host, port = gateway.url.removeprefix("http://").split(":")
    return host, int(port)


def works(gateway, stream, first):
    """Somebody else's window leaves as always; how long it took."""
    began = time.monotonic()
    assert gateway.send(stream, first, 4).status_code == 200
    return time.monotonic() - began


def test_a_message_that_is_too_large_is_refused_and_not_kept(running, place):
    memory, large = running.memory(), body("ann", 0, 4) + b" " * (2 << 20)
    for _ in range(10):
        assert running.post("ann", large).status_code == 413
    connection = http.client.HTTPConnection(*address(running), timeout=60)  # without a length, and without an end
    connection.putrequest("POST", f"/in/{running.tokens['ann']}")
    connection.putheader("transfer-encoding", "chunked")
    connection.endheaders()
    with pytest.raises(ConnectionError):
        connection.send(b"100000\r\n" + bytes(1 << 20) + b"\r\n" for _ in range(200))
    connection.close()
    with connect(f"{running.url.replace('http', 'ws')}/in/{running.tokens['ann']}") as client:
        client.send(large.decode())
        with pytest.raises(ConnectionClosed) as closed:
            client.recv()
        assert closed.value.rcvd.code == 1009
    works(running, "bob", place)
    assert running.memory() - memory < 40


def test_addresses_and_headers_that_nobody_should_send(running):
    for token in ODD_TOKENS:
        for method, path in (("POST", f"/in/{token}"), ("GET", f"/out/{token}"), ("GET", f"/{token}")):
            connection = http.client.HTTPConnection(*address(running), timeout=60)
            connection.request(method, path, b"{}" if method == "POST" else None, {"authorization": "Bearer \xff\x80"})
            answer = connection.getresponse()
            running.answers.append(answer.read())
            connection.close()
            assert answer.status in (303, 307, 404, 405), (method, path, answer.status)
            assert answer.getheader("set-cookie") is None
        for way in ("in", "out"):
            with (
                pytest.raises((ConnectionClosed, InvalidStatus)),
                connect(f"{running.url.replace('http', 'ws')}/{way}/{token}") as client,
            ):
                client.recv()
    for head in (
        b"GET / HTTP/1.1\r\n\r\n\r\n",
        b"\x16\x03\x01\x00",
        b"GET /in/" + b"a" * 100_000,
        b"POST /healthz HTTP/9\r\n\r\n",
    ):
        with socket.create_connection(address(running), timeout=60) as connection:
            connection.sendall(head)
    assert running.alive()


def test_connections_that_say_nothing_or_say_it_slowly_hold_nobody_up(running, place):
    slow = [socket.create_connection(address(running)) for _ in range(300)]
    for number, each in enumerate(slow):
        if number % 3:
            each.sendall(f"POST /in/{running.tokens['ann']} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n".encode())
        if number % 3 == 2:
            each.sendall(b'\r\n{"time"')
    assert works(running, "bob", place) < 5
    for each in slow:
        each.close()
    until(lambda: works(running, "bob", place + 4) < 5, "the gateway to be itself again")


def test_without_free_file_descriptors_nothing_leaves_and_nothing_breaks(running, place):
    app = Consumer(running, "cid")
    works(running, "cid", place)
    app.wait_for(1)
    free = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)
    with httpx.Client(base_url=running.url, timeout=60) as kept:
        kept.get("/healthz")
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (4, free[1]))
        answer = kept.post(f"/in/{running.tokens['cid']}", content=body("cid", place + 4, 4))
        assert answer.status_code == 503
        assert len(app.windows) == 1
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, free)
    until(running.alive, "the gateway to answer")
    running.send("cid", place + 8, 8)
    app.wait_for(3)
    running.check_nothing_raw(app)


@pytest.mark.long
def test_a_slow_app_loses_windows_and_holds_up_neither_memory_nor_others(running, place):
    """Windows of 400 samples, so that they soon fill what the system's own sockets hold, which is 4 MiB and more."""
    quick, memory, before = Consumer(running, "dan"), running.memory(), running.metric("released_windows_total")
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(address(running))
        slow.sendall(f"GET /out/{running.tokens['dan/fitness']} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        until(lambda: slow.recv(15), "the answer to begin")
        for message in range(MESSAGES):  # some have to be sent again: they are more than a device may send in a second
            until(
                lambda message=message: running.send("dan", place + 6000 * message, 6000).is_success, "it to be taken"
            )
        sent = int(running.metric("released_windows_total") - before)
        assert sent >= 15 * MESSAGES - 1  # the first and the last may be cut
        quick.wait_for(sent)
        lost, taken = running.metric("lost_windows_total", why="slow"), running.memory() - memory
        print(f"an idle reader lost {lost:.0f} of {sent} windows ({len(quick.raw) >> 20} MiB), +{taken:.1f} MiB")
        assert lost > 0
        assert taken < 40
    works(running, "bob", place + 40)
    running.check_nothing_raw(quick)


@pytest.mark.long
def test_one_device_keeps_nobody_waiting_however_much_it_sends(running, place):
    """Each of these takes a tenth of a second to read; on the event loop, everyone would wait for all of them."""
    costly, over = b"[" + b",".join([b'{"a":{}}'] * 116_000) + b"]", threading.Event()

    def send():
        with httpx.Client(base_url=running.url, timeout=60) as device:
            while not over.is_set():
                assert device.post(f"/in/{running.tokens['ann']}", content=costly).status_code in (422, 429)

    def health():
        began = time.monotonic()
        assert running.alive()
        return time.monotonic() - began

    with ThreadPoolExecutor(8) as pool:
        sending = [pool.submit(send) for _ in range(8)]
        try:
            time.sleep(1)
            waits = [(health(), works(running, "bob", place + 4 * number)) for number in range(15)]
        finally:
            over.set()
        for each in sending:
            each.result()
    health_waits, window_waits = map(sorted, zip(*waits, strict=True))
    print(f"health check {health_waits[7]:.3f} s, {health_waits[-1]:.3f} s at most; a window {window_waits[7]:.3f} s")
    assert health_waits[7] < 0.3
    assert window_waits[7] < 0.8


@pytest.mark.long
def test_apps_that_come_and_go_are_forgotten(running):
    memory = running.memory()
    for _ in range(150):
        connection = socket.create_connection(address(running))
        connection.sendall(f"GET /out/{running.tokens['bob/fitness']} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        connection.recv(15)
        connection.close()
    where = f"{running.url.replace('http', 'ws')}/out/{running.tokens['bob/fitness']}"
    for _ in range(50):
        with connect(where):
            continue
    with ExitStack() as stack:
        kept = [stack.enter_context(connect(where)) for _ in range(17)]
        with pytest.raises(ConnectionClosed):
            kept[0].recv(timeout=60)  # one app has sixteen connections at most: the first made way
    assert running.memory() - memory < 20


@pytest.mark.long
def test_what_is_revoked_neither_sends_nor_gets_any_more(running, place):
    running.register("eve")
    running.wait_known("eve")
    app = Consumer(running, "eve")
    with connect(f"{running.url.replace('http', 'ws')}/in/{running.tokens['eve']}") as device:
        device.send(body("eve", place, 4).decode())
        assert json.loads(device.recv())["status"] == 200
        app.wait_for(1)
        running.registry().revoke_device("eve")
        until(lambda: app.over, "the app to be told")
        assert running.send("eve", place + 4, 4).status_code == 404
        device.send(body("eve", place + 8, 4).decode())
        with pytest.raises(ConnectionClosed):
            device.recv()
    assert len(app.windows) == 1
    with pytest.raises(InputError, match="belongs to another person"):
        running.registry().add_device("eve", person="mallory")
    running.check_nothing_raw(app)


def test_after_all_that_it_stops_in_order(running):
    assert running.stop() == 0
    assert "failed" not in running.log()
    running.check_nothing_raw()
    running.check_no_token()
