"""A real gateway in a process of its own; devices that send canaries, apps that keep all they get."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import select
from tests.gateway.canary import canaries, leaking_files, leaks
from tests.gateway.conftest import EPOCH, NAMES, STEP, channel_bundle

from deeprotect.gateway.registration.device_registry import Registry
from deeprotect.release.by_time import phase_of
from deeprotect.release.ledger.books import from_bytes
from deeprotect.release.ledger.database import Database
from deeprotect.release.ledger.database_tables import NOBODY, charges, draws, streams

SERVE = "from deeprotect.cli import main; main()"
PATIENCE = 60.0  # for a machine that has much else to do
LEVELS = {-2.0, -0.5, 0.5, 2.0}
WINDOW = 4  # ticks, hold of one window


def until(is_so, what: str, seconds: float = PATIENCE):
    """What a condition gives once it is true."""
    end = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < end, f"waited {seconds} s for: {what}"
        time.sleep(0.02)
    return found


def start_of(stream: str) -> int:
    """A time at which windows and episodes of a stream begin."""
    return EPOCH + phase_of(stream) % 20 * STEP


def body(stream: str, first: int, count: int, *, session: str = "s") -> bytes:
    """Canaries at ticks first, first + 1, … as rows of JSON."""
    times = [start_of(stream) + tick * STEP for tick in range(first, first + count)]
    columns = dict(zip(NAMES, canaries(count, seed=first).T.tolist(), strict=True))
    return json.dumps({"session": session, "time": times, **columns}).encode()


@dataclass
class Gateway:
    """Process, place and registry; whatever it answers is kept and searched."""

    folder: Path
    address: str = ""
    prefix: tuple[str, ...] = ()
    process: subprocess.Popen | None = None
    url: str = ""
    starts: int = 0
    answers: list[bytes] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self):
        self.folder.mkdir(exist_ok=True)
        self.address = self.address or str(self.folder / "ledger.sqlite")

    def make(self, *people: str, **privacy) -> "Gateway":
        """A bundle, and for each person a stream with their name and an app `fitness`."""
        channel_bundle(**privacy).save(self.folder / "protector")
        if people:
            self.register(*people)
        return self

    def register(self, *streams: str, person: str | None = None, bundle: str = "protector") -> None:
        """Known within a second where the gateway runs already."""
        registry = self.registry()
        for stream in streams:
            self.tokens[stream] = registry.add_device(stream, person=person)
            self.tokens[f"{stream}/fitness"] = registry.add_app("fitness", stream=stream, bundle=bundle)

    def registry(self) -> Registry:
        return Registry(Database.existing_or_new(self.address))

    def start(self, *options: str) -> "Gateway":
        command = [
            *self.prefix,
            sys.executable,
            "-c",
            SERVE,
            "gateway",
            "serve",
            "--bundle",
            str(self.folder / "protector"),
        ]
        self.starts += 1
        out, log = (self.folder / f"{name}{self.starts}.log" for name in ("out", "err"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        with out.open("wb") as stdout, log.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*command, "--ledger", self.address, "--port", "0", *options],
                stdout=stdout, stderr=stderr, cwd=self.folder, env=environment,
            )  # fmt: skip
        found = until(
            lambda: self._said(out) or (self.process.poll() is not None and self._died()), "the gateway's address"
        )
        self.url = found.group(1)
        until(self.alive, "the gateway to answer")
        return self

    def _died(self):
        raise AssertionError(self.log()[-2000:])

    @staticmethod
    def _said(out: Path):
        return re.search(r"gateway at (https?://\S+),", out.read_text())

    def alive(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def ready(self) -> bool:
        answer = httpx.get(f"{self.url}/readyz", timeout=30)
        self.answers.append(answer.content)
        return answer.status_code == 200

    def send(self, stream: str, first: int, count: int, *, session: str = "s") -> httpx.Response:
        """Canaries at ticks first, first + 1, …"""
        return self.post(stream, body(stream, first, count, session=session))

    def post(self, stream: str, content: bytes, **headers: str) -> httpx.Response:
        answer = httpx.post(f"{self.url}/in/{self.tokens[stream]}", content=content, headers=headers, timeout=PATIENCE)
        self.answers.append(answer.content)
        return answer

    def wait_known(self, stream: str) -> None:
        """A device that was registered while the gateway runs; asked by its test button."""
        button = b'{"payload": [{"name": "test"}]}'
        until(lambda: self.post(stream, button).status_code == 200, "the device to be known")

    def metric(self, name: str, **labels: str) -> float:
        """A number of /metrics; 0 where there is none yet."""
        answer = httpx.get(f"{self.url}/metrics", timeout=30)
        self.answers.append(answer.content)
        shown = "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}" if labels else ""
        found = re.search(rf"^deeprotect_{name}{re.escape(shown)} (\S+)$", answer.text, re.MULTILINE)
        return float(found.group(1)) if found else 0.0

    def memory(self) -> float:
        """Resident, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def log(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("err*.log")))

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def charged(self) -> list[tuple[str, str, int, bool]]:
        """Stream, app, number of the episode, and whether it looked at data, for each draw that was charged."""
        rows = charges.c
        asked = select(streams.c.name, rows.app, rows.first, rows.draws, rows.paid).select_from(charges.join(streams))
        asked = asked.where(streams.c.name != NOBODY)
        with Database.existing(self.address).reading() as connection:
            return [
                (stream, app, first + place, bool(paid))
                for stream, app, first, count, paid in connection.execute(asked)
                for place in range(count)
            ]

    def check_nothing_raw(self, *apps: "Consumer") -> None:
        """In files, answers and whatever apps got; what the ledger keeps are codes of the channel."""
        assert leaking_files(self.folder) == []
        assert not leaks(b"\n".join(self.answers))
        for app in apps:
            assert not leaks(bytes(app.raw))
            assert {round(value, 6) for window in app.windows for value in window["acc_x"]} <= LEVELS
        with Database.existing(self.address).reading() as connection:
            kept = connection.execute(select(draws.c.draws, draws.c.content)).all()
        assert all(set(from_bytes(bytes(content), count).ravel()) <= {0.0, 1.0, 2.0, 3.0} for count, content in kept)

    def check_no_token(self) -> None:
        """In any log; the first lines of standard output, which hand out the admin's, are for a person."""
        for token in self.tokens.values():
            assert token not in self.log()
            assert not any(token.encode() in answer for answer in self.answers)


