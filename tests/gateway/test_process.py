"""A gateway that is killed, stopped, restarted, or whose clients go away in the middle; in a real process."""

import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
from tests.gateway.live import Consumer, body, check_paid, until


def test_a_stop_is_graceful_the_last_windows_leave_and_nothing_is_left_running(gateway):
    gateway.make("ann", every="2 s").start()
    app = Consumer(gateway, "ann")
    gateway.send("ann", 0, 7)  # whose draw would listen to one window more
    assert app.windows == []
    assert gateway.stop() == 0
    until(lambda: app.over, "the app to be told")
    assert [len(window["time"]) for window in app.windows] == [4, 3]
    assert not [each for kind in ("journal", "wal", "shm") for each in gateway.folder.glob(f"*-{kind}")]
    assert '"event": "stopped"' in gateway.log()
    gateway.check_nothing_raw(app)
    gateway.check_no_token()


def test_after_a_kill_in_the_middle_all_that_left_is_charged_and_nothing_left_twice_under_one_charge(gateway):
    gateway.make("ann", "bob").start()
    apps = [Consumer(gateway, name) for name in ("ann", "bob")]

    def play(name):
        for first in range(0, 4000, 4):
            try:
                gateway.send(name, first, 4)
            except httpx.TransportError:  # the connection died with the gateway
                return

    with ThreadPoolExecutor(2) as pool:
        playing = [pool.submit(play, name) for name in ("ann", "bob")]
        for app in apps:
            app.wait_for(5)
        gateway.kill()
        for each in playing:
            each.result()
    before = max(max(app.numbers()) for app in apps)
    check_paid(gateway, *apps)
    gateway.start()
    again = [Consumer(gateway, name) for name in ("ann", "bob")]
    for name in ("ann", "bob"):  # the phone sends all of it once more, under the same session
        gateway.send(name, 0, 4 * (len(apps[0].windows) + len(apps[1].windows)))
    for app in again:
        app.wait_for(5)
    assert gateway.stop() == 0
    assert before >= min(again[0].numbers())
    check_paid(gateway, *apps, *again)
    for old, new in zip(apps, again, strict=True):
        known = dict(zip(old.numbers(), old.windows, strict=True))
        both = [
            (known[number], window)
            for number, window in zip(new.numbers(), new.windows, strict=True)
            if number in known
        ]
        assert both
        assert all(first["acc_x"] == second["acc_x"] for first, second in both)
    gateway.check_nothing_raw(*apps, *again)


def test_old_times_under_a_new_session_cost_again_after_a_restart(gateway):
    gateway.make("ann").start()
    Consumer(gateway, "ann")
    gateway.send("ann", 0, 8, session="monday")
    gateway.stop()
    gateway.start()
    Consumer(gateway, "ann")
    gateway.send("ann", 0, 8, session="monday")
    assert len(gateway.charged()) == 2
    gateway.send("ann", 0, 8, session="tuesday")
    assert len(gateway.charged()) == 4
    gateway.check_nothing_raw()


def test_clients_that_leave_in_the_middle_of_a_message_or_an_episode_harm_nobody(gateway):
    gateway.make("ann", "bob", every="2 s").start()
    app, _ = (Consumer(gateway, name) for name in ("bob", "ann"))
    host, port = gateway.url.removeprefix("http://").split(":")
    whole = body("ann", 0, 8)
    for cut in (0, 1, len(whole) // 2, len(whole) - 1):
        with socket.create_connection((host, int(port))) as connection:
            head = f"POST /in/{gateway.tokens['ann']} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(whole)}\r\n\r\n"
            connection.sendall(head.encode() + whole[:cut])
    gateway.send("ann", 0, 4)  # a window of five, and never again
    for first in range(0, 40, 4):
        gateway.send("bob", first, 4)
    app.wait_for(10)
    assert gateway.metric("sessions") == 2
    assert [each for each in gateway.charged() if each[0] == "ann"] == []
    assert gateway.stop() == 0  # which ends the session: what there is of the episode is drawn from
    assert len([each for each in gateway.charged() if each[0] == "ann"]) == 1
    gateway.check_nothing_raw(app)
