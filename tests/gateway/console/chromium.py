"""A headless Chromium over the DevTools protocol, with a profile of its own: no driver is needed, only the browser."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from websockets.sync.client import connect

PLACES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-port=0",
    "--force-device-scale-factor=1",
)
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "ArrowDown": (40, ""), "ArrowLeft": (37, "")}
PATIENCE = 60.0


def find_chromium():
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, PLACES)), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="deeprotect-chromium-")
        self._child = subprocess.Popen(
            [find_chromium(), *ARGUMENTS, f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port, path = _when(lambda: _address(Path(self.profile) / "DevToolsActivePort"))
        self._stack = ExitStack()
        joined = connect(f"ws://127.0.0.1:{port}{path}", max_size=1 << 26, open_timeout=PATIENCE)
        self._socket = self._stack.enter_context(joined)
        self._next, self.pages = 1, {}

    def send(self, method, session=None, **params):
        number, self._next = self._next, self._next + 1
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        self._socket.send(json.dumps(message))
        while True:
            answer = self._receive(PATIENCE)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def listen(self, seconds):
        """Take in what has happened."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                self._receive(left)
            except TimeoutError:
                return

    def _receive(self, seconds):
        message = json.loads(self._socket.recv(timeout=seconds))
        page = self.pages.get(message.get("sessionId"))
        if page is not None and "method" in message:
            page.happened(message["method"], message["params"])
        return message

    def open(self, address, **size):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.resize(**size)
        page.go(address)
        return page

    def close(self):
        self._stack.close()
        self._child.terminate()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """One tab; `errors` are whatever the browser's console would show in red, `addresses` all that was asked for."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.errors, self.addresses, self.loads = [], [], 0

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def happened(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description", str(params)))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert", "warning"):
            self.errors.append(str(params["args"]))
        elif method == "Network.requestWillBeSent":
            self.addresses.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1

    def resize(self, *, width=1280, height=900, dark=False, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def go(self, address):
        before = self.loads
        self.send("Page.navigate", url=address)
        self.settled(before)

    def settled(self, before):
        """After a load that is yet to come."""
        _when(lambda: (self.browser.listen(0.05), self.loads > before)[1])

    def loading(self, act):
        """Do something that leads to another page, and wait for that."""
        before = self.loads
        act()
        self.settled(before)

    def evaluate(self, script):
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script, what=None):
        """Until a script says yes; pages that are just being replaced have nothing to say."""
        _when(lambda: (self.browser.listen(0.05), self._true(script))[1], what or script)

    def _true(self, script):
        try:
            return self.evaluate(script)
        except AssertionError:
            return False

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, selector):
        """With the mouse, where it is on the screen."""
        where = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def press(self, key):
        code, text = KEYS[key]
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def screenshot(self, path):
        whole = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": whole[0], "height": whole[1], "scale": 1}
        found = self.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(found["data"]))


def _address(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return lines if len(lines) == 2 else None


def _when(asked, what="it"):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = asked()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for: {what}")
