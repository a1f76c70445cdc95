"""The console in a real Chromium: clicks, keys, live updates, contrast, both widths, and nothing in red."""

import contextlib
import json
import os
import re
import threading
import time
from urllib.parse import quote, urlsplit

import httpx
import pytest
import uvicorn
from tests.gateway.conftest import EPOCH, STEP, channel_bundle
from tests.gateway.console.chromium import Browser, find_chromium
from tests.gateway.console.conftest import HOSTILE
from tests.gateway.live import until

from deeprotect.gateway.mediation.gateway import Gateway, Settings
from deeprotect.gateway.registration.directory import Directory
from deeprotect.gateway.serving import create_service

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        find_chromium() is None and os.environ.get("DEEPROTECT_REQUIRE_SERVICES") != "1",
        reason="Chromium is missing: apt-get install chromium",
    ),
]
WIDTHS = [{"width": 1280}, {"width": 1280, "dark": True}, {"width": 390, "phone": True}]
STREAM = f"/console/stream?stream={quote(HOSTILE)}&app=fit"
PAGES = [
    "/",
    STREAM,
    "/console/person?person=anna",
    "/console/register",
    "/console/policies",
    "/console/policy?bundle=walk",
    "/console/events",
    "/console/history",
]
# Of all texts that are seen, the least contrast against what is really behind them, and where it is.
CONTRAST = """
(() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let least = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest(".skip, .hidden, noscript")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(rgb(element instanceof SVGElement ? style.fill : style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, `${element.tagName}.${element.className?.baseVal ?? element.className}`];
  }
  return least;
})()
"""


