"""Ten thousand messages that are not what they should be, over HTTP and WebSocket, into one running gateway."""

import asyncio
import http.client
import json
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.gateway.live import Consumer
from tests.gateway.mutants import ARROW, mutant
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

MESSAGES, DEVICES = 10_000, 40
BY_HTTP = 3_000
ANSWERS = {200, 413, 422, 429, 499}


def by_http(gateway, stream, seed, count):
    """Answers by status, over connections that are kept while they can be."""
    chance, found = random.Random(seed), Counter()
    connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=60)
    for number in range(count):
        content, kind = mutant(chance, stream, number)
        connection.request("POST", f"/in/{gateway.tokens[stream]}", content, {"content-type": kind} if kind else {})
        answer = connection.getresponse()
        gateway.answers.append(answer.read())
        found[answer.status] += 1
    connection.close()
    return found


async def by_socket(gateway, stream, seed, count):
    """The same, each message answered before the next; text that is no UTF-8 is sent as bytes."""
    chance, found, number = random.Random(seed), Counter(), 0
    address = f"{gateway.url.replace('http', 'ws')}/in/{gateway.tokens[stream]}"
    while number < count:
        async with connect(address, max_size=None) as socket:
            try:
                while number < count:
                    content, kind = mutant(chance, stream, number)
                    number += 1
                    await socket.send(content, text=kind != ARROW and _is_text(content))
                    answer = await socket.recv()
                    gateway.answers.append(answer.encode())
                    found[json.loads(answer)["status"]] += 1
            except ConnectionClosed:
                found["closed"] += 1
    return found


def _is_text(content):
    try:
        return bool(content.decode())
    except UnicodeDecodeError:
        return False


def bystander(gateway, stop):
    """The longest that somebody else's window took meanwhile."""
    longest, first = 0.0, 0
    while not stop:
        began = time.monotonic()
        assert gateway.send("zoe", first, 4).status_code == 200
        longest, first = max(longest, time.monotonic() - began), first + 4
        time.sleep(0.1)
    return longest, first // 4


@pytest.mark.long
def test_ten_thousand_messages_break_nothing_and_show_nothing(gateway):
    names = [f"device-{place}" for place in range(DEVICES)]
    gateway.make("zoe", *names).start()
    app, spied, stop = Consumer(gateway, "zoe"), [Consumer(gateway, name) for name in names[::8]], []
    half, began, memory = DEVICES // 2, time.monotonic(), gateway.memory()

    async def sockets():
        each = (MESSAGES - BY_HTTP) // half
        return await asyncio.gather(*(by_socket(gateway, name, place, each) for place, name in enumerate(names[half:])))

    with ThreadPoolExecutor(6) as pool:
        watching = pool.submit(bystander, gateway, stop)
        posted = [
            pool.submit(by_http, gateway, name, place, BY_HTTP // half) for place, name in enumerate(names[:half])
        ]
        answers = sum(asyncio.run(sockets()), Counter()) + sum((each.result() for each in posted), Counter())
        stop.append(True)
        longest, sent = watching.result()
    took, grown = time.monotonic() - began, gateway.memory() - memory
    print(f"{answers}; {took:.0f} s; others waited {longest:.2f} s at most; {grown:.0f} MiB")
    assert answers.total() == MESSAGES
    assert set(answers) <= ANSWERS
    assert answers[200] > MESSAGES / 10
    assert answers[422] > MESSAGES / 10
    assert len(app.wait_for(sent)) == sent
    assert "failed" not in gateway.log()
    assert gateway.memory() - memory < 100
    assert longest < 10
    assert gateway.stop() == 0
    gateway.check_nothing_raw(app, *spied)
    gateway.check_no_token()
