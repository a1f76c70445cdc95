"""Two gateways on one ledger, many devices of one person, and a bundle that is replaced while they run."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.gateway.conftest import channel_bundle
from tests.gateway.live import Consumer, Gateway, check_paid, until

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


@pytest.mark.long
def test_two_gateways_never_spend_more_than_the_person_has_and_pay_once_for_what_both_are_told(pair):
    first, _ = pair
    apps = [Consumer(gateway, name) for gateway in pair for name in DEVICES]

    def play(place):
        """The same windows of the same session to both, as a phone does that has lost the first answer."""
        return [answer(gateway, DEVICES[place], 4 * number) for number in range(3) for gateway in pair]

    def answer(gateway, device, start):
        """A gateway that is busy, or waits for its ledger, says 503: the phone sends again."""
        statuses = (gateway.send(device, start, 4).status_code for _ in range(20))
        return next(status for status in statuses if status != 503)

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


def test_a_bundle_that_was_replaced_waits_for_a_restart_and_a_broken_one_stops_nobody(gateway):
    gateway.make("ann").start()
    app, folder = Consumer(gateway, "ann"), gateway.folder / "protector"
    gateway.send("ann", 0, 4, session="old")
    app.wait_for(1)

    shutil.rmtree(folder)
    channel_bundle(window=8).save(folder)
    until(lambda: "changed on disk; restart" in gateway.log(), "the log to say so")
    gateway.send("ann", 4, 8, session="old")
    gateway.send("ann", 1000, 24, session="new")
    assert {len(window["time"]) for window in app.wait_for(9)} == {4}
    (folder / "manifest.json").write_text("{")
    assert gateway.send("ann", 2000, 4, session="newer").status_code == 200
    assert gateway.log().count("changed on disk") == 1
    assert gateway.stop() == 0

    shutil.rmtree(folder)
    channel_bundle(window=8).save(folder)
    gateway.start()
    again = Consumer(gateway, "ann")
    gateway.send("ann", 3000, 24, session="newest")
    assert {len(window["time"]) for window in again.wait_for(2)} == {8}
    assert gateway.stop() == 0
    gateway.check_nothing_raw(app, again)