class Running:
    """A gateway that serves, and a device that sends to it."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.admin = gateway.registry.new_admin()
        self.device = gateway.registry.add_device(HOSTILE, person="anna")
        self._apps = [gateway.registry.add_app(name, stream=HOSTILE, bundle="walk") for name in ("fit", HOSTILE)]
        gateway.directory.refresh()
        config = uvicorn.Config(create_service(gateway), port=0, log_level="error", timeout_graceful_shutdown=1)
        self._server, self._sent = uvicorn.Server(config), 0
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self):
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.at = f"http://127.0.0.1:{port}"
        for token in self._apps:  # nothing is drawn for an app that does not read
            threading.Thread(target=self._read, args=(token,), daemon=True).start()
        until(lambda: len(self.gateway.mediator._hub._listeners) >= 2, "the apps to read")
        return self

    def _read(self, token):
        with contextlib.suppress(httpx.HTTPError):
            httpx.get(f"{self.at}/out", headers={"authorization": f"Bearer {token}"}, timeout=None)

    def __exit__(self, *_):
        self._server.should_exit = True
        self._thread.join(30)

    def send(self, readings=40):
        first, self._sent = self._sent, self._sent + readings
        times = [EPOCH + tick * STEP for tick in range(first, self._sent)]
        body = {"session": "s", "time": times, "acc_x": [0.5] * readings, "acc_y": [-0.5] * readings}
        answer = httpx.post(f"{self.at}/in/{self.device}", json=body, timeout=60)
        assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    channel_bundle(budget={"per_hour": 100_000.0}, every="1.2 s").save(folder / "walk")
    database = str(folder / "gateway.sqlite")
    gateway = Gateway(Settings(bundles={"walk": folder / "walk"}, database=database))
    with Running(gateway) as found:
        found.send(80)
        yield found


@pytest.fixture(scope="module")
def browser():
    if find_chromium() is None:
        pytest.fail("Chromium is missing: apt-get install chromium")
    found = Browser()
    yield found
    found.close()


@pytest.fixture
def page(browser, running):
    """Signed in, by the keyboard; whatever a test does, nothing may show up in red."""
    found = browser.open(f"{running.at}/console/sign-in")
    if "sign-in" in found.evaluate("location.pathname"):
        assert found.evaluate("document.activeElement.id") == "admin"
        found.type(running.admin)
        found.loading(lambda: found.press("Enter"))
    assert found.evaluate("location.pathname") == "/"
    yield found
    browser.listen(0.2)
    assert found.errors == []
    assert all(urlsplit(address).netloc == urlsplit(running.at).netloc for address in found.addresses)
    assert not any(running.admin in address for address in found.addresses)
    found.go("about:blank")


def test_figures_change_while_one_looks_without_a_reload(page, running):
    released = "document.querySelector('[data-live=\"s0.a0.released\"]').textContent"
    page.wait("document.querySelector('[data-live=\"s0.state\"]').textContent !== 'silent'")
    before, loads = page.evaluate(released), page.loads
    running.send()
    page.wait(f"{released} !== {json.dumps(before)}")
    assert page.evaluate("document.querySelector('[data-live=\"s0.state\"]').dataset.state") == "live"
    assert page.loads == loads


def test_released_samples_are_drawn_and_raw_ones_when_they_are_switched_on(page, running):
    page.go(running.at + STREAM)
    page.browser.listen(0.5)
    running.send()
    page.wait("Number(document.querySelector('canvas').dataset.points) > 0")
    page.loading(lambda: page.click(".raw-switch button"))
    assert "Hide raw samples" in page.text(".raw-switch")
    page.browser.listen(0.5)
    running.send()
    page.wait("Number(document.querySelector('canvas').dataset.points) > 0")
    page.loading(lambda: page.click(".raw-switch button"))
    assert "Show raw samples" in page.text(".raw-switch")


def test_a_hostile_name_is_text_and_its_page_works(page, running):
    page.go(running.at + f"/console/stream?stream={quote(HOSTILE)}&app={quote(HOSTILE)}")
    assert HOSTILE in page.text("h1")
    assert page.evaluate("document.scripts.length") == 3


def test_a_device_is_registered_and_revoked_by_clicks(page, running):
    page.click('nav a[href="/console/register"]')
    page.wait("location.pathname === '/console/register' && document.readyState === 'complete'")
    page.click("#d-stream")
    page.type("kitchen <phone>")
    page.loading(lambda: page.click('form[action="/console/devices"] button'))
    token = re.search(r"/in/([\w.-]{40,})", page.text("main"))[1]
    assert Directory(running.gateway.registry).device_of(token).stream == "kitchen <phone>"
    page.go(running.at + "/console/events")
    assert token not in page.evaluate("document.documentElement.outerHTML")
    page.go(running.at + f"/console/stream?stream={quote('kitchen <phone>')}")
    last = '.more:has(form[action="/console/revoke"])'
    page.click(f"{last} summary")
    page.wait(f"document.querySelector('{last}').open")
    page.loading(lambda: page.click(f"{last} button"))
    assert Directory(running.gateway.registry).device_of(token) is None


def test_everything_can_be_reached_by_keys_and_one_sees_where_one_is(page, running):
    page.go(running.at + "/")
    wanted = page.evaluate("document.querySelectorAll('a, button').length")
    reached = set()
    for _ in range(wanted + 2):
        page.press("Tab")
        here = page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            "const place = [...document.querySelectorAll('*')].indexOf(e);"
            "return [e.tagName, s.outlineStyle, parseFloat(s.outlineWidth), place]; })()"
        )
        if here[0] in ("A", "BUTTON"):
            reached.add(here[3])
            assert here[1] != "none"
            assert here[2] >= 2
    assert len(reached) == wanted


@pytest.mark.long
@pytest.mark.parametrize("size", WIDTHS, ids=lambda size: "-".join(map(str, size.values())))
@pytest.mark.parametrize("path", PAGES)
def test_texts_can_be_read_and_nothing_runs_over_the_edge(page, running, path, size):
    page.resize(**size)
    page.go(running.at + path)
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", WIDTHS, ids=lambda size: "-".join(map(str, size.values())))
def test_a_person_pauses_continues_and_stops_by_clicks_on_their_own_page(browser, running, size):
    registry = running.gateway.registry
    registry.add_device("own", person="carla")
    registry.add_app("fit", stream="own", bundle="walk")
    running.gateway.directory.refresh()
    own = browser.open(f"{running.at}/me/{registry.new_link('person', 'carla')}", **size)

    def looks_right(words):
        assert words in own.text("main")
        assert own.evaluate(CONTRAST)[0] >= 4.5
        assert own.evaluate("document.documentElement.scrollWidth <= innerWidth")

    looks_right("Your sensors are not sending now")
    own.loading(lambda: own.click(".pause button"))
    looks_right("Nothing leaves for")
    own.loading(lambda: own.click("button.big"))
    own.click("[aria-labelledby=halt] summary")
    own.wait("document.querySelector('[aria-labelledby=halt] details').open")
    looks_right("Stop everything")
    own.loading(lambda: own.click("button.danger"))
    looks_right("Nothing leaves any more")
    assert registry.known().halts["carla"].stopped
    assert own.errors == []
    registry.resume("carla", by_operator=True)
    registry.revoke_device("own")
    running.gateway.directory.refresh()


def test_after_sign_out_an_open_page_shows_nothing_more(browser, running):
    first = browser.open(f"{running.at}/console/sign-in")
    if "sign-in" in first.evaluate("location.pathname"):
        first.type(running.admin)
        first.loading(lambda: first.press("Enter"))
    first.go(f"{running.at}/console/register")  # no live page, which would load itself anew under the mouse
    second = browser.open(running.at + STREAM)
    assert second.evaluate("location.pathname") == "/console/stream"
    first.send("Page.bringToFront")
    first.click(".bar form button")
    first.wait("location.pathname === '/console/sign-in'")
    second.wait("location.pathname === '/console/sign-in'")


@pytest.mark.parametrize("size", [{"width": 390, "phone": True}])
def test_a_phone_sends_what_its_browser_measures(browser, running, size):
    token = running.gateway.registry.add_device("pocket", person="bob")
    running.gateway.registry.add_app("fit", stream="pocket", bundle="walk")
    running.gateway.directory.refresh()
    phone = browser.open("about:blank", **size)
    for kind in ("accelerometer", "linear-acceleration", "gyroscope"):
        phone.send("Emulation.setSensorOverrideEnabled", enabled=True, type=kind)
    phone.go(f"{running.at}/phone/{token}")
    phone.click("#start")
    for number in range(400):
        for kind in ("accelerometer", "linear-acceleration", "gyroscope"):
            xyz = {"x": 1.0 + number % 7, "y": 2.0, "z": 9.0}
            phone.send("Emulation.setSensorOverrideReadings", type=kind, reading={"xyz": xyz})
        if phone.evaluate("Number(document.getElementById('sent').textContent) > 20"):
            break
        browser.listen(0.02)
    status = running.gateway.mediator.status(["pocket"])[0]
    assert status.last_reading is not None
    assert phone.text("#state") == "Sending."
    running.gateway.registry.revoke_device("pocket")
    running.gateway.directory.refresh()
    for number in range(400):
        xyz = {"x": 1.0 + number % 5, "y": 2.0, "z": 9.0}
        phone.send("Emulation.setSensorOverrideReadings", type="accelerometer", reading={"xyz": xyz})
        if "revoked" in phone.text("#state"):
            break
        browser.listen(0.02)
    assert "revoked" in phone.text("#state")
    assert phone.evaluate(CONTRAST)[0] >= 4.5
