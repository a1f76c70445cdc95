"""Two gateways on one ledger, many devices of one person, and a bundle that is replaced while they run."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.gateway.conftest import channel_bundle
from tests.gateway.live import Consumer, Gateway, check_paid, until

LOOK_SECONDS = 1.5  # after which a gateway has seen that a bundle was replaced
DEVICES = [f"device-{place}" for place in range(16)]


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request, tmp_path):
    """Sixteen devices of one person who may spend ε = 100 in all: twenty draws of 5."""
    address = "" if request.param == "sqlite" else request.getfixturevalue("cluster").address
    first = Gateway(tmp_path / "first", address).make(budget={"in_all": 100.0})
    first.register(*DEVICES, person="ann")
    second = Gateway(tmp_path / "second", first.address, tokens=first.tokens)
    shutil.copytree(first.folder / "protector", second.folder / "protector")
    first.start()
    second.start()
    yield first, second
    for each in (first, second):
        each.end()


def test_two_gateways_never_spend_more_than_the_person_has_and_pay_once_for_what_both_are_told(pair):
    first, _ = pair
    apps = [Consumer(gateway, name) for gateway in pair for name in DEVICES[:4]]

    def play(place):
        """The same windows of the same session to both, as a phone does that has lost the first answer."""
        return [gateway.send(DEVICES[place], 4 * number, 4).status_code for number in range(3) for gateway in pair]

    with ThreadPoolExecutor(16) as pool:
        answers = [status for some in pool.map(play, range(16)) for status in some]
    assert len(first.charged()) == 20
    assert set(answers) == {200, 499}
    assert "budget spent" in first.send(DEVICES[0], 400, 4).text
    assert all(each.stop() == 0 for each in pair)
    check_paid(first, *apps)
    for each in pair:
        each.check_nothing_raw(*apps)
        each.check_no_token()


def test_a_replaced_bundle_is_for_new_sessions_and_a_broken_one_for_nobody(gateway):
    gateway.make("ann", "bob").start()
    app, other, folder = Consumer(gateway, "ann"), Consumer(gateway, "bob"), gateway.folder / "protector"
    gateway.send("ann", 0, 4, session="old")
    app.wait_for(1)

    shutil.rmtree(folder)
    channel_bundle(window=8).save(folder)
    time.sleep(LOOK_SECONDS)
    gateway.send("ann", 4, 8, session="old")
    assert [len(window["time"]) for window in app.wait_for(3)] == [4, 4, 4]
    gateway.send("ann", 1000, 24, session="new")
    assert {len(window["time"]) for window in app.wait_for(5)[3:]} == {8}

    (folder / "manifest.json").write_text("{")
    time.sleep(LOOK_SECONDS)
    gateway.send("ann", 12, 4, session="old")
    gateway.send("ann", 1024, 8, session="new")
    count = len(app.wait_for(8))
    answer = gateway.send("ann", 2000, 16, session="newest")
    assert answer.status_code == 499
    assert "1.23" not in answer.text
    assert gateway.send("bob", 0, 4).status_code == 499
    assert len(app.windows) == count
    assert gateway.alive()

    shutil.rmtree(folder)
    channel_bundle().save(folder)
    until(lambda: gateway.send("bob", 100, 8, session="again").status_code == 200, "the bundle to be served")
    other.wait_for(1)
    assert gateway.stop() == 0
    gateway.check_nothing_raw(app, other)