class Consumer:
    """An app that reads JSON lines until it is closed or told that there are no more."""

    def __init__(self, gateway: Gateway, stream: str, app: str = "fitness"):
        self.stream, self.app = stream, app
        self.raw, self.windows, self.failure = bytearray(), [], None
        self._there, self._closing = threading.Event(), False
        headers = {"authorization": f"Bearer {gateway.tokens[f'{stream}/{app}']}"}
        self._thread = threading.Thread(target=self._read, args=(gateway.url, headers), daemon=True)
        self._thread.start()
        assert self._there.wait(PATIENCE), self.failure

    def _read(self, url: str, headers: dict[str, str]) -> None:
        try:
            with httpx.stream("GET", f"{url}/out", headers=headers, timeout=None) as answer:
                assert answer.status_code == 200
                self._response = answer
                self._there.set()
                rest = b""
                for part in answer.iter_raw():
                    self.raw += part
                    *lines, rest = (rest + part).split(b"\n")
                    self.windows += [json.loads(line) for line in lines]
                    if self._closing:
                        return
        except (httpx.HTTPError, httpx.StreamError, AssertionError) as error:
            self.failure = error
            self._there.set()

    @property
    def over(self) -> bool:
        return not self._thread.is_alive()

    def wait_for(self, count: int) -> list[dict]:
        until(lambda: len(self.windows) >= count, f"{count} windows; there are {len(self.windows)}")
        return self.windows

    def numbers(self) -> list[int]:
        """Windows of the clock, in the order in which they came."""
        return [(window["time"][0] // STEP - phase_of(self.stream)) // WINDOW for window in self.windows]


def check_paid(gateway: Gateway, *apps: Consumer) -> None:
    """Nothing left without a charge, and what left twice under one charge was the same both times."""
    booked = gateway.charged()
    shown: dict[tuple[str, str, int], set[tuple[float, ...]]] = {}
    for app in apps:
        for number, window in zip(app.numbers(), app.windows, strict=True):
            shown.setdefault((app.stream, app.app, number), set()).add(
                tuple(np.ravel([window[name] for name in NAMES]))
            )
    counts = {key: sum((stream, app, number) == key for stream, app, number, _ in booked) for key in shown}
    assert {key for key, count in counts.items() if not count} == set()
    assert {key for key, values in shown.items() if len(values) > counts[key]} == set()
